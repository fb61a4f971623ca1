"""Windows on images: convolutions, pooling, padding, resampling and samples at points."""

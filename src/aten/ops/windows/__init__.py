"""Windows over signals and images: convolution, pooling, resampling, borders."""

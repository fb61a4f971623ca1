"""Steps of optimizers: parameters and their states, changed in one pass."""

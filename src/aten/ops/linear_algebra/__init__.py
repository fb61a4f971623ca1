"""Products, factors and functions of matrices."""

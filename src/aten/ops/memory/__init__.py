"""Tensors made, filled, copied, converted, resized and read."""

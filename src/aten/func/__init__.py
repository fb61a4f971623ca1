"""Functions of functions, under torch's names."""

from aten.transforms.functionalization import functionalize

__all__ = ["functionalize"]

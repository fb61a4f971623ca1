"""Neural networks: the functions of `aten.nn.functional`."""

from aten.nn import functional

__all__ = ["functional"]

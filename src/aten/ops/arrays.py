"""Tensors as NumPy arrays and back, for operators that NumPy computes: bits, not numbers."""

from __future__ import annotations

from typing import Any

from aten._core import construct
from aten._core.device import device
from aten._core.dtypes import DTYPES, dtype
from aten._core.tensor import Tensor

_CPU = device("cpu")
# A type of NumPy's for elements of so many bytes.
_BITS = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64", 16: "complex128"}


class _Memory:
    """Hands a tensor's memory to NumPy and keeps it alive."""

    __slots__ = ("__array_interface__", "tensor")

    def __init__(self, tensor: Tensor) -> None:
        self.__array_interface__ = construct.array_interface(tensor)
        self.tensor = tensor


def as_array(tensor: Tensor) -> Any:
    """An array over the tensor's memory, wherever that is on the host."""
    import numpy

    return numpy.asarray(_Memory(construct.on_device(tensor, _CPU)))


def as_bits(tensor: Tensor) -> Any:
    """An array over the tensor's memory, of some type as wide as its elements.

    It serves whatever moves elements without looking at them.
    """
    return as_array(tensor.view(DTYPES[_BITS[tensor.itemsize]]))


def from_bits(array: Any, like: Tensor, element: dtype | None = None) -> Tensor:
    """The tensor with the bits of `array`, of the dtype and on the device of `like`."""
    import numpy

    made = construct.from_array_interface(numpy.ascontiguousarray(array).reshape(array.shape))
    made = made.view(element or like.dtype)
    return made if like.device == _CPU else construct.on_device(made, like.device)

"""A tensor's memory as bits, for comparisons that NaN and signs of zero take part in."""

from __future__ import annotations

from typing import Any

import numpy

from aten._core.base.device import device
from aten._core.base.dtypes import DTYPES
from aten._core.tensor import construct
from aten._core.tensor.tensor import Tensor

_CPU = device("cpu")
# A type of NumPy's for elements of so many bytes.
_BITS = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64", 16: "complex128"}


class _Memory:
    """Hands a tensor's memory to NumPy and keeps it alive."""

    def __init__(self, tensor: Tensor) -> None:
        self.__array_interface__ = construct.array_interface(tensor)
        self.tensor = tensor


def as_bits(tensor: Tensor) -> Any:
    """An array over the tensor's memory, wherever that is on the host."""
    bits = tensor.view(DTYPES[_BITS[tensor.itemsize]])
    return numpy.asarray(_Memory(construct.on_device(bits, _CPU)))

"""Results in the order that most operators give them."""

from __future__ import annotations

from aten._core.tensor.tensor import Tensor


def row_major(made: Tensor) -> Tensor:
    """`made` with a row-major tensor's strides, those of dimensions of one element or none, too."""
    return made.contiguous().reshape((-1,)).view(made.shape)

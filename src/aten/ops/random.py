"""Operators that draw random numbers."""

from __future__ import annotations

from aten._core.tensor import Tensor
from aten.ops.definition import op


def _keeps_everything(input: Tensor, p: float, train: bool) -> bool:
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    return p == 0 or not train or input.numel() == 0


@op
def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`input` itself outside of training.

    Raises NotImplementedError where random numbers must be drawn.
    """
    if _keeps_everything(input, p, train):
        return input
    if p == 1:
        return input * 0
    raise NotImplementedError("dropout: training needs random numbers, which are not there yet")


@op
def dropout_(self: Tensor, p: float, train: bool) -> Tensor:
    if _keeps_everything(self, p, train):
        return self
    if p == 1:
        return self.zero_()
    raise NotImplementedError("dropout_: training needs random numbers, which are not there yet")

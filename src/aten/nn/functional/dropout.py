"""Dropout of elements and of channels; `inplace` writes the result over the input.

All raise ValueError for a probability outside of [0, 1].
"""

from __future__ import annotations

from aten._core.tensor import Tensor
from aten.registry import ops

__all__ = [
    "alpha_dropout",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "feature_alpha_dropout",
    "rrelu",
    "rrelu_",
]


def _apply(name: str, input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"{name}: expected a probability p between 0 and 1, got {p}")
    result: Tensor = getattr(ops.aten, f"{name}_" if inplace else name)(input, p, training)
    return result


def _of_channels(input: Tensor, p: float, training: bool, inplace: bool, rank: int) -> Tensor:
    """Dropout of channels; an input of `rank` dimensions, or of more, begins with a batch."""
    if input.dim() >= rank:
        return _apply("feature_dropout", input, p, training, inplace)
    result = _apply("feature_dropout", input.unsqueeze(0), p, training, inplace)
    return input if inplace else result.squeeze(0)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    return _apply("dropout", input, p, training, inplace)


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Input (N, C, L) or (C, L). Raises RuntimeError for other ranks."""
    if input.dim() not in (2, 3) and 0 <= p <= 1:
        raise RuntimeError(f"dropout1d: expected an input of 2 or 3 dims, got {input.dim()}")
    return _of_channels(input, p, training, inplace, 3)


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Input (N, C, *): one without a batch is taken for one with."""
    return _apply("feature_dropout", input, p, training, inplace)


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Input (N, C, D, H, W) or (C, D, H, W)."""
    return _of_channels(input, p, training, inplace, 5)


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    return _apply("alpha_dropout", input, p, training, inplace)


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Input (N, C, *)."""
    return _apply("feature_alpha_dropout", input, p, training, inplace)


def rrelu(
    input: Tensor,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    call = ops.aten.rrelu_ if inplace else ops.aten.rrelu
    return call(input, lower, upper, training)  # type: ignore[no-any-return]


def rrelu_(
    input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False
) -> Tensor:
    return rrelu(input, lower, upper, training, inplace=True)

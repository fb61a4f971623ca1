"""Dropout of elements and of channels; `inplace` writes the result over the input.

All raise ValueError for a probability outside of [0, 1].
"""

from __future__ import annotations

from aten._core.tensor.tensor import Tensor
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
    """Each element is left out with probability p, the others divided by 1 - p, while `training`.

    Example:

        >>> aten.nn.functional.dropout(aten.tensor([1.0, 2.0]), training=False)
        tensor([1., 2.])
    """
    return _apply("dropout", input, p, training, inplace)


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Input (N, C, L) or (C, L). Raises RuntimeError for other ranks.

    Example:

        >>> aten.nn.functional.dropout1d(aten.ones(1, 2, 2), training=False)
        tensor([[[1., 1.],
                 [1., 1.]]])
    """
    if input.dim() not in (2, 3) and 0 <= p <= 1:
        raise RuntimeError(f"dropout1d: expected an input of 2 or 3 dims, got {input.dim()}")
    return _of_channels(input, p, training, inplace, 3)


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Input (N, C, *): one without a batch is taken for one with.

    Example:

        >>> aten.nn.functional.dropout2d(aten.ones(1, 1, 2, 2), training=False)
        tensor([[[[1., 1.],
                  [1., 1.]]]])
    """
    return _apply("feature_dropout", input, p, training, inplace)


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Input (N, C, D, H, W) or (C, D, H, W).

    Example:

        >>> aten.nn.functional.dropout3d(aten.ones(1, 1, 1, 2, 2), training=False)
        tensor([[[[[1., 1.],
                   [1., 1.]]]]])
    """
    return _of_channels(input, p, training, inplace, 5)


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout for networks that normalize themselves: mean and variance stay.

    Example:

        >>> aten.nn.functional.alpha_dropout(aten.tensor([1.0, 2.0]), training=False)
        tensor([1., 2.])
    """
    return _apply("alpha_dropout", input, p, training, inplace)


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Input (N, C, *).

    Example:

        >>> aten.nn.functional.feature_alpha_dropout(aten.ones(1, 2, 2), training=False)
        tensor([[[1., 1.],
                 [1., 1.]]])
    """
    return _apply("feature_alpha_dropout", input, p, training, inplace)


def rrelu(
    input: Tensor,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """x, or below 0 x times a random slope; the middle one outside of training.

    Example:

        >>> aten.nn.functional.rrelu(aten.tensor([-24.0, 0.0, 2.0]))
        tensor([-5.5000,  0.0000,  2.0000])
    """
    call = ops.aten.rrelu_ if inplace else ops.aten.rrelu
    return call(input, lower, upper, training)


def rrelu_(
    input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False
) -> Tensor:
    """`rrelu`, written into `input`.

    Example:

        >>> aten.nn.functional.rrelu_(aten.tensor([-3.0, 2.0]))
        tensor([-0.6875,  2.0000])
    """
    return rrelu(input, lower, upper, training, inplace=True)

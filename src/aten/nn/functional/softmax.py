"""Softmax and its relatives, with the dimension that is chosen where none is given."""

from __future__ import annotations

import warnings

from aten._core.base.dtypes import dtype
from aten._core.dispatch.functions import forwards
from aten._core.tensor.tensor import Tensor
from aten.registry import ops

__all__ = ["log_softmax", "softmax", "softmin"]


@forwards("softmax(input, dim, dtype)", "dim")
def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None
) -> Tensor:
    """exp(input) divided by its sum along `dim`. Warns (UserWarning) where `dim` is not given.

    Example:

        >>> aten.nn.functional.softmax(aten.tensor([1.0, 2.0, 3.0]), dim=0)
        tensor([0.0900, 0.2447, 0.6652])
    """
    if dim is None:
        dim = _chosen("softmax", input, _stacklevel)
    return ops.aten.softmax(input, dim, dtype)


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None
) -> Tensor:
    """The softmax of `-input`.

    Example:

        >>> aten.nn.functional.softmin(aten.tensor([1.0, 2.0, 3.0]), dim=0)
        tensor([0.6652, 0.2447, 0.0900])
    """
    if dim is None:
        dim = _chosen("softmin", input, _stacklevel)
    return ops.aten.softmax(-input, dim, dtype)


@forwards("log_softmax(input, dim, dtype)", "dim")
def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None
) -> Tensor:
    """The logarithm of the softmax.

    Example:

        >>> aten.nn.functional.log_softmax(aten.tensor([1.0, 2.0, 3.0]), dim=0)
        tensor([-2.4076, -1.4076, -0.4076])
    """
    if dim is None:
        dim = _chosen("log_softmax", input, _stacklevel)
    return ops.aten.log_softmax(input, dim, dtype)


def _chosen(name: str, input: Tensor, stacklevel: int) -> int:
    warnings.warn(f"{name}: dim should be given", UserWarning, stacklevel=stacklevel)
    return 0 if input.dim() in (0, 1, 3) else 1

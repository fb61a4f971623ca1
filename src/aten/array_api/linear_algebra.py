"""Products of matrices and vectors, in the namespace itself and in its extension `linalg`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aten import registry
from aten._core.base.dtypes import DTYPES
from aten._core.tensor.tensor import Tensor
from aten.array_api.array import Array, operands, plain, wrap
from aten.array_api.dtypes import INDEX
from aten.array_api.manipulation import axes_of

__all__ = ["matmul", "matrix_transpose", "tensordot", "vecdot"]
_ops = registry.ops.aten
# Sums of products modulo 2^n are the same in a wider integer type, and of either sign.
_MULTIPLIED_AS = {DTYPES[name]: INDEX for name in ("uint16", "uint32", "uint64")}


def products(operator: Callable[[Tensor, Tensor], Tensor], left: Tensor, right: Tensor) -> Array:
    """What an operator gives, in another integer type where it does not know the one given."""
    wider = _MULTIPLIED_AS.get(left.dtype)
    if wider is None:
        return wrap(operator(left, right))
    return wrap(operator(left.to(wider), right.to(wider)).to(left.dtype))


def matmul(x1: Tensor, x2: Tensor, /) -> Array:
    """The products of matrices, the last two axes; the others broadcast.

    A vector is a row on the left and a column on the right.

    Raises RuntimeError for sizes that do not fit and for arrays without dimensions.
    """
    left, right = operands("matmul", plain(x1), plain(x2))
    return products(_ops.matmul, left, right)


def matrix_transpose(x: Tensor, /) -> Array:
    """A view with the last two axes exchanged. Raises ValueError for fewer than two."""
    given = plain(x)
    if given.dim() < 2:
        raise ValueError(f"matrix_transpose: expected at least two dimensions, not {given.dim()}")
    return wrap(_ops.transpose(given, -2, -1))


def tensordot(
    x1: Tensor, x2: Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Array:
    """The sums of products over axes: so many last ones of `x1` and first ones of `x2`, or pairs.

    Raises RuntimeError for sizes that do not fit and for more axes than there are.
    """
    left, right = operands("tensordot", plain(x1), plain(x2))
    if isinstance(axes, int):
        if not 0 <= axes <= min(left.dim(), right.dim()):
            raise RuntimeError(
                f"tensordot: axes must be between 0 and {min(left.dim(), right.dim())}, not {axes}"
            )
        pairs = [*range(left.dim() - axes, left.dim())], [*range(axes)]
    else:
        pairs = [*axes[0]], [*axes[1]]
    return products(lambda a, b: _ops.tensordot(a, b, *pairs), left, right)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Array:
    """The sums of products along an axis, conjugates of `x1` for complex; the others broadcast.

    Raises ValueError for vectors of several lengths.
    """
    left, right = operands("vecdot", plain(x1), plain(x2))
    rows = [_ops.movedim(x, axes_of(axis, x.dim())[0], -1) for x in (left, right)]
    if rows[0].shape[-1] != rows[1].shape[-1]:
        raise ValueError(
            f"vecdot: vectors of {rows[0].shape[-1]} and of {rows[1].shape[-1]} elements"
        )
    return products(
        lambda a, b: _ops.squeeze(
            _ops.matmul(_ops.unsqueeze(_ops.conj_physical(a), -2), _ops.unsqueeze(b, -1)), [-2, -1]
        ),
        *rows,
    )

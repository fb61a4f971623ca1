"""The standard's folds along axes: sums and their like, and what holds for all or any elements.

`axis` is one axis, a tuple of them, or all; `keepdims` keeps folded axes with one element. No axes,
an empty tuple, fold every element by itself. An axis out of range raises IndexError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten import registry
from aten._core.base.dtypes import DTYPES, dtype, get_default_dtype
from aten._core.tensor.tensor import Tensor
from aten.array_api.array import Array, operands, plain, wrap
from aten.array_api.dtypes import BOOL, INDEX
from aten.array_api.manipulation import axes_of

__all__ = [
    "all",
    "any",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]
_Axes = int | tuple[int, ...] | None
_ops = registry.ops.aten
_UINT64 = DTYPES["uint64"]


def _folded(
    fold: Callable[[Tensor, list[int], bool], Tensor], x: Tensor, axis: _Axes, keepdims: bool
) -> Array:
    """`fold(x, axes, keepdims)` with the axes named one by one."""
    if axis is None:
        axis = tuple(range(x.dim()))
    if axis == () or x.dim() == 0:
        # For operators no axes are all axes; an axis of one element is none.
        axes_of(axis, 0)
        return wrap(fold(_ops.unsqueeze(x, -1), [x.dim()], False))
    return wrap(fold(x, axes_of(axis, x.dim()), keepdims))


def _sum_dtype(given: dtype, wanted: dtype | None) -> dtype:
    """What sums and products of a dtype have: integers at least 64 bits, of the same sign."""
    if wanted is not None:
        return wanted
    if given.kind == "unsigned":
        return _UINT64
    return INDEX if given.kind in ("signed", "bool") else given


def sum(
    x: Tensor, /, *, axis: _Axes = None, dtype: dtype | None = None, keepdims: bool = False
) -> Array:
    """The sums. Without `dtype`, integers give 64 bits, floats their own dtype."""
    given = plain(x)
    element = _sum_dtype(given.dtype, dtype)
    return _folded(
        lambda x, axes, keep: _ops.sum(x, axes, keep, dtype=element), given, axis, keepdims
    )


def prod(
    x: Tensor, /, *, axis: _Axes = None, dtype: dtype | None = None, keepdims: bool = False
) -> Array:
    """The products. Without `dtype`, integers give 64 bits, floats their own dtype."""
    given = plain(x)
    element = _sum_dtype(given.dtype, dtype)

    def fold(x: Tensor, axes: list[int], keep: bool) -> Tensor:
        x = x.to(element)
        # The operator takes one axis: the last ones first, so that the others keep their places.
        for axis in sorted(axes, reverse=True):
            x = _ops.prod(x, axis, keep)
        return x.to(element)

    return _folded(fold, given, axis, keepdims)


def _single(given: Tensor) -> Tensor:
    """Floats as they are, others as the default float dtype."""
    floating = given.is_floating_point() or given.is_complex()
    return given if floating else given.to(get_default_dtype())


def mean(x: Tensor, /, *, axis: _Axes = None, keepdims: bool = False) -> Array:
    """The means; integers give the default float dtype. NaN of no elements."""
    return _folded(_ops.mean, _single(plain(x)), axis, keepdims)


def var(
    x: Tensor, /, *, axis: _Axes = None, correction: float = 0.0, keepdims: bool = False
) -> Array:
    """The variances: squared distances from the mean, by their number less `correction`."""
    return _spread(_ops.var, x, axis, correction, keepdims)


def std(
    x: Tensor, /, *, axis: _Axes = None, correction: float = 0.0, keepdims: bool = False
) -> Array:
    """The standard deviations, the roots of what `var` gives."""
    return _spread(_ops.std, x, axis, correction, keepdims)


def _spread(operator: Any, x: Tensor, axis: _Axes, correction: float, keepdims: bool) -> Array:
    return _folded(
        lambda x, axes, keep: operator(x, axes, correction=correction, keepdim=keep),
        _single(plain(x)),
        axis,
        keepdims,
    )


def max(x: Tensor, /, *, axis: _Axes = None, keepdims: bool = False) -> Array:
    """The greatest elements, NaN where one is. Raises IndexError where there are none."""
    return _folded(_ops.amax, plain(x), axis, keepdims)


def min(x: Tensor, /, *, axis: _Axes = None, keepdims: bool = False) -> Array:
    """The least elements, NaN where one is. Raises IndexError where there are none."""
    return _folded(_ops.amin, plain(x), axis, keepdims)


def all(x: Tensor, /, *, axis: _Axes = None, keepdims: bool = False) -> Array:
    """Whether no element is zero, also where there are none; NaN is not zero."""
    return _folded(_ops.all, plain(x).to(BOOL), axis, keepdims)


def any(x: Tensor, /, *, axis: _Axes = None, keepdims: bool = False) -> Array:
    """Whether some element is not zero; NaN is not."""
    return _folded(_ops.any, plain(x).to(BOOL), axis, keepdims)


def count_nonzero(x: Tensor, /, *, axis: _Axes = None, keepdims: bool = False) -> Array:
    """How many elements are not zero, as int64."""
    return sum(plain(x).to(BOOL), axis=axis, dtype=INDEX, keepdims=keepdims)


def _cumulated(
    function: str,
    operator: Any,
    x: Tensor,
    axis: int | None,
    element: dtype | None,
    first: int | None,
) -> Array:
    given = plain(x)
    if axis is None:
        if given.dim() > 1:
            raise ValueError(f"{function}: axis must be given for {given.dim()} dimensions")
        axis = 0
    if given.dim() == 0:
        given = _ops.reshape(given, [1])
    (place,) = axes_of(axis, given.dim())
    made = operator(given, place, dtype=_sum_dtype(given.dtype, element))
    if first is not None:
        shape = [*made.shape]
        shape[place] = 1
        made = _ops.cat([made.new_full(shape, first), made], place)
    return wrap(made)


def cumulative_sum(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: dtype | None = None,
    include_initial: bool = False,
) -> Array:
    """The sums of the elements up to each one along an axis; with `include_initial` 0 first.

    A vector needs no `axis`. Dtypes are those of `sum`. Raises ValueError for a missing axis.
    """
    first = 0 if include_initial else None
    return _cumulated("cumulative_sum", _ops.cumsum, x, axis, dtype, first)


def cumulative_prod(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: dtype | None = None,
    include_initial: bool = False,
) -> Array:
    """The products of the elements up to each one along an axis; with `include_initial` 1 first.

    A vector needs no `axis`. Dtypes are those of `prod`. Raises ValueError for a missing axis.
    """
    first = 1 if include_initial else None
    return _cumulated("cumulative_prod", _ops.cumprod, x, axis, dtype, first)


def diff(
    x: Tensor,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Array:
    """The differences of neighbours along an axis, taken `n` times.

    `prepend` and `append` are put before and behind the array first. Raises ValueError for a
    negative `n`, RuntimeError for an array without dimensions.
    """
    if n < 0:
        raise ValueError(f"diff: n must not be negative, got {n}")
    ends = [end for end in (prepend, x, append) if end is not None]
    given = operands("diff", *ends)
    (place,) = axes_of(axis, plain(x).dim())
    joined = _ops.cat(given, place) if len(given) > 1 else given[0]
    return wrap(_ops.diff(joined, n, place))

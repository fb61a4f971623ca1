"""The standard's functions that search, sort, select and tell elements apart."""

from __future__ import annotations

from typing import Any, NamedTuple

from aten import registry
from aten._core.base.dtypes import DTYPES
from aten._core.tensor.tensor import Tensor
from aten.array_api.array import Array, operands, plain, wrap
from aten.array_api.dtypes import BOOL, INDEX
from aten.array_api.manipulation import axes_of, broadcast_shapes

__all__ = [
    "argmax",
    "argmin",
    "argsort",
    "isin",
    "nonzero",
    "searchsorted",
    "sort",
    "take",
    "take_along_axis",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "where",
]
_ops = registry.ops.aten
# Types that the search does not know, and greater ones that hold their numbers.
_WIDER = {"bool": "uint8", "uint16": "int32", "uint32": "int64"}
_SIGN = -(1 << 63)


class UniqueAll(NamedTuple):
    """The different elements, where each is first, where all are among them, and how often."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    """The different elements, and how often each is there."""

    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    """The different elements, and for each of the array's where it is among them."""

    values: Array
    inverse_indices: Array


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Where the greatest element is, the first of several; in the flattened array without an axis.

    Raises IndexError where there are no elements.
    """
    return _extreme(_ops.argmax, x, axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Where the least element is, the first of several; in the flattened array without an axis.

    Raises IndexError where there are no elements.
    """
    return _extreme(_ops.argmin, x, axis, keepdims)


def _extreme(operator: Any, x: Tensor, axis: int | None, keepdims: bool) -> Array:
    given = plain(x)
    if given.dtype is BOOL:
        given = given.to(DTYPES["uint8"])
    return wrap(operator(given, axis, keepdims))


def nonzero(x: Tensor, /) -> tuple[Array, ...]:
    """The places of the elements that are not zero: a vector of indices for each axis.

    Raises ValueError for an array without dimensions.
    """
    given = plain(x)
    if given.dim() == 0:
        raise ValueError("nonzero: an array without dimensions has no indices")
    return tuple(wrap(column) for column in _ops.unbind(_ops.nonzero(given), 1))


def where(condition: Tensor, x1: Tensor | complex, x2: Tensor | complex, /) -> Array:
    """The elements of `x1` where `condition` holds, else those of `x2`, of their common dtype."""
    left, right = operands("where", x1, x2)
    return wrap(_ops.where(plain(condition).to(BOOL), left, right))


def searchsorted(
    x1: Tensor,
    x2: Tensor | float,
    /,
    *,
    side: str = "left",
    sorter: Tensor | None = None,
) -> Array:
    """Where each of `x2` would stand in the sorted vector `x1`: before equal ones, or behind them.

    `sorter` holds the indices that sort `x1`. Raises RuntimeError for other words than left and
    right, for other than one dimension and for a sorter of another size.
    """
    row, wanted = (_ordered(x) for x in operands("searchsorted", x1, x2))
    if sorter is not None:
        row = _ops.index_select(row, 0, plain(sorter).to(INDEX))
    return wrap(_ops.searchsorted(row, wanted.contiguous(), side=side))


def _ordered(x: Tensor) -> Tensor:
    """The elements in a dtype that the search knows, in the same order."""
    if x.dtype is DTYPES["uint64"]:
        return _ops.bitwise_xor(x.view(INDEX), _SIGN)
    wider = _WIDER.get(x.dtype.name)
    return x if wider is None else x.to(DTYPES[wider])


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """The elements in order along an axis, NaN last, or first when descending."""
    given = plain(x)
    return wrap(_ops.sort(given, dim=axis, descending=descending, stable=stable)[0])


def argsort(
    x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Array:
    """The indices that put the elements in order along an axis; equal ones keep theirs."""
    given = plain(x)
    return wrap(_ops.argsort(given, dim=axis, descending=descending, stable=stable))


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Array:
    """The slices of an axis at indices, which may be negative; `indices` may have any dimensions.

    A vector needs no `axis`. Raises ValueError for a missing axis, IndexError out of range.
    """
    given = plain(x)
    if axis is None:
        if given.dim() != 1:
            raise ValueError(f"take: axis must be given for {given.dim()} dimensions")
        axis = 0
    (place,) = axes_of(axis, given.dim())
    return wrap(given[(*[slice(None)] * place, plain(indices).to(INDEX))])


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Array:
    """For each index along an axis the element there; the other axes broadcast.

    Raises IndexError out of range, ValueError for shapes that do not fit.
    """
    given, places = plain(x), plain(indices).to(INDEX)
    if given.dim() != places.dim():
        raise ValueError(
            f"take_along_axis: {given.dim()} dimensions, and {places.dim()} of the indices"
        )
    (place,) = axes_of(axis, given.dim())
    length = given.shape[place]
    others = [[1 if dim == place else n for dim, n in enumerate(v.shape)] for v in (given, places)]
    shape = [*broadcast_shapes(*map(tuple, others))]
    places = _ops.expand(places, [*shape[:place], places.shape[place], *shape[place + 1 :]])
    given = _ops.expand(given, [*shape[:place], length, *shape[place + 1 :]])
    if places.numel() and not -length <= int(places.min()) <= int(places.max()) < length:
        raise IndexError(f"take_along_axis: an index is out of range of {length} elements")
    return wrap(_ops.gather(given, place, _ops.where(_ops.lt(places, 0), places + length, places)))


def isin(x1: Tensor | int, x2: Tensor | int, /, *, invert: bool = False) -> Array:
    """Whether each element of `x1` is, or with `invert` is not, one of `x2`; NaN never is."""
    left, right = operands("isin", x1, x2)
    if left.is_complex():
        flat = _ops.reshape(right, [-1])
        found = _ops.any(_ops.eq(_ops.unsqueeze(left, -1), flat), -1)
        return wrap(_ops.logical_not(found) if invert else found)
    left, right = (_ordered(x) for x in (left, right))
    return wrap(_ops.isin(left, right, invert=invert))


def unique_all(x: Tensor, /) -> UniqueAll:
    """The different elements; every NaN is one, zeros of either sign are the same.

    Beside them, as int64: where each is first in the flattened array, for each element of the array
    where it is among them, and how often each is there.
    """
    order, starts, flat = _groups(x)
    first = _ops.index_select(order, 0, starts)
    inverse = _ops.empty_like(order)
    steps = _ops.zeros_like(order)
    steps[starts] = 1
    inverse[order] = _ops.cumsum(steps, 0) - 1
    ends = _ops.cat([starts[1:], starts.new_full([1], flat.numel())]) if len(starts) else starts
    return UniqueAll(
        wrap(_ops.index_select(flat, 0, first)),
        wrap(first),
        wrap(_ops.reshape(inverse, [*plain(x).shape])),
        wrap(_ops.sub(ends, starts)),
    )


def _groups(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The order of the flattened elements, where runs of equal ones start in it, and them."""
    flat = _ops.reshape(plain(x), [-1])
    order = _order(flat)
    ordered = _ops.index_select(flat, 0, order)
    starts = _ops.nonzero(_ops.ne(ordered[1:], ordered[:-1]))[:, 0] + 1
    return order, _ops.cat([starts.new_zeros([min(1, len(flat))]), starts]), flat


def _order(flat: Tensor) -> Tensor:
    """Indices that put equal elements side by side, the first one first."""
    if not flat.is_complex():
        return _ops.argsort(flat, stable=True)
    parts = _ops.view_as_real(flat.resolve_conj())
    order = _ops.argsort(parts[:, 1], stable=True)
    then = _ops.argsort(_ops.index_select(parts[:, 0], 0, order), stable=True)
    return _ops.index_select(order, 0, then)


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """The different elements, as `unique_all` tells them apart, and how often each is there."""
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """The different elements, as `unique_all` tells them apart, and where each one is of them."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: Tensor, /) -> Array:
    """The different elements, as `unique_all` tells them apart."""
    order, starts, flat = _groups(x)
    return wrap(_ops.index_select(flat, 0, _ops.index_select(order, 0, starts)))

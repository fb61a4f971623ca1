"""Sorting, and choosing by rank: NumPy sorts unsigned keys that carry their positions.

Every element becomes an unsigned key in the order of the elements: NaN greatest, -0.0 beside 0.0. A
key of at most 32 bits and the element's position make one 64-bit number, so that its vectorized
sort is stable; inverted keys give the descending order, which is stable, too.
"""

from __future__ import annotations

import math
from typing import Any

from aten._core.dtypes import DTYPES
from aten._core.ranking import arrange, take_least
from aten._core.tensor import Tensor, wrap_dimension
from aten.ops.arrays import as_array, as_bits
from aten.ops.definition import op
from aten.ops.requirements import refusal
from aten.registry import ops

_POSITION_BITS = 32
# So many times fewer elements than a row has are found in one pass over it.
_FEW = 64
_HALVES = frozenset({"float16", "bfloat16"})
# Types whose unstable sort leaves equal elements as the algorithm does that torch has for them.
_UNSTABLE = frozenset({"bool", "uint8", "int8", "int16", "float16", "bfloat16"})
_UNRANKED = frozenset({"bool", "uint16", "uint32", "uint64"})


@op("sort.stable")
def sort_stable(
    self: Tensor, *, stable: bool | None, dim: int = -1, descending: bool = False
) -> tuple[Tensor, Tensor]:
    """`sort` that keeps equal elements in their order."""
    return _sorted(self, dim, descending, bool(stable))


@op
def sort(self: Tensor, dim: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
    """The elements along `dim` in order, and where they were; laid out as `self`, without gaps.

    Raises RuntimeError for complex numbers, IndexError for a dimension out of range.
    """
    return _sorted(self, dim, descending, stable=False)


def _sorted(self: Tensor, dim: int, descending: bool, stable: bool) -> tuple[Tensor, Tensor]:
    if self.dtype.is_complex:
        raise RuntimeError(f"sort: there is no order among elements of type {self.dtype}")
    if self.dtype.name.startswith("float8"):
        raise refusal("sort", self.dtype)
    dim = wrap_dimension(dim, self.dim())
    values: Tensor = ops.aten.empty_like(self)
    indices: Tensor = ops.aten.empty_like(self, dtype=DTYPES["int64"])
    if not self.is_meta:
        rows = rows_of(self, dim)
        choose = arranged if self.dtype.name in _UNSTABLE and not stable else order_of
        write_chosen(self, dim, choose(rows, descending=descending), values, indices)
    return values, indices


@op
def argsort(self: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
    """Where the elements are that `sort` gives."""
    return sort(self, dim, descending)[1]


@op("argsort.stable")
def argsort_stable(
    self: Tensor, *, stable: bool, dim: int = -1, descending: bool = False
) -> Tensor:
    return _sorted(self, dim, descending, stable)[1]


@op
def msort(self: Tensor) -> Tensor:
    """The elements sorted along the first dimension."""
    return sort(self, 0)[0]


@op
def topk(
    self: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Tensor, Tensor]:
    """The `k` largest or smallest elements along `dim`, in order, and where they are.

    Raises RuntimeError for a `k` out of range, for bool and for complex numbers.
    """
    dim = wrap_dimension(dim, self.dim())
    if self.dtype.name == "bool" or self.dtype.is_complex:
        raise RuntimeError(f"topk: there are no ranks among elements of type {self.dtype}")
    require_ranks("topk", self)
    length = self.size(dim) if self.dim() else 1
    if not 0 <= k <= length:
        raise RuntimeError(f"topk: k must be within [0, {length}], the size of dim, but is {k}")
    sizes = list(self.shape)
    if sizes:
        sizes[dim] = k
    values, indices = self.new_empty(sizes), self.new_empty(sizes, dtype=DTYPES["int64"])
    if not self.is_meta and values.numel():
        how = "sort least" if sorted else "select least"
        order = arranged(rows_of(self, dim), how, max(k, 1), descending=largest)
        write_chosen(self, dim, order[..., : max(k, 1)], values, indices)
    return values, indices


@op(exact_out=True)
def kthvalue(self: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The `k`th smallest element along `dim`, counted from 1, and where it is.

    Raises RuntimeError for a `k` out of range, IndexError for a dimension without elements.
    """
    dim = require_length("kthvalue", self, dim)
    require_ranks("kthvalue", self)
    length = self.size(dim) if self.dim() else 1
    if not 1 <= k <= length:
        raise RuntimeError(f"kthvalue: k must be within [1, {length}], the size of dim, but is {k}")

    def choose(rows: Any) -> Any:
        return arranged(rows, "select", k - 1)[..., k - 1 : k]

    return chosen_along(self, dim, keepdim, choose)


def require_ranks(name: str, self: Tensor) -> None:
    """Refuse the types that `name` chooses no elements of. Raises NotImplementedError."""
    element = self.dtype
    if element.is_complex or element.name in _UNRANKED or element.name.startswith("float8"):
        raise refusal(f"{name}_cpu", element)


def require_length(name: str, self: Tensor, dim: int) -> int:
    """The dimension from the front. Raises IndexError where it is out of range or empty."""
    dim = wrap_dimension(dim, self.dim())
    if self.dim() and self.size(dim) == 0:
        raise IndexError(f"{name}(): dim {dim} of a tensor of shape {list(self.shape)} is empty")
    return dim


def chosen_along(self: Tensor, dim: int, keepdim: bool, choose: Any) -> tuple[Tensor, Tensor]:
    """One element of every row along `dim`: values and indices.

    `choose` maps the rows, an array with `dim` last, to positions with a last dimension of one.
    """
    sizes = [1 if place == dim else size for place, size in enumerate(self.shape)]
    values, indices = self.new_empty(sizes), self.new_empty(sizes, dtype=DTYPES["int64"])
    if not self.is_meta and values.numel():
        write_chosen(self, dim, choose(rows_of(self, dim)), values, indices)
    if keepdim or not sizes:
        return values, indices
    return values.squeeze(dim), indices.squeeze(dim)


def rows_of(self: Tensor, dim: int) -> Any:
    """The elements as an array of numbers NumPy orders, with `dim` last; 0-d becomes one row."""
    import numpy

    array = as_array(self.float() if self.dtype.name in _HALVES else self)
    return numpy.moveaxis(array, dim, -1) if array.ndim else array.reshape(1)


def write_chosen(
    self: Tensor, dim: int, order: Any, values: Tensor, indices: Tensor | None = None
) -> None:
    """Fill `values` with the elements of `self` at `order`, an array with `dim` last."""
    import numpy

    def turned(array: Any) -> Any:
        return numpy.moveaxis(array, dim, -1) if array.ndim else array.reshape(1)

    turned(as_bits(values))[...] = numpy.take_along_axis(turned(as_bits(self)), order, -1)
    if indices is not None:
        turned(as_array(indices))[...] = order


def order_of(rows: Any, *, descending: bool = False, stop: int | None = None) -> Any:
    """The positions of each row's elements in order, equal ones by position; the first `stop`."""
    import numpy

    keys = ordered_keys(rows)
    if descending:
        keys = ~keys
    length = rows.shape[-1]
    if keys.itemsize == 8 or length >> _POSITION_BITS:
        return _order_of_wide(keys)[..., :stop]
    packed = (keys.astype(numpy.uint64) << _POSITION_BITS) | numpy.arange(length, dtype="uint64")
    if stop is not None and stop < length:
        packed.partition(stop - 1, axis=-1)
        packed = packed[..., :stop]
    packed.sort(axis=-1)
    return (packed & ((1 << _POSITION_BITS) - 1)).astype(numpy.int64)


def arranged(rows: Any, how: str = "sort", rank: int = 0, *, descending: bool = False) -> Any:
    """The positions of each row's elements as `_core.ranking.arrange` leaves them."""
    import numpy

    keys = ordered_keys(rows)
    if descending:
        keys = ~keys
    *outer, length = keys.shape
    if how.endswith("least") and rank * _FEW <= length and keys.size:
        least = numpy.empty((math.prod(outer), rank, 2), numpy.uint64)
        wide = numpy.ascontiguousarray(keys, numpy.uint64)
        take_least(wide.reshape((-1, length)), least)
        return least[..., 1].astype(numpy.int64).reshape((*outer, rank))
    pairs = numpy.empty((*keys.shape, 2), numpy.uint64)
    pairs[..., 0] = keys
    pairs[..., 1] = numpy.arange(length)
    if keys.size:
        arrange(pairs.reshape((-1, length, 2)), how, rank)
    return pairs[..., 1].astype(numpy.int64)


def _order_of_wide(keys: Any) -> Any:
    """The order of 64-bit keys: by the fast sort, or by the stable one where it matters."""
    import numpy

    order = keys.argsort(axis=-1)
    ordered = numpy.take_along_axis(keys, order, -1)
    if (ordered[..., 1:] == ordered[..., :-1]).any():
        return keys.argsort(axis=-1, kind="stable")
    return order


def ordered_keys(rows: Any) -> Any:
    """Unsigned integers in the order of the elements; all NaNs are one, and greatest."""
    import numpy

    if rows.dtype.kind in "bu":
        return numpy.ascontiguousarray(rows.view(numpy.uint8) if rows.dtype.kind == "b" else rows)
    unsigned = numpy.dtype(f"u{rows.dtype.itemsize}")
    sign = unsigned.type(1 << (8 * unsigned.itemsize - 1))
    if rows.dtype.kind == "i":
        return numpy.ascontiguousarray(rows).view(unsigned) ^ sign
    keys = (rows + rows.dtype.type(0)).view(unsigned)  # -0.0 + 0.0 is 0.0
    inverted = keys.view(f"i{rows.dtype.itemsize}") >> (8 * rows.dtype.itemsize - 1)
    keys ^= inverted.view(unsigned) | sign
    missing = numpy.isnan(rows)
    if missing.any():
        keys[missing] = ~unsigned.type(0)
    return keys

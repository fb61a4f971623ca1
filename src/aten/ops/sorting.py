"""Sorting, and choosing by rank, which _core/ordering.pyx does."""

from __future__ import annotations

from aten._core import ordering
from aten._core.dtypes import DTYPES
from aten._core.tensor import Tensor, wrap_dimension
from aten.ops.definition import op
from aten.ops.requirements import refusal
from aten.registry import ops

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
    way = "sort" if self.dtype.name in _UNSTABLE and not stable else "stable sort"
    if not self.is_meta:
        ordering.choose(self, dim, way, 0, descending, values, indices)
    return values, indices


@op
def argsort(self: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
    """Where the elements are that `sort` gives."""
    return ops.aten.sort.default(self, dim, descending)[1]  # type: ignore[no-any-return]


@op("argsort.stable")
def argsort_stable(
    self: Tensor, *, stable: bool, dim: int = -1, descending: bool = False
) -> Tensor:
    return ops.aten.sort.stable(self, stable=stable, dim=dim, descending=descending)[1]  # type: ignore[no-any-return]


@op
def msort(self: Tensor) -> Tensor:
    """The elements sorted along the first dimension."""
    return ops.aten.sort.default(self, 0)[0]  # type: ignore[no-any-return]


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
        way = "least" if sorted else "least unsorted"
        # Of a tensor without dimensions even none is its only element.
        ordering.choose(self, dim, way, k if sizes else 1, largest, values, indices)
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
    return chosen_along(self, dim, keepdim, "rank", k - 1)


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


def chosen_along(
    self: Tensor, dim: int, keepdim: bool, way: str, rank: int = 0
) -> tuple[Tensor, Tensor]:
    """One element of every row along `dim`, as `ordering.choose` finds it: values and indices."""
    sizes = [1 if place == dim else size for place, size in enumerate(self.shape)]
    values, indices = self.new_empty(sizes), self.new_empty(sizes, dtype=DTYPES["int64"])
    if not self.is_meta and values.numel():
        ordering.choose(self, dim, way, rank, False, values, indices)
    if keepdim or not sizes:
        return values, indices
    return values.squeeze(dim), indices.squeeze(dim)

"""Sorting, and choosing by rank: what follows from the sorted elements."""

from __future__ import annotations

from aten._core.tensor.tensor import Tensor
from aten._core.tensor.tensor_impl import wrap_dimension
from aten.ops.definition import op
from aten.ops.indexing.scatter import at_least_vector, in_order_of
from aten.ops.requirements import refusal
from aten.ops.row_major import row_major
from aten.registry import ops

_UNRANKED = frozenset({"bool", "uint16", "uint32", "uint64"})


def check_sort(self: Tensor, dim: int) -> int:
    """The dimension from the front. Raises for complex numbers, and for dimensions out of range."""
    if self.dtype.is_complex:
        raise RuntimeError(f"sort: there is no order among elements of type {self.dtype}")
    if self.dtype.name.startswith("float8"):
        raise refusal("sort", self.dtype)
    return wrap_dimension(dim, self.dim())


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
    dim = check_sort(self, dim)
    values, indices = ops.prims.sort(at_least_vector(self), dim, descending, stable)
    return (
        in_order_of(self, values.reshape(self.shape)),
        in_order_of(self, indices.reshape(self.shape)),
    )


@op
def argsort(self: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
    """Where the elements are that `sort` gives."""
    return ops.aten.sort.default(self, dim, descending)[1]


@op("argsort.stable")
def argsort_stable(
    self: Tensor, *, stable: bool, dim: int = -1, descending: bool = False
) -> Tensor:
    return ops.aten.sort.stable(self, stable=stable, dim=dim, descending=descending)[1]


@op
def msort(self: Tensor) -> Tensor:
    """The elements sorted along the first dimension."""
    return ops.aten.sort.default(self, 0)[0]


def check_topk(self: Tensor, k: int, dim: int) -> int:
    """The dimension from the front. Raises RuntimeError for a `k` or elements `topk` refuses."""
    dim = wrap_dimension(dim, self.dim())
    if self.dtype.name == "bool" or self.dtype.is_complex:
        raise RuntimeError(f"topk: there are no ranks among elements of type {self.dtype}")
    require_ranks("topk", self)
    length = self.size(dim) if self.dim() else 1
    if not 0 <= k <= length:
        raise RuntimeError(f"topk: k must be within [0, {length}], the size of dim, but is {k}")
    return dim


@op
def topk(
    self: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Tensor, Tensor]:
    """The `k` largest or smallest elements along `dim`, in order, and where they are.

    Raises RuntimeError for a `k` out of range, for bool and for complex numbers.
    """
    dim = check_topk(self, k, dim)
    values, indices = ops.prims.sort(at_least_vector(self), dim, largest, False)
    if self.dim() == 0:
        # Of a tensor without dimensions even none is its only element.
        return values.reshape(()), indices.reshape(())
    return row_major(values.narrow(dim, 0, k)), row_major(indices.narrow(dim, 0, k))


def check_kthvalue(self: Tensor, k: int, dim: int) -> int:
    """The dimension from the front. Raises for what `kthvalue` refuses."""
    dim = require_length("kthvalue", self, dim)
    require_ranks("kthvalue", self)
    length = self.size(dim) if self.dim() else 1
    if not 1 <= k <= length:
        raise RuntimeError(f"kthvalue: k must be within [1, {length}], the size of dim, but is {k}")
    return dim


@op(exact_out=True)
def kthvalue(self: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The `k`th smallest element along `dim`, counted from 1, and where it is.

    Raises RuntimeError for a `k` out of range, IndexError for a dimension without elements.
    """
    dim = check_kthvalue(self, k, dim)
    values, indices = ops.prims.sort(at_least_vector(self), dim, False, False)
    chosen = values.narrow(dim, k - 1, 1), indices.narrow(dim, k - 1, 1)
    return without_dimension(self, dim, keepdim, *chosen)


def without_dimension(
    self: Tensor, dim: int, keepdim: bool, values: Tensor, indices: Tensor
) -> tuple[Tensor, Tensor]:
    """Row-major, of one element of every row along `dim`: of the shape that `keepdim` asks for."""
    sizes = list(self.shape)
    if sizes:
        sizes[dim : dim + 1] = [1] if keepdim else []
    return row_major(values).reshape(sizes), row_major(indices).reshape(sizes)


def differs_from_last(ordered: Tensor, dim: int) -> Tensor:
    """Whether an element is another than the one before it along `dim`; not so the first.

    A NaN is no other than a NaN.
    """
    length = ordered.size(dim) - 1
    later, earlier = ordered.narrow(dim, 1, length), ordered.narrow(dim, 0, length)
    changes = later.ne(earlier)
    if ordered.is_floating_point():
        changes = changes & earlier.isnan().logical_not()
    first = changes.new_zeros([1 if at == dim else size for at, size in enumerate(ordered.shape)])
    return ops.aten.cat([first, changes], dim)


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

"""Elements moved and folded along one dimension, at places that an index names.

gather and scatter take an index for each element, index_add and its relatives one for each slice.
Each is a `gather` or `scatter` of the primitives; what these refuse, an index out of range, is not
looked for here.
"""

from __future__ import annotations

from collections.abc import Sequence

from aten._core.base.dtypes import DTYPES
from aten._core.tensor.tensor import Tensor
from aten._core.tensor.tensor_impl import wrap_dimension
from aten.ops.definition import op
from aten.ops.requirements import refusal
from aten.prims import Number
from aten.registry import ops

INT64 = DTYPES["int64"]
INDEX_TYPES = ("int32", "int64")
FOLDS = {"add": "sum", "multiply": "prod"}
REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")
# What a fold starts from where it leaves out what is there.
_START: dict[str, Number] = {"sum": 0, "mean": 0, "prod": 1}


def as_int64(index: Tensor) -> Tensor:
    """The index itself, or a copy where it is narrower."""
    return index if index.dtype is INT64 else index.to(INT64)


def integer(tensor: Tensor) -> int:
    """The only element of a tensor of integers."""
    value = tensor.item()
    assert isinstance(value, int)
    return value


def at_least_vector(tensor: Tensor) -> Tensor:
    """A view with one dimension of a tensor that has none."""
    return tensor.as_strided((1,), (1,), tensor.storage_offset()) if tensor.dim() == 0 else tensor


def check_smaller(name: str, what: str, index: Tensor, other: Tensor, dim: int) -> None:
    """Raises RuntimeError where the index is larger than `other` in a dimension but `dim`."""
    if max(index.dim(), 1) != max(other.dim(), 1):
        raise RuntimeError(
            f"{name}(): index and {what} must have the same number of dimensions, got "
            f"{index.dim()} and {other.dim()}"
        )
    for place, (size, limit) in enumerate(zip(index.shape, other.shape, strict=False)):
        if place != dim and size > limit:
            raise RuntimeError(
                f"{name}(): index {list(index.shape)} is larger than {what} {list(other.shape)} "
                f"in dimension {place}"
            )


def check_index(name: str, self: Tensor, dim: int, index: Tensor) -> None:
    """Raises RuntimeError for an index of another dtype, or larger than `self` beside `dim`."""
    if index.dtype.name not in INDEX_TYPES:
        raise RuntimeError(
            f"{name}(): expected dtype int32 or int64 for index, got {index.dtype.scalar_type_name}"
        )
    check_smaller(name, "self", index, self, dim)


def checked_scatter(name: str, self: Tensor, dim: int, index: Tensor, src: Tensor) -> int:
    """The dimension from the front. Raises for dtypes and shapes that do not go together."""
    dim = wrap_dimension(dim, self.dim())
    if index.numel() == 0 and index.dtype.name in INDEX_TYPES:
        return dim
    if self.dtype is not src.dtype:
        raise RuntimeError(
            f"{name}(): expected src of dtype {self.dtype.scalar_type_name}, as self, got "
            f"{src.dtype.scalar_type_name}"
        )
    check_smaller(name, "src", index, src, -1)
    check_index(name, self, dim, index)
    return dim


def checked_fold(reduce: str) -> str:
    """The primitive's word for a fold of `scatter`."""
    if reduce not in FOLDS:
        raise RuntimeError(f"scatter: reduce must be 'add' or 'multiply', got {reduce!r}")
    return FOLDS[reduce]


def check_reduction(kernel: str, self: Tensor, reduce: str) -> None:
    """Raises RuntimeError for an unknown reduction, NotImplementedError for one of such a dtype."""
    if reduce not in REDUCTIONS:
        raise RuntimeError(f"scatter_reduce: reduce must be one of {REDUCTIONS}, got {reduce}")
    ordered = reduce in ("amax", "amin") and self.dtype.is_complex
    if ordered or (reduce == "mean" and self.dtype.kind == "bool"):
        raise refusal(f"{kernel}{reduce}", self.dtype)


def check_index_reduce(self: Tensor, reduce: str) -> None:
    """Raises RuntimeError for an unknown reduction, NotImplementedError for one of such a dtype."""
    if reduce not in REDUCTIONS[1:]:
        raise RuntimeError(f"index_reduce(): expected prod, mean, amax or amin, got {reduce}")
    if self.dtype.kind in ("bool", "complex"):
        raise refusal("index_func_", self.dtype)


def start_of(self: Tensor, reduce: str) -> Number:
    """The number that changes no other in a reduction."""
    if reduce in _START:
        return _START[reduce]
    if self.dtype.is_floating_point:
        return float("-inf") if reduce == "amax" else float("inf")
    if self.dtype.kind == "bool":
        return reduce == "amin"
    bits = 8 * self.itemsize - (self.dtype.kind == "signed")
    least = -(1 << bits) if self.dtype.kind == "signed" else 0
    return least if reduce == "amax" else (1 << bits) - 1


def divided(sums: Tensor, counts: Tensor) -> Tensor:
    """Means of sums, where there is something to divide; of integers rounded down."""
    counts = counts.masked_fill(counts == 0, 1)
    inexact = sums.dtype.is_floating_point or sums.dtype.is_complex
    return ops.aten.div.Tensor_mode(sums, counts, rounding_mode=None if inexact else "floor")


def everywhere(self: Tensor, value: Number, index: Tensor) -> Tensor:
    """`value` as a tensor of the dtype of `self`, in the index's shape."""
    number: Tensor = ops.aten.fill_(self.new_empty(()), value)
    return number.expand(index.shape)


def in_order_of(self: Tensor, made: Tensor) -> Tensor:
    """`made` in the memory order of `self`."""
    if self.is_contiguous():
        return made.contiguous()
    return ops.aten.empty_like(self, dtype=made.dtype).copy_(made)


@op("gather", exact_out=True)
def gather(self: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """out[i][j][k] = self[index[i][j][k]][j][k] for dim 0, and so on.

    Raises RuntimeError where `index` is larger than `self` in other dimensions or out of range.
    """
    dim = wrap_dimension(dim, self.dim())
    if index.numel() == 0:
        return self.new_empty(index.shape)
    check_index("gather", self, dim, index)
    picked = ops.prims.gather(at_least_vector(self), at_least_vector(as_int64(index)), dim)
    return picked.reshape(index.shape)  # type: ignore[no-any-return]


@op("scatter.src", exact_out=True)
def scatter(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """self[index[i][j][k]][j][k] = src[i][j][k] for dim 0, and so on; the last of several stays.

    Raises RuntimeError for other dtypes, and for shapes and indices that do not fit.
    """
    return _scattered("scatter", self, dim, index, src, "replace")


@op("scatter.value", exact_out=True)
def scatter_value(self: Tensor, dim: int, index: Tensor, value: Number) -> Tensor:
    """As `scatter`, of one number."""
    return _scattered("scatter", self, dim, index, everywhere(self, value, index), "replace")


@op("scatter.reduce", exact_out=True)
def scatter_folding(self: Tensor, dim: int, index: Tensor, src: Tensor, *, reduce: str) -> Tensor:
    """As `scatter`, but adds ("add") or multiplies ("multiply") into what is there."""
    return _scattered("scatter", self, dim, index, src, checked_fold(reduce))


@op("scatter.value_reduce", exact_out=True)
def scatter_folding_value(
    self: Tensor, dim: int, index: Tensor, value: Number, *, reduce: str
) -> Tensor:
    """As `scatter_folding`, of one number."""
    source = everywhere(self, value, index)
    return _scattered("scatter", self, dim, index, source, checked_fold(reduce))


@op("scatter_add", exact_out=True)
def scatter_add(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """As `scatter`, adding into what is there, in order."""
    return _scattered("scatter_add", self, dim, index, src, "sum")


@op("scatter_reduce.two", exact_out=True)
def scatter_reduce(
    self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """As `scatter`, but what meets in one place becomes its sum, prod, mean, amax or amin.

    What is there already takes part with `include_self`. Means of integers are rounded down.
    """
    check_reduction("scatter_gather_tensor_cpu_reduce_", self, reduce)
    dim = checked_scatter("scatter_reduce", self, dim, index, src)
    if index.numel() == 0:
        return self.clone()
    start = self
    if not include_self:
        start = ops.aten.scatter.value(self, dim, index, start_of(self, reduce))
    if reduce != "mean":
        return _scattered("scatter_reduce", start, dim, index, src, reduce)
    sums = _scattered("scatter_reduce", start, dim, index, src, "sum")
    ones = everywhere(self, 1, index)
    before = self.new_ones(self.shape) if include_self else self.new_zeros(self.shape)
    return divided(sums, _scattered("scatter_reduce", before, dim, index, ones, "sum"))


def _scattered(
    name: str, self: Tensor, dim: int, index: Tensor, src: Tensor, combine: str
) -> Tensor:
    dim = checked_scatter(name, self, dim, index, src)
    if index.numel() == 0:
        return self.clone()
    made = ops.prims.scatter(
        at_least_vector(self),
        at_least_vector(as_int64(index)),
        at_least_vector(src),
        dim,
        combine,
    )
    return made.reshape(self.shape)  # type: ignore[no-any-return]


def checked_vector(name: str, self: Tensor, dim: int, index: Tensor) -> int:
    """The dimension from the front; `index` must be a vector of integers, or one without dims."""
    if index.dim() > 1:
        raise IndexError(f"{name}(): index is to be a vector, got {index.dim()} dimensions")
    if index.dtype.name not in INDEX_TYPES:
        raise RuntimeError(
            f"{name}(): expected dtype int32 or int64 for index, got {index.dtype.scalar_type_name}"
        )
    return wrap_dimension(dim, self.dim())


def checked_slices(name: str, self: Tensor, dim: int, index: Tensor, source: Tensor) -> int:
    """The dimension from the front. Raises for what the operators on slices refuse."""
    dim = checked_vector(name, self, dim, index)
    if self.dtype is not source.dtype:
        raise RuntimeError(
            f"{name}(): expected source of dtype {self.dtype.scalar_type_name}, as self, got "
            f"{source.dtype.scalar_type_name}"
        )
    target, given = at_least_vector(self), at_least_vector(source)
    count = given.size(dim) if dim < given.dim() else -1
    if count != index.numel():
        error = IndexError if name == "index_copy" else RuntimeError
        raise error(
            f"{name}(): {index.numel()} indices for source {list(source.shape)} and dimension {dim}"
        )
    if _without(target.shape, dim) != _without(given.shape, dim):
        raise RuntimeError(
            f"{name}(): source {list(source.shape)} and self {list(self.shape)} must agree but "
            f"for dimension {dim}"
        )
    return dim


def _without(shape: Sequence[int], dim: int) -> tuple[int, ...]:
    return (*shape[:dim], *shape[dim + 1 :])


def check_index_fill(self: Tensor, index: Tensor, value: Number) -> None:
    """Raises IndexError or RuntimeError for what index_fill refuses."""
    if index.dtype is not INT64:
        raise IndexError("index_fill(): expected dtype int64 for index")
    if index.dim() > 1:
        raise RuntimeError(f"index_fill(): index is to be a vector, got {index.dim()} dimensions")
    if isinstance(value, complex) and not self.dtype.is_complex:
        raise RuntimeError("index_fill(): a complex number does not go into a real tensor")


def check_index_copy(index: Tensor) -> None:
    """Raises RuntimeError for an int32 index, which the operators beside it take."""
    if index.dtype.name == "int32":
        raise RuntimeError("index_copy(): expected dtype int64 for index, got Int")


@op("index_add", exact_out=True)
def index_add(
    self: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Number = 1
) -> Tensor:
    """Adds each slice of `source` along `dim`, times `alpha`, to the slice that `index` names.

    Raises IndexError for indices out of range, RuntimeError for other dtypes and shapes.
    """
    dim = checked_slices("index_add", self, dim, index, source)
    if alpha != 1:
        source = source * everywhere(self, alpha, self.new_empty(()))
    return _with_slices(self, dim, index, source, "sum")


@op("index_copy", exact_out=True)
def index_copy(self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """Copies each slice of `source` along `dim` to the slice that `index` names."""
    check_index_copy(index)
    dim = checked_slices("index_copy", self, dim, index, source)
    return _with_slices(self, dim, index, source, "replace")


@op("index_reduce", exact_out=True)
def index_reduce(
    self: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> Tensor:
    """Folds each slice of `source` into the one that `index` names: prod, mean, amax or amin.

    What is there already takes part with `include_self`. Means of integers are rounded down.
    """
    check_index_reduce(self, reduce)
    dim = checked_slices("index_reduce", self, dim, index, source)
    start = self
    if not include_self:
        fill = everywhere(self, start_of(self, reduce), source)
        start = _with_slices(self, dim, index, fill, "replace")
    if reduce != "mean":
        return _with_slices(start, dim, index, source, reduce)
    sums = _with_slices(start, dim, index, source, "sum")
    before = self.new_ones(self.shape) if include_self else self.new_zeros(self.shape)
    return divided(sums, _with_slices(before, dim, index, everywhere(self, 1, source), "sum"))


@op("index_fill.int_Scalar", exact_out=True)
def index_fill(self: Tensor, dim: int, index: Tensor, value: Number) -> Tensor:
    """Writes a number to the slices along `dim` that `index` names; negative ones from the end.

    Raises IndexError for indices out of range or of other dtypes.
    """
    dim = wrap_dimension(dim, self.dim())
    check_index_fill(self, index, value)
    number = ops.aten.fill_(self.new_empty(()), value)
    return in_order_of(self, _filled_slices(self, dim, index, number))


@op("index_fill.int_Tensor", exact_out=True)
def index_fill_by_tensor(self: Tensor, dim: int, index: Tensor, value: Tensor) -> Tensor:
    """As `index_fill`, with a number in a tensor without dimensions."""
    if value.dim() != 0:
        raise RuntimeError(f"index_fill(): value has no dimensions, got {value.dim()}")
    dim = wrap_dimension(dim, self.dim())
    check_index_fill(self, index, 1j if value.dtype.is_complex else 0)
    return in_order_of(self, _filled_slices(self, dim, index, value.to(self.dtype)))


def _filled_slices(self: Tensor, dim: int, index: Tensor, value: Tensor) -> Tensor:
    vector = at_least_vector(self)
    size = vector.size(dim)
    shape = list(vector.shape)
    shape[dim] = index.numel()
    places = ops.aten.where.self(index < 0, index + size, index)
    return _with_slices(self, dim, places, value.expand(shape), "replace")


def _with_slices(self: Tensor, dim: int, index: Tensor, source: Tensor, combine: str) -> Tensor:
    if index.numel() == 0 or source.numel() == 0:
        return self.clone()
    source = at_least_vector(source)
    places = spread(at_least_vector(as_int64(index)), source.shape, dim)
    made = ops.prims.scatter(at_least_vector(self), places, source, dim, combine)
    return made.reshape(self.shape)  # type: ignore[no-any-return]


def spread(vector: Tensor, shape: Sequence[int], dim: int) -> Tensor:
    """`vector`, along `dim`, the same in all other dimensions of `shape`."""
    sizes = [1] * len(shape)
    sizes[dim] = vector.size(0)
    return vector.reshape(sizes).expand(shape)

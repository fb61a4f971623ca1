"""Elements moved and folded along one dimension, at places that an index names.

gather and scatter take an index for each element, index_add and its relatives one for each slice.
"""

from __future__ import annotations

from collections.abc import Sequence

from aten._core import picking
from aten._core.tensor import Tensor, wrap_dimension
from aten.ops.definition import op
from aten.ops.places import (
    INDEX_TYPES,
    along,
    as_int64,
    at_least_vector,
    check_range,
    checked_vector,
    require_apart,
    require_other_memory,
    spread,
    wrapped,
    write,
)
from aten.ops.requirements import refusal
from aten.prims import Number
from aten.registry import ops

_FOLDS = {"add": "sum", "multiply": "prod"}
_REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")
# What a fold starts from where it leaves out what is there.
_START: dict[str, Number] = {"sum": 0, "mean": 0, "prod": 1}


@op("gather", exact_out=True)
def gather(self: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """out[i][j][k] = self[index[i][j][k]][j][k] for dim 0, and so on.

    Raises RuntimeError where `index` is larger than `self` in other dimensions or out of range.
    """
    dim = wrap_dimension(dim, self.dim())
    out = self.new_empty(index.shape)
    if index.numel() == 0:
        return out
    index, source = _checked("gather", self, dim, index)
    if not self.is_meta:
        base = along(source, dim, index.shape)
        step, choices = source.stride(dim), source.size(dim)
        picking.pick(base, as_int64(index), at_least_vector(out), step, choices)
    return out


@op("scatter.src", inplace="contiguous_format")
def scatter(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """self[index[i][j][k]][j][k] = src[i][j][k] for dim 0, and so on; the last of several stays.

    Raises RuntimeError for other dtypes, and for shapes and indices that do not fit.
    """
    return _scatter("scatter", self, dim, index, src)


@op("scatter.value", inplace="contiguous_format")
def scatter_value(self: Tensor, dim: int, index: Tensor, value: Number) -> Tensor:
    """As `scatter`, of one number."""
    return _scatter("scatter", self, dim, index, _everywhere(self, value, index))


@op("scatter.reduce", inplace="contiguous_format")
def scatter_folding(self: Tensor, dim: int, index: Tensor, src: Tensor, *, reduce: str) -> Tensor:
    """As `scatter`, but adds ("add") or multiplies ("multiply") into what is there."""
    return _scatter("scatter", self, dim, index, src, _checked_fold(reduce))


@op("scatter.value_reduce", inplace="contiguous_format")
def scatter_folding_value(
    self: Tensor, dim: int, index: Tensor, value: Number, *, reduce: str
) -> Tensor:
    """As `scatter_folding`, of one number."""
    source = _everywhere(self, value, index)
    return _scatter("scatter", self, dim, index, source, _checked_fold(reduce))


@op("scatter_add", inplace="contiguous_format")
def scatter_add(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """As `scatter`, adding into what is there, in order."""
    return _scatter("scatter_add", self, dim, index, src, "sum")


@op("scatter_reduce.two", inplace="contiguous_format")
def scatter_reduce(
    self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """As `scatter`, but what meets in one place becomes its sum, prod, mean, amax or amin.

    What is there already takes part with `include_self`. Means of integers are rounded down.
    """
    if reduce not in _REDUCTIONS:
        raise RuntimeError(f"scatter_reduce: reduce must be one of {_REDUCTIONS}, got {reduce}")
    _refuse_fold("scatter_gather_tensor_cpu_reduce_", self, reduce)
    _scatter_checks("scatter_reduce", self, dim, index, src)
    if index.numel() == 0 or self.is_meta:
        return self
    if include_self and reduce != "mean":
        return _scatter("scatter_reduce", self, dim, index, src, reduce)
    # On a copy: should memory be short for one of the steps, `self` is as it was.
    made = self.clone()
    if not include_self:
        scatter_value(made, dim, index, _start(self, reduce))
    _scatter("scatter_reduce", made, dim, index, src, "sum" if reduce == "mean" else reduce)
    if reduce == "mean":
        ones = src.new_ones(()).expand(src.shape)
        counts = self.new_ones(self.shape) if include_self else self.new_zeros(self.shape)
        _divide(made, _scatter("scatter_reduce", counts, dim, index, ones, "sum"))
    return self.copy_(made)


def _refuse_fold(kernel: str, self: Tensor, reduce: str) -> None:
    ordered = reduce in ("amax", "amin") and self.dtype.is_complex
    if ordered or (reduce == "mean" and self.dtype.kind == "bool"):
        raise refusal(f"{kernel}{reduce}", self.dtype)


def _start(self: Tensor, reduce: str) -> Number:
    if reduce in _START:
        return _START[reduce]
    if self.dtype.is_floating_point:
        return float("-inf") if reduce == "amax" else float("inf")
    if self.dtype.kind == "bool":
        return reduce == "amin"
    bits = 8 * self.itemsize - (self.dtype.kind == "signed")
    least = -(1 << bits) if self.dtype.kind == "signed" else 0
    return least if reduce == "amax" else (1 << bits) - 1


def _divide(self: Tensor, counts: Tensor) -> None:
    """Sums become means, where there is something to divide."""
    counts = counts.masked_fill(counts == 0, 1)
    inexact = self.dtype.is_floating_point or self.dtype.is_complex
    ops.aten.div_.Tensor_mode(self, counts, rounding_mode=None if inexact else "floor")


def _everywhere(self: Tensor, value: Number, index: Tensor) -> Tensor:
    number: Tensor = ops.aten.fill_(self.new_empty(()), value)
    return number.expand(index.shape)


def _checked_fold(reduce: str) -> str:
    if reduce not in _FOLDS:
        raise RuntimeError(f"scatter: reduce must be 'add' or 'multiply', got {reduce!r}")
    return _FOLDS[reduce]


def _scatter(
    name: str, self: Tensor, dim: int, index: Tensor, src: Tensor, fold: str = ""
) -> Tensor:
    dim = _scatter_checks(name, self, dim, index, src)
    if index.numel() == 0 or self.is_meta:
        return self
    index, target = at_least_vector(index), at_least_vector(self)
    src = at_least_vector(src)
    source = src.as_strided(index.shape, src.stride(), src.storage_offset())
    base = along(target, dim, index.shape)
    write(base, as_int64(index), source, target.stride(dim), target.size(dim), fold)
    return self


def _scatter_checks(name: str, self: Tensor, dim: int, index: Tensor, src: Tensor) -> int:
    """Everything that `_scatter` refuses; the dimension from the front."""
    dim = wrap_dimension(dim, self.dim())
    if index.numel() == 0 and index.dtype.name in INDEX_TYPES:
        return dim
    if self.dtype is not src.dtype:
        raise RuntimeError(
            f"{name}(): expected src of dtype {self.dtype.scalar_type_name}, as self, got "
            f"{src.dtype.scalar_type_name}"
        )
    _check_smaller(name, "src", index, src, -1)
    _checked(name, self, dim, index)
    if not self.is_meta:
        require_apart(self, index, src)
    return dim


def _checked(name: str, self: Tensor, dim: int, index: Tensor) -> tuple[Tensor, Tensor]:
    """The index and `self` with at least one dimension. Raises RuntimeError."""
    if index.dtype.name not in INDEX_TYPES:
        raise RuntimeError(
            f"{name}(): expected dtype int32 or int64 for index, got {index.dtype.scalar_type_name}"
        )
    _check_smaller(name, "self", index, self, dim)
    vector = at_least_vector(self)
    message = f"index {{index}} is out of bounds for dimension {dim} with size {{size}}"
    check_range(index, vector.size(dim), message, error=RuntimeError)
    return at_least_vector(index), vector


def _check_smaller(name: str, what: str, index: Tensor, other: Tensor, dim: int) -> None:
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


@op("index_add", inplace="contiguous_format")
def index_add(
    self: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Number = 1
) -> Tensor:
    """Adds each slice of `source` along `dim`, times `alpha`, to the slice that `index` names.

    Raises IndexError for indices out of range, RuntimeError for other dtypes and shapes.
    """
    dim = _checked_slices("index_add", self, dim, index, source)
    if alpha != 1:
        source = source * _everywhere(self, alpha, self.new_empty(()))
    return _write_slices(self, dim, index, source, "sum")


@op("index_copy", inplace="contiguous_format")
def index_copy(self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """Copies each slice of `source` along `dim` to the slice that `index` names."""
    if index.dtype.name == "int32":
        raise RuntimeError("index_copy(): expected dtype int64 for index, got Int")
    dim = _checked_slices("index_copy", self, dim, index, source)
    return _write_slices(self, dim, index, source)


@op("index_reduce", inplace="contiguous_format")
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
    if reduce not in _REDUCTIONS[1:]:
        raise RuntimeError(f"index_reduce(): expected prod, mean, amax or amin, got {reduce}")
    if self.dtype.kind in ("bool", "complex"):
        raise refusal("index_func_", self.dtype)
    dim = _checked_slices("index_reduce", self, dim, index, source)
    if index.numel() == 0 or self.is_meta:
        return self
    if include_self and reduce != "mean":
        return _write_slices(self, dim, index, source, reduce)
    made = self.clone()  # As in scatter_reduce.
    if not include_self:
        _fill_slices(made, dim, index, _start(self, reduce))
    _write_slices(made, dim, index, source, "sum" if reduce == "mean" else reduce)
    if reduce == "mean":
        ones = source.new_ones(()).expand(source.shape)
        counts = self.new_ones(self.shape) if include_self else self.new_zeros(self.shape)
        _divide(made, _write_slices(counts, dim, index, ones, "sum"))
    return self.copy_(made)


@op("index_fill.int_Scalar", inplace="preserve_format")
def index_fill(self: Tensor, dim: int, index: Tensor, value: Number) -> Tensor:
    """Writes a number to the slices along `dim` that `index` names; negative ones from the end.

    Raises IndexError for indices out of range or of other dtypes.
    """
    dim = wrap_dimension(dim, self.dim())
    if index.dtype.name != "int64":
        raise IndexError("index_fill(): expected dtype int64 for index")
    if index.dim() > 1:
        raise RuntimeError(f"index_fill(): index is to be a vector, got {index.dim()} dimensions")
    if isinstance(value, complex) and not self.dtype.is_complex:
        raise RuntimeError("index_fill(): a complex number does not go into a real tensor")
    size = at_least_vector(self).size(dim)
    message = f"index {{index}} is out of bounds for dimension {dim} with size {{size}}"
    check_range(index, size, message, low=-size)
    return _fill_slices(self, dim, index, value)


@op("index_fill.int_Tensor", inplace="preserve_format")
def index_fill_by_tensor(self: Tensor, dim: int, index: Tensor, value: Tensor) -> Tensor:
    """As `index_fill`, with a number in a tensor without dimensions."""
    if value.dim() != 0:
        raise RuntimeError(f"index_fill(): value has no dimensions, got {value.dim()}")
    return index_fill(self, dim, index, 0 if value.is_meta else value.item())


def _fill_slices(self: Tensor, dim: int, index: Tensor, value: Number) -> Tensor:
    vector = at_least_vector(self)
    shape = list(vector.shape)
    shape[dim] = index.numel()
    source = _everywhere(self, value, index).as_strided(shape, (0,) * len(shape))
    if not self.is_meta:
        require_other_memory(self, index)
        _move_slices(vector, dim, wrapped(index, vector.size(dim)), source, "")
    return self


def _checked_slices(name: str, self: Tensor, dim: int, index: Tensor, source: Tensor) -> int:
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
    message = f"{name}(): index {{index}} is out of bounds for dimension {dim} with size {{size}}"
    check_range(index, target.size(dim), message)
    if not self.is_meta:
        require_apart(self, index, source)
    return dim


def _without(shape: Sequence[int], dim: int) -> tuple[int, ...]:
    return (*shape[:dim], *shape[dim + 1 :])


def _write_slices(self: Tensor, dim: int, index: Tensor, source: Tensor, fold: str = "") -> Tensor:
    if not self.is_meta:
        _move_slices(at_least_vector(self), dim, index, at_least_vector(source), fold)
    return self


def _move_slices(self: Tensor, dim: int, index: Tensor, source: Tensor, fold: str) -> None:
    at = spread(at_least_vector(as_int64(index)), source.shape, dim)
    base = along(self, dim, source.shape)
    write(base, at, source, self.stride(dim), self.size(dim), fold)

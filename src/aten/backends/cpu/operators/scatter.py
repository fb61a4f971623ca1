"""Elements moved and folded along one dimension, at places that an index names.

gather and scatter take an index for each element, index_add and its relatives one for each slice.
"""

from __future__ import annotations

from aten._core.tensor.tensor import Tensor
from aten._core.tensor.tensor_impl import wrap_dimension
from aten.backends.cpu.kernels.indexing import picking
from aten.backends.cpu.operators.places import (
    along,
    check_range,
    require_apart,
    require_other_memory,
    spread,
    wrapped,
    write,
)
from aten.ops.definition import op
from aten.ops.indexing.scatter import (
    as_int64,
    at_least_vector,
    check_index,
    check_index_copy,
    check_index_fill,
    check_index_reduce,
    check_reduction,
    checked_fold,
    checked_scatter,
    checked_slices,
    divided,
    everywhere,
    start_of,
)
from aten.prims import Number


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
    return _scatter("scatter", self, dim, index, everywhere(self, value, index))


@op("scatter.reduce", inplace="contiguous_format")
def scatter_folding(self: Tensor, dim: int, index: Tensor, src: Tensor, *, reduce: str) -> Tensor:
    """As `scatter`, but adds ("add") or multiplies ("multiply") into what is there."""
    return _scatter("scatter", self, dim, index, src, checked_fold(reduce))


@op("scatter.value_reduce", inplace="contiguous_format")
def scatter_folding_value(
    self: Tensor, dim: int, index: Tensor, value: Number, *, reduce: str
) -> Tensor:
    """As `scatter_folding`, of one number."""
    source = everywhere(self, value, index)
    return _scatter("scatter", self, dim, index, source, checked_fold(reduce))


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
    check_reduction("scatter_gather_tensor_cpu_reduce_", self, reduce)
    _scatter_checks("scatter_reduce", self, dim, index, src)
    if index.numel() == 0:
        return self
    if include_self and reduce != "mean":
        return _scatter("scatter_reduce", self, dim, index, src, reduce)
    # On a copy: should memory be short for one of the steps, `self` is as it was.
    made = self.clone()
    if not include_self:
        scatter_value(made, dim, index, start_of(self, reduce))
    _scatter("scatter_reduce", made, dim, index, src, "sum" if reduce == "mean" else reduce)
    if reduce == "mean":
        ones = src.new_ones(()).expand(src.shape)
        counts = self.new_ones(self.shape) if include_self else self.new_zeros(self.shape)
        made = divided(made, _scatter("scatter_reduce", counts, dim, index, ones, "sum"))
    return self.copy_(made)


def _scatter(
    name: str, self: Tensor, dim: int, index: Tensor, src: Tensor, fold: str = ""
) -> Tensor:
    dim = _scatter_checks(name, self, dim, index, src)
    if index.numel() == 0:
        return self
    index, target = at_least_vector(index), at_least_vector(self)
    src = at_least_vector(src)
    source = src.as_strided(index.shape, src.stride(), src.storage_offset())
    base = along(target, dim, index.shape)
    write(base, as_int64(index), source, target.stride(dim), target.size(dim), fold)
    return self


def _scatter_checks(name: str, self: Tensor, dim: int, index: Tensor, src: Tensor) -> int:
    """Everything that `_scatter` refuses; the dimension from the front."""
    dim = checked_scatter(name, self, dim, index, src)
    if index.numel():
        _check_places(at_least_vector(self), dim, index)
        require_apart(self, index, src)
    return dim


def _checked(name: str, self: Tensor, dim: int, index: Tensor) -> tuple[Tensor, Tensor]:
    """The index and `self` with at least one dimension. Raises RuntimeError."""
    check_index(name, self, dim, index)
    vector = at_least_vector(self)
    _check_places(vector, dim, index)
    return at_least_vector(index), vector


def _check_places(vector: Tensor, dim: int, index: Tensor) -> None:
    message = f"index {{index}} is out of bounds for dimension {dim} with size {{size}}"
    check_range(index, vector.size(dim), message, error=RuntimeError)


@op("index_add", inplace="contiguous_format")
def index_add(
    self: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Number = 1
) -> Tensor:
    """Adds each slice of `source` along `dim`, times `alpha`, to the slice that `index` names.

    Raises IndexError for indices out of range, RuntimeError for other dtypes and shapes.
    """
    dim = _checked_slices("index_add", self, dim, index, source)
    if alpha != 1:
        source = source * everywhere(self, alpha, self.new_empty(()))
    return _write_slices(self, dim, index, source, "sum")


@op("index_copy", inplace="contiguous_format")
def index_copy(self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """Copies each slice of `source` along `dim` to the slice that `index` names."""
    check_index_copy(index)
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
    check_index_reduce(self, reduce)
    dim = _checked_slices("index_reduce", self, dim, index, source)
    if index.numel() == 0:
        return self
    if include_self and reduce != "mean":
        return _write_slices(self, dim, index, source, reduce)
    made = self.clone()  # As in scatter_reduce.
    if not include_self:
        _fill_slices(made, dim, index, start_of(self, reduce))
    _write_slices(made, dim, index, source, "sum" if reduce == "mean" else reduce)
    if reduce == "mean":
        ones = source.new_ones(()).expand(source.shape)
        counts = self.new_ones(self.shape) if include_self else self.new_zeros(self.shape)
        made = divided(made, _write_slices(counts, dim, index, ones, "sum"))
    return self.copy_(made)


@op("index_fill.int_Scalar", inplace="preserve_format")
def index_fill(self: Tensor, dim: int, index: Tensor, value: Number) -> Tensor:
    """Writes a number to the slices along `dim` that `index` names; negative ones from the end.

    Raises IndexError for indices out of range or of other dtypes.
    """
    dim = wrap_dimension(dim, self.dim())
    check_index_fill(self, index, value)
    size = at_least_vector(self).size(dim)
    message = f"index {{index}} is out of bounds for dimension {dim} with size {{size}}"
    check_range(index, size, message, low=-size)
    return _fill_slices(self, dim, index, value)


@op("index_fill.int_Tensor", inplace="preserve_format")
def index_fill_by_tensor(self: Tensor, dim: int, index: Tensor, value: Tensor) -> Tensor:
    """As `index_fill`, with a number in a tensor without dimensions."""
    if value.dim() != 0:
        raise RuntimeError(f"index_fill(): value has no dimensions, got {value.dim()}")
    return index_fill(self, dim, index, value.item())


def _fill_slices(self: Tensor, dim: int, index: Tensor, value: Number) -> Tensor:
    vector = at_least_vector(self)
    shape = list(vector.shape)
    shape[dim] = index.numel()
    source = everywhere(self, value, index).as_strided(shape, (0,) * len(shape))
    require_other_memory(self, index)
    _move_slices(vector, dim, wrapped(as_int64(index), vector.size(dim)), source, "")
    return self


def _checked_slices(name: str, self: Tensor, dim: int, index: Tensor, source: Tensor) -> int:
    """The dimension from the front. Raises for what the operators on slices refuse."""
    dim = checked_slices(name, self, dim, index, source)
    target = at_least_vector(self)
    message = f"{name}(): index {{index}} is out of bounds for dimension {dim} with size {{size}}"
    check_range(index, target.size(dim), message)
    require_apart(self, index, source)
    return dim


def _write_slices(self: Tensor, dim: int, index: Tensor, source: Tensor, fold: str = "") -> Tensor:
    _move_slices(at_least_vector(self), dim, index, at_least_vector(source), fold)
    return self


def _move_slices(self: Tensor, dim: int, index: Tensor, source: Tensor, fold: str) -> None:
    at = spread(at_least_vector(as_int64(index)), source.shape, dim)
    base = along(self, dim, source.shape)
    write(base, at, source, self.stride(dim), self.size(dim), fold)

"""Runs of elements: repeated, counted, folded one by one."""

from __future__ import annotations

from collections.abc import Sequence

from aten._core.base.device import MEMORY_FORMATS
from aten._core.base.dtypes import DTYPES
from aten._core.tensor.making import has_data
from aten._core.tensor.tensor import Tensor
from aten._core.tensor.tensor_impl import wrap_dimension
from aten.ops.definition import op, operation_type
from aten.ops.indexing.scatter import INDEX_TYPES, INT64, integer
from aten.ops.requirements import refusal
from aten.ops.unknown_sizes import unknown_size
from aten.prims import Number
from aten.registry import ops

_FLOAT32, _FLOAT64 = DTYPES["float32"], DTYPES["float64"]
_ROWS = MEMORY_FORMATS["contiguous_format"]
_FOLDS = {"sum": "sum", "mean": "sum", "prod": "prod", "max": "amax", "min": "amin"}
_STARTS: dict[str, Number] = {
    "sum": 0,
    "mean": 0,
    "prod": 1,
    "amax": float("-inf"),
    "amin": float("inf"),
}


@op("repeat_interleave.Tensor", exact_out=True)
def repeat_interleave(repeats: Tensor, *, output_size: int | None = None) -> Tensor:
    """The numbers 0, 1, … as often as `repeats` says for each.

    Raises RuntimeError for negative counts. With `output_size` no count is looked at, but on the
    CPU, where other counts are refused.
    """
    check_repeats(repeats)
    if output_size is None:
        output_size = counted_repeats(repeats)
    return each_repeated(repeats, output_size)


def check_repeats(repeats: Tensor) -> None:
    """Raises RuntimeError for other shapes than a vector's, and for counts of other types."""
    if repeats.dim() != 1:
        raise RuntimeError(f"repeat_interleave: repeats are a vector, got {repeats.dim()}-d")
    if repeats.dtype.name not in INDEX_TYPES:
        raise refusal("repeat_interleave_cpu", repeats.dtype)


def counted_repeats(repeats: Tensor) -> int:
    """The sum of all counts. Raises RuntimeError where one of them is negative, NoElementsError
    where nobody knows them."""
    if not has_data(repeats):
        return unknown_size("repeat_interleave", (repeats,), 0, None)
    if repeats.numel() == 0:
        return 0
    if bool((repeats < 0).any()):
        raise RuntimeError("repeat_interleave: repeats must not be negative")
    return integer(repeats.to(INT64).sum())


def each_repeated(repeats: Tensor, total: int) -> Tensor:
    """The numbers 0, 1, …, `total` of them in all, as often as is said for each."""
    ends = ops.aten.cumsum(repeats.to(INT64), 0)
    places = ops.aten.arange(total, device=repeats.device)
    return ops.aten.searchsorted.Tensor(ends, places, right=True).to(repeats.dtype)


@op("repeat_interleave.self_Tensor")
def repeat_elements(
    self: Tensor, repeats: Tensor, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each slice of `dim` as often as `repeats` says; without `dim`, each element."""
    if dim is None:
        return repeat_elements(self.reshape((-1,)), repeats, 0, output_size=output_size)
    dim = wrap_dimension(dim, self.dim())
    self = self.reshape((1,)) if self.dim() == 0 else self
    if repeats.dim() > 1:
        raise RuntimeError(f"repeat_interleave: repeats are a vector, got {repeats.dim()}-d")
    if repeats.numel() == 1:
        repeats = repeats.reshape((1,)).expand((self.size(dim),))
    elif repeats.size(0) != self.size(dim):
        raise RuntimeError(
            f"repeat_interleave: {repeats.size(0)} repeats for {self.size(dim)} slices of "
            f"dimension {dim}"
        )
    index = ops.aten.repeat_interleave.Tensor(repeats, output_size=output_size)
    return ops.aten.index_select(self, dim, index)


@op("repeat_interleave.self_int")
def repeat_each(
    self: Tensor, repeats: int, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each slice of `dim` `repeats` times; without `dim`, each element."""
    if dim is None:
        return repeat_each(self.reshape((-1,)), repeats, 0, output_size=output_size)
    dim = wrap_dimension(dim, self.dim())
    self = self.reshape((1,)) if self.dim() == 0 else self
    if repeats < 0:
        raise RuntimeError(f"repeat_interleave: repeats must not be negative, got {repeats}")
    count = self.size(dim) * repeats
    if output_size is not None and output_size != count:
        raise RuntimeError(f"repeat_interleave: output_size is {output_size}, not {count}")
    before, after = self.shape[: dim + 1], self.shape[dim + 1 :]
    spread = self.unsqueeze(dim + 1).expand((*before, repeats, *after))
    return spread.clone(memory_format=_ROWS).reshape((*before[:-1], count, *after))


@op("bincount", exact_out=True)
def bincount(self: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each of the numbers 0, 1, … occurs, or the sums of their weights.

    Raises RuntimeError for negative numbers, other shapes than a vector's, and weights that do not
    belong to the elements; NotImplementedError for elements that are no integers.
    """
    if self.dtype.kind not in ("signed", "unsigned"):
        raise refusal("bincount_cpu", self.dtype)
    if minlength < 0:
        raise RuntimeError(f"bincount: minlength must not be negative, got {minlength}")
    is_known = has_data(self)
    if self.dim() != 1 or (is_known and self.numel() and integer(self.min()) < 0):
        raise RuntimeError("bincount: expected a vector of integers that are not negative")
    if weights is not None and weights.shape != self.shape:
        raise RuntimeError(
            f"bincount: expected as many weights as elements, got {list(weights.shape)} for "
            f"{list(self.shape)}"
        )
    if is_known:
        count = max(integer(self.max()) + 1 if self.numel() else 0, minlength)
    else:
        most = None if self.numel() else minlength
        count = unknown_size("bincount", (self, minlength), minlength, most)
    if weights is None or not self.numel():
        made, given = self.new_zeros((count,), dtype=INT64), self.new_ones((), dtype=INT64)
        given = given.expand(self.shape)
    else:
        wide = _FLOAT32 if weights.dtype is _FLOAT32 else _FLOAT64
        made, given = self.new_zeros((count,), dtype=wide), weights.to(wide)
    return ops.aten.index_add_(made, 0, self.to(INT64), given)


@op("segment_reduce", exact_out=True)
def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Number | None = None,
) -> Tensor:
    """Folds runs of slices along `axis`: sum, mean, max, min or prod; NaNs are kept.

    `lengths` (*, s), or `offsets` (*, s + 1), say where the runs are; * are the dimensions before
    `axis`. `initial` takes part in each fold. Without it, runs without slices are what the fold
    starts from, and NaN for means. Raises RuntimeError for lengths that do not add up, and for runs
    that begin or end outside of `data`, or before they begin.
    """
    if reduce not in _FOLDS:
        raise RuntimeError(f"segment_reduce: expected one of {', '.join(_FOLDS)}, got {reduce!r}")
    if not data.dtype.is_floating_point:
        raise refusal("_segment_reduce_cpu", data.dtype)
    axis = wrap_dimension(axis, data.dim())
    bounds = _bounds(data, lengths, indices, offsets, axis, unsafe)
    outer = data.shape[:axis]
    count = bounds.size(-1) - 1
    places = ops.aten.arange(data.size(axis), device=data.device)
    runs = ops.aten.searchsorted.Tensor(
        bounds.contiguous(), places.expand((*outer, data.size(axis))), right=True
    )
    return _folded_runs(data, reduce, runs, count, initial)


def _bounds(
    data: Tensor,
    lengths: Tensor | None,
    indices: Tensor | None,
    offsets: Tensor | None,
    axis: int,
    unsafe: bool,
) -> Tensor:
    """Where runs begin and the last one ends, along the last dimension."""
    if indices is not None:
        raise RuntimeError("segment_reduce: indices are not supported")
    given = lengths if lengths is not None else offsets
    if given is None:
        raise RuntimeError("segment_reduce: either lengths or offsets are needed")
    if given.dim() != axis + 1 or given.shape[:axis] != data.shape[:axis]:
        raise RuntimeError(
            f"segment_reduce: lengths or offsets {list(given.shape)} must have the dimensions of "
            f"data {list(data.shape)} before axis {axis}, and one more"
        )
    if given.dtype.name not in INDEX_TYPES:
        raise refusal("_segment_reduce_cpu", given.dtype)
    # A copy: what is checked is what is used, whoever writes to the tensor meanwhile.
    given = given.to(INT64, copy=True)
    if lengths is None:
        if given.size(-1) < 1:
            raise RuntimeError("segment_reduce: offsets need at least one element")
        _check_bounds("offsets", given, data, axis)
        return given
    if not unsafe and has_data(given) and given.numel():
        if bool((given < 0).any()):
            raise RuntimeError("segment_reduce: lengths must not be negative")
        if bool((ops.aten.sum.dim_IntList(given, [-1]) != data.size(axis)).any()):
            raise RuntimeError(f"segment_reduce: lengths must add up to {data.size(axis)}")
    first = given.new_zeros((*given.shape[:-1], 1))
    bounds: Tensor = ops.aten.cat([first, ops.aten.cumsum(given, -1)], -1)
    _check_bounds("lengths", bounds, data, axis)
    return bounds


def _check_bounds(argument: str, bounds: Tensor, data: Tensor, axis: int) -> None:
    """Refuse runs that begin or end outside of the data, or end before they begin."""
    if not has_data(data) or not has_data(bounds) or bounds.numel() == 0:
        return
    least, greatest = integer(bounds.min()), integer(bounds.max())
    if least < 0 or greatest > data.size(axis):
        raise RuntimeError(
            f"segment_reduce: expected {argument} of runs from 0 to {data.size(axis)}, the size of "
            f"axis {axis}, but they are from {least} to {greatest}"
        )
    falls = bounds.diff()
    if falls.numel() and integer(falls.min()) < 0:
        raise RuntimeError(
            f"segment_reduce: expected {argument} of runs that do not end before they begin, but "
            f"one has the length {integer(falls.min())}"
        )


def _folded_runs(
    data: Tensor, reduce: str, runs: Tensor, count: int, initial: Number | None
) -> Tensor:
    """Run 0 is what lies before the first one, run `count` + 1 what lies behind the last."""
    wide = operation_type(data.dtype)
    outer, inner = runs.shape[:-1], data.shape[runs.dim() :]
    rows = _product(outer)
    each = count + 2
    firsts = ops.aten.arange(rows, device=data.device).unsqueeze(-1) * each
    index = (runs.reshape((rows, runs.size(-1))) + firsts).reshape((-1,))
    slices = data.to(wide).reshape((index.numel(), _product(inner)))
    fold = _FOLDS[reduce]
    start = _STARTS[fold] if initial is None else initial
    shape = (rows * each, _product(inner))
    made = ops.aten.full(shape, start, dtype=wide, device=data.device)
    if fold == "sum":
        made = ops.aten.index_add(made, 0, index, slices)
    else:
        made = ops.aten.index_reduce(made, 0, index, slices, fold)
    if reduce == "mean":
        ones = index.new_ones((1,)).expand(index.shape)
        found = ops.aten.index_add(index.new_zeros((shape[0],)), 0, index, ones).unsqueeze(-1)
        # With an initial value, a run without slices is just that.
        made = made / (found if initial is None else found.clamp(min=1))
    made = made.reshape((rows, each, shape[1])).narrow(1, 1, count).clone(memory_format=_ROWS)
    return made.reshape((*outer, count, *inner)).to(data.dtype)


def _product(sizes: Sequence[int]) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total

"""Counting elements by the bins they fall into."""

from __future__ import annotations

import math
from collections.abc import Sequence

from aten._core.base.dtypes import DTYPES, dtype
from aten._core.tensor.making import has_data
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.requirements import refusal
from aten.prims import Number
from aten.registry import ops

Range = Sequence[float] | None


@op
def histc(self: Tensor, bins: int = 100, min: Number = 0, max: Number = 0) -> Tensor:
    """How many elements fall into each of `bins` bins of one width between `min` and `max`.

    Where these are equal, the least and the greatest element take their place. Raises RuntimeError
    for a range that is not finite or runs backwards and for less than one bin.
    """
    return counts_of(bins_of(self, bins, min, max), None, bins).to(self.dtype)


def bins_of(self: Tensor, bins: int, min: Number, max: Number) -> Tensor:
    """The bin that each element falls into, in `histc`; `bins` for none of them. Raises as that."""
    if not self.dtype.is_floating_point:
        raise refusal("histogram_cpu", self.dtype)
    _require_bins("histc", bins)
    low, high = float(_real(min)), float(_real(max))
    if low == high and self.numel() and has_data(self):
        low, high = _extremes(self)
    if low == high:
        low, high = low - 1, high + 1
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"histc: the range [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError(f"histc: max must be above min, got [{low}, {high}]")
    edge = self.new_full((), low)
    width = self.new_full((), high) - edge
    inside = (self >= edge) & (self <= high)
    # Each step is rounded to the type of self: an element next to an edge is counted where torch's
    # arithmetic puts it.
    steps = ops.aten.where(inside, (self - edge) * bins / width, 0)
    places = steps.to(DTYPES["int64"]).clamp(0, bins - 1)
    return ops.aten.where(inside, places, bins)


def counts_of(places: Tensor, weight: Tensor | None, bins: int) -> Tensor:
    """How many places there are of each, or their weights in float64; those of a bin only."""
    index = places.reshape((-1,))
    element = DTYPES["int64" if weight is None else "float64"]
    ones = index.new_ones((), dtype=element).expand(index.shape)
    given = ones if weight is None else weight.to(element)
    counts = index.new_zeros((bins + 1,), dtype=element)
    return ops.aten.index_add(counts, 0, index, given).narrow(0, 0, bins)


@op("histogram.bins_tensor")
def histogram_bins_tensor(
    self: Tensor, bins: Tensor, *, weight: Tensor | None = None, density: bool = False
) -> tuple[Tensor, Tensor]:
    """The elements' weights, one each by default, summed by bin; the edges are `bins`.

    An element on an edge belongs to the bin above it, on the last edge to the last bin. A density
    is divided by the total weight and the bins' widths.
    """
    samples, flat_weight = self.reshape((-1, 1)), _flat(weight)
    return _histogrammed("histogram", samples, [bins], flat_weight, density), bins.clone()


@op("histogram.bin_ct")
def histogram_bin_ct(
    self: Tensor,
    bins: int = 100,
    *,
    range: Range = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> tuple[Tensor, Tensor]:
    """`bins` bins of one width over `range`, by default from the least to the greatest element."""
    samples, flat_weight = self.reshape((-1, 1)), _flat(weight)
    edges = _uniform_edges("histogram", samples, [bins], range)
    return _histogrammed("histogram", samples, edges, flat_weight, density), edges[0]


@op("histogramdd")
def histogramdd(
    self: Tensor,
    bins: Sequence[int],
    range: Range = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """A histogram of points: the last dimension of `self` holds their coordinates."""
    options = {"range": range, "weight": weight, "density": density}
    edges = ops.aten._histogramdd_bin_edges.default(self, bins, **options)
    return ops.aten._histogramdd_from_bin_cts.default(self, bins, **options), tuple(edges)


@op("histogramdd.int_bins")
def histogramdd_int_bins(
    self: Tensor,
    bins: int,
    range: Range = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    count = self.size(-1) if self.dim() else 0
    return ops.aten.histogramdd.default(self, [bins] * count, range, weight, density)


@op("histogramdd.TensorList_bins")
def histogramdd_tensors(
    self: Tensor,
    bins: Sequence[Tensor],
    range: Range = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    counts = ops.aten._histogramdd_from_bin_tensors.default(
        self, bins, weight=weight, density=density
    )
    return counts, tuple(bins)


@op
def _histogramdd_bin_edges(
    self: Tensor,
    bins: Sequence[int],
    *,
    range: Range = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> tuple[Tensor, ...]:
    return _uniform_edges("histogramdd", _points(self), bins, range)


@op
def _histogramdd_from_bin_cts(
    self: Tensor,
    bins: Sequence[int],
    *,
    range: Range = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Tensor:
    edges = _uniform_edges("histogramdd", _points(self), bins, range)
    return _of_points(self, edges, weight, density)


@op
def _histogramdd_from_bin_tensors(
    self: Tensor, bins: Sequence[Tensor], *, weight: Tensor | None = None, density: bool = False
) -> Tensor:
    return _of_points(self, bins, weight, density)


def _of_points(
    self: Tensor, bins: Sequence[Tensor], weight: Tensor | None, density: bool
) -> Tensor:
    samples = _points(self)
    if weight is not None and weight.shape != self.shape[:-1]:
        raise RuntimeError(
            f"histogramdd: weight must have the shape {list(self.shape[:-1])} of the points, but "
            f"has {list(weight.shape)}"
        )
    return _histogrammed("histogramdd", samples, bins, _flat(weight), density)


def _points(self: Tensor) -> Tensor:
    if self.dim() < 2:
        raise RuntimeError(f"histogramdd: self needs at least 2 dimensions, but has {self.dim()}")
    return self.reshape((math.prod(self.shape[:-1]), self.size(-1)))


def _flat(weight: Tensor | None) -> Tensor | None:
    return None if weight is None else weight.reshape((-1,))


def _real(value: Number) -> float:
    return value.real if isinstance(value, complex) else value


def _require_bins(name: str, bins: int) -> None:
    if bins <= 0:
        raise RuntimeError(f"{name}: there must be at least one bin in each dimension, got {bins}")


def _uniform_edges(
    name: str, samples: Tensor, bins: Sequence[int], range: Range
) -> tuple[Tensor, ...]:
    """Edges of bins of one width, for each dimension of (points, dimensions)."""
    _require_real(samples.dtype, halves=range is not None)
    count = samples.size(1)
    if len(bins) != count:
        raise RuntimeError(f"{name}: {count} dimensions need as many bins, got {len(bins)}")
    if range is not None and len(range) != 2 * count:
        raise RuntimeError(f"{name}: range must have {2 * count} elements, but has {len(range)}")
    for one in bins:
        _require_bins(name, one)
    edges = []
    for place, one in enumerate(bins):
        low, high = _outer_edges(samples.select(1, place), range, place)
        if not (math.isfinite(low) and math.isfinite(high)):
            raise RuntimeError(f"{name}: the range [{low}, {high}] of dim {place} is not finite")
        if low > high:
            raise RuntimeError(f"{name}: the range [{low}, {high}] of dim {place} runs backwards")
        if low == high:
            low, high = low - 0.5, high + 0.5
        edges.append(
            ops.aten.linspace(low, high, one + 1, dtype=samples.dtype, device=samples.device)
        )
    return tuple(edges)


def _outer_edges(column: Tensor, range: Range, place: int) -> tuple[float, float]:
    if range is not None:
        return float(range[2 * place]), float(range[2 * place + 1])
    if column.numel() == 0 or not has_data(column):
        return 0.0, 1.0
    return _extremes(column)


def _extremes(self: Tensor) -> tuple[float, float]:
    return float(_real(self.amin().item())), float(_real(self.amax().item()))


def _require_real(element: dtype, *, halves: bool = True) -> None:
    if not element.is_floating_point or (element.itemsize < 4 and not halves):
        raise refusal("histogramdd", element)


def _histogrammed(
    name: str, samples: Tensor, edges: Sequence[Tensor], weight: Tensor | None, density: bool
) -> Tensor:
    """The weights of (points, dimensions) summed by the bins between `edges`."""
    _check_edges(name, samples, edges)
    _check_weight(name, samples, weight)
    sizes = [edge.numel() - 1 for edge in edges]
    points = _wide(samples)
    inside: Tensor = ops.aten.ones_like(points.select(1, 0), dtype=DTYPES["bool"])
    place: Tensor = ops.aten.zeros_like(inside, dtype=DTYPES["int64"])
    for dim, (given, size) in enumerate(zip(edges, sizes, strict=True)):
        column, edge = points.select(1, dim).contiguous(), _wide(given).contiguous()
        inside = inside & (column >= edge.select(0, 0)) & (column <= edge.select(0, -1))
        found = ops.aten.searchsorted(edge, column, right=True) - 1
        place = place * size + found.clamp(0, size - 1)
    count = math.prod(sizes)
    total = counts_of(ops.aten.where(inside, place, count), weight, count)
    made = total.to(DTYPES["float64"]).to(samples.dtype).reshape(sizes)
    return _density(made, edges) if density else made


def _density(weights: Tensor, edges: Sequence[Tensor]) -> Tensor:
    made = weights / weights.sum()
    for place, edge in enumerate(edges):
        sizes = [-1 if one == place else 1 for one in range(len(edges))]
        made = made / ops.aten.diff(edge).reshape(sizes)
    return made


def _wide(values: Tensor) -> Tensor:
    return values.float() if values.itemsize < 4 else values


def _check_edges(name: str, samples: Tensor, edges: Sequence[Tensor]) -> None:
    _require_real(samples.dtype)
    if len(edges) != samples.size(1):
        raise RuntimeError(f"{name}: {samples.size(1)} dimensions need as many bins: {len(edges)}")
    for place, edge in enumerate(edges):
        if edge.dtype is not samples.dtype:
            raise RuntimeError(
                f"{name}: the bins of dim {place} must be of type {samples.dtype}, not {edge.dtype}"
            )
        if edge.dim() != 1:
            raise RuntimeError(f"{name}: bins of dim {place} must be 1-d, have {edge.dim()} dims")
        _require_bins(name, edge.numel() - 1)


def _check_weight(name: str, samples: Tensor, weight: Tensor | None) -> None:
    if weight is None:
        return
    if weight.dtype is not samples.dtype:
        raise RuntimeError(f"{name}: weight must be of type {samples.dtype}, not {weight.dtype}")
    if weight.numel() != samples.size(0):
        raise RuntimeError(
            f"{name}: {samples.size(0)} points need as many weights, got {weight.numel()}"
        )

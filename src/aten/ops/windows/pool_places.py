"""What the windows of poolings see: the elements, and their places in the plane.

Places count through the rows of a plane; where a window reaches beyond the plane they are -1.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from aten._core.base.device import device
from aten._core.base.dtypes import DTYPES
from aten._core.tensor.tensor import Tensor
from aten.ops.windows.pool_windows import Window
from aten.prims import Number
from aten.registry import ops

INT64 = DTYPES["int64"]


def numbers(count: int, place: device) -> Tensor:
    """0, 1, …, count - 1."""
    return ops.aten.arange(count, dtype=INT64, device=place)


def lines_of(windows: Sequence[Window], place: device) -> list[Tensor]:
    """For each dimension the places (count, kernel) that its windows see."""
    lines = []
    for window in windows:
        begins = numbers(window.results, place) * window.stride - window.padding
        seen = begins.unsqueeze(1) + numbers(window.kernel, place) * window.dilation
        lines.append(seen.masked_fill(seen.lt(0).logical_or(seen.ge(window.size)), -1))
    return lines


def adaptive_lines(sizes: Sequence[int], counts: Sequence[int], place: device) -> list[Tensor]:
    """`lines_of` windows that cover the sizes evenly; the shorter ones end with -1."""
    lines = []
    for size, count in zip(sizes, counts, strict=True):
        at, parts = numbers(count, place), max(count, 1)
        begins, ends = ((at + one) * size + one * (parts - 1) for one in (0, 1))
        begins, ends = (
            ops.aten.div.Scalar_mode(one, parts, rounding_mode="floor") for one in (begins, ends)
        )
        longest = -(-size // parts) + (1 if size % parts else 0)
        seen = begins.unsqueeze(1) + numbers(longest, place)
        lines.append(seen.masked_fill(seen.ge(ends.unsqueeze(1)), -1))
    return lines


def lines_from(begins: Tensor, kernel: int) -> Tensor:
    """For each plane the places (planes, count, kernel) of windows that start at `begins`."""
    return begins.unsqueeze(-1) + numbers(kernel, begins.device)


def in_planes(lines: Sequence[Tensor], sizes: Sequence[int]) -> Tensor:
    """The places in the plane, (*counts, window), that lines of the dimensions lead to.

    Lines with a dimension for planes in front give places with one.
    """
    rank, front = len(lines), lines[0].dim() - 2
    flat, outside = None, None
    for dim, (line, size) in enumerate(zip(lines, sizes, strict=True)):
        shape = [*line.shape[:front], *(1 for _ in range(2 * rank))]
        shape[front + dim], shape[front + rank + dim] = line.shape[-2], line.shape[-1]
        place = line.reshape(shape)
        beyond = place.lt(0)
        flat = place if flat is None else flat * size + place
        outside = beyond if outside is None else outside.logical_or(beyond)
    assert flat is not None
    assert outside is not None
    counts = [line.shape[-2] for line in lines]
    window = prod(line.shape[-1] for line in lines)
    whole = flat.masked_fill(outside, -1)
    return whole.reshape((*whole.shape[:front], *counts, window))


def extents(lines: Sequence[Tensor]) -> Tensor:
    """How many elements of the plane each window (*counts) sees."""
    return _products([line.ge(0).to(INT64).sum([-1]) for line in lines])


def padded_extents(windows: Sequence[Window], place: device) -> Tensor:
    """The size of each window (*counts), of which no more than the padding lies outside."""
    sizes = []
    for window in windows:
        begins = numbers(window.results, place) * window.stride - window.padding
        ends = (begins + window.kernel).clamp(None, window.size + window.padding)
        sizes.append(ends - begins)
    return _products(sizes)


def _products(vectors: Sequence[Tensor]) -> Tensor:
    made = vectors[0]
    for vector in vectors[1:]:
        made = made.unsqueeze(-1) * vector
    return made


def seen_by(self: Tensor, windows: Sequence[Window], fill: Number) -> Tensor:
    """The elements (*, *counts, window) that regular windows see; `fill` outside of the image."""
    rank = len(windows)
    leading = self.shape[:-rank]
    none, once = [0] * len(leading), [1] * len(leading)
    beyond = [
        (one.results - 1) * one.stride
        + (one.kernel - 1) * one.dilation
        + (1 - one.size - one.padding)
        for one in windows
    ]
    low = [*none, *(one.padding for one in windows)]
    padded = ops.prims.pad(self, fill, low, [*none, *beyond], [0] * self.dim())
    seen = ops.prims.windows(
        padded,
        [*once, *(one.kernel for one in windows)],
        [*once, *(one.stride for one in windows)],
        [*once, *(one.dilation for one in windows)],
    )
    counts = [one.results for one in windows]
    return seen.reshape((*leading, *counts, prod(one.kernel for one in windows)))  # type: ignore[no-any-return]


def seen_at(self: Tensor, places: Tensor, rank: int, fill: Number) -> Tensor:
    """The elements (*, *counts, window) at places of each plane; `fill` where they are -1.

    Places are the same for all planes, or have a dimension for planes.
    """
    leading, planes = self.shape[:-rank], prod(self.shape[:-rank])
    flat = self.reshape((planes, prod(self.shape[-rank:])))
    own = places.dim() == rank + 2
    counts = places.shape[1:] if own else places.shape
    index = places.clamp(0).reshape((planes if own else 1, prod(counts)))
    seen = ops.aten.gather(flat, 1, index.expand((planes, prod(counts))))
    if not own:
        seen = seen.masked_fill(places.lt(0).reshape((1, -1)), fill)
    return seen.reshape((*leading, *counts))


def largest(seen: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
    """The largest of each window's elements (*, window), and the place it is from.

    The first of those that are equal; of NaNs, which are larger than all numbers, the last.
    """
    values = ops.aten.amax(seen, [-1])
    inside = places.ge(0)
    equal = seen.eq(values.unsqueeze(-1)).logical_and(inside)
    first = ops.aten.amin(ops.aten.where.ScalarOther(equal, places, _BEYOND), [-1])
    if not seen.is_floating_point():
        return values, first
    last = ops.aten.amax(ops.aten.where.ScalarOther(seen.isnan(), places, -1), [-1])
    return values, ops.aten.where.self(last.ge(0), last, first)


_BEYOND = (1 << 63) - 1


def added(values: Tensor, places: Tensor, sizes: Sequence[int], rank: int) -> Tensor:
    """Zeros of `sizes` with `values` (*, *counts, window) added at the places of each plane.

    What is outside, at -1, goes nowhere.
    """
    planes = prod(sizes[:-rank])
    out = values.new_zeros((planes, prod(sizes[-rank:])))
    inside = values.masked_fill(places.lt(0), 0).reshape((planes, places.numel()))
    index = places.clamp(0).reshape((1, -1)).expand((planes, places.numel()))
    return ops.aten.scatter_add(out, 1, index, inside).reshape(sizes)

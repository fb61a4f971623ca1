"""Images of half types read at given points, each step rounded to the type, as torch does.

Rounded coordinates may be those of another element, so that the nearest one differs where only the
result is rounded. Each step is an operator on tensors of the type.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Sequence

from aten._core.dtypes import DTYPES
from aten._core.tensor import Tensor
from aten.registry import ops

ZEROS, BORDER, REFLECTION = 0, 1, 2
BILINEAR, NEAREST, BICUBIC = 0, 1, 2
_INT64 = DTYPES["int64"]
# Of the cubic that passes through the elements. Keys, Cubic Convolution Interpolation (1981).
_SLOPE = -0.75


def sampled_in_steps(
    input: Tensor, grid: Tensor, mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """(N, C, H, W) at the points of `grid` (N, H', W', 2), or with one dimension more.

    Images and volumes are read in another order of steps, as by torch.
    """
    make = _Axis if input.dim() == 4 else _AxisOfVolume
    axes = [make(grid, size, padding_mode, align_corners) for size in reversed(input.shape[2:])]
    image = input.reshape((*input.shape[:2], math.prod(input.shape[2:])))
    places = [axis.unnormalized(grid.select(-1, one)) for one, axis in enumerate(axes)]
    if mode == BICUBIC:
        return _cubic(image, axes, places)
    places = [axis.within(place) for axis, place in zip(axes, places, strict=True)]
    if mode == NEAREST:
        return _elements(image, axes, [place.round() for place in places])
    return _linear(image, axes, places)


class _Axis:
    """One dimension of the image: where in it a coordinate of the grid lies."""

    def __init__(self, like: Tensor, size: int, padding_mode: int, align_corners: bool) -> None:
        self.size = size
        self.padding_mode = padding_mode
        self.align_corners = align_corners
        self._like = like

    def _number(self, value: float) -> Tensor:
        return self._like.new_full((), value)

    def unnormalized(self, coordinate: Tensor) -> Tensor:
        """From [-1, 1] to places of elements."""
        if self.align_corners:
            return (coordinate + 1) * self._number((self.size - 1) / 2)
        return (coordinate + 1) * self._number(self.size / 2) - 0.5

    def within(self, place: Tensor) -> Tensor:
        """The place that the padding shows there."""
        if self.padding_mode == ZEROS:
            return place
        if self.padding_mode == REFLECTION:
            place = self._mirrored(place)
        clipped = ops.aten.minimum(
            ops.aten.maximum(place, self._number(0)), self._number(self.size - 1)
        )
        return ops.aten.masked_fill(clipped, clipped.isnan(), 0)  # type: ignore[no-any-return]

    def _mirrored(self, place: Tensor) -> Tensor:
        span, low = (self.size - 1, 0.0) if self.align_corners else (self.size, -0.5)
        if not span:
            return place.mul(0)
        twice = self._number(2 * span)
        distance = (place - low).abs()
        rest = distance - (distance / twice).trunc() * twice
        return ops.aten.minimum(rest, twice - rest) + low  # type: ignore[no-any-return]


class _AxisOfVolume(_Axis):
    def unnormalized(self, coordinate: Tensor) -> Tensor:
        if self.align_corners:
            return (coordinate + 1) / 2 * (self.size - 1)
        return ((coordinate + 1) * self.size - 1) / 2

    def _mirrored(self, place: Tensor) -> Tensor:
        span, low = (self.size - 1, 0.0) if self.align_corners else (self.size, -0.5)
        if not span:
            return place.mul(0)
        width = self._number(span)
        distance = (place - low).abs()
        rest, flips = distance.fmod(width), (distance / width).floor()
        is_turned = flips.remainder(2).ne(0)
        return ops.aten.where(is_turned, width - rest + low, rest + low)  # type: ignore[no-any-return]


def _elements(image: Tensor, axes: Sequence[_Axis], places: Sequence[Tensor]) -> Tensor:
    """(N, C, *) at whole places, x first; 0 beyond the image."""
    found, inside = None, None
    for axis, place in reversed(list(zip(axes, places, strict=True))):
        index = place.to(_INT64)
        is_inside = index.ge(0) & index.lt(axis.size)
        index = index.clamp(0, axis.size - 1)
        found = index if found is None else found * axis.size + index
        inside = is_inside if inside is None else inside & is_inside
    assert found is not None
    assert inside is not None
    samples, channels = image.shape[:2]
    shape = (samples, channels, *found.shape[1:])
    flat = found.reshape((samples, 1, math.prod(shape[2:]))).expand((-1, channels, -1))
    return image.gather(2, flat).reshape(shape).masked_fill(inside.logical_not().unsqueeze(1), 0)


def _linear(image: Tensor, axes: Sequence[_Axis], places: Sequence[Tensor]) -> Tensor:
    """Corner by corner, x fastest; the weight of a corner is that of x times that of y and z."""
    made = None
    ends = []
    for place in places:
        low = place.floor()
        high = low + 1
        rest = place - low
        before = 1 - rest if len(places) == 2 else high - place
        ends.append(((low, before), (high, rest)))
    for corner in itertools.product(*reversed(ends)):
        nearest_first = corner[::-1]
        weight = functools.reduce(operator.mul, (one for _, one in nearest_first))
        elements = _elements(image, axes, [place for place, _ in nearest_first])
        term = elements * weight.unsqueeze(1)
        made = term if made is None else made + term
    assert made is not None
    return made


def _cubic(image: Tensor, axes: Sequence[_Axis], places: Sequence[Tensor]) -> Tensor:
    left, top = (place.floor() for place in places)
    across, down = (_weights(place - place.floor()) for place in places)
    made = None
    for vertical, row_weight in enumerate(down):
        row = axes[1].within(top + (vertical - 1))
        line = None
        for horizontal, weight in enumerate(across):
            column = axes[0].within(left + (horizontal - 1))
            term = _elements(image, axes, (column, row)) * weight.unsqueeze(1)
            line = term if line is None else line + term
        assert line is not None
        line = line * row_weight.unsqueeze(1)
        made = line if made is None else made + line
    assert made is not None
    return made


def _weights(rest: Tensor) -> list[Tensor]:
    """Of four elements, of which the second is `rest` before the point."""
    other = 1 - rest
    return [_far(rest + 1), _near(rest), _near(other), _far(other + 1)]


def _near(distance: Tensor) -> Tensor:
    first, second = (distance.new_full((), one) for one in (_SLOPE + 2, _SLOPE + 3))
    return (first * distance - second) * distance * distance + 1


def _far(distance: Tensor) -> Tensor:
    one, five, eight, four = (distance.new_full((), by * _SLOPE) for by in (1, 5, 8, 4))
    return ((one * distance - five) * distance + eight) * distance - four

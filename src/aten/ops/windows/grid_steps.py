"""Images read at given points, and the gradients of that; each step an operator on tensors.

Each step is rounded to the type, half types as well, as torch does: rounded coordinates may be
those of another element, so that the nearest one differs where only the result is rounded.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Sequence
from typing import NamedTuple

from aten._core.base.dtypes import DTYPES
from aten._core.tensor.tensor import Tensor
from aten.registry import ops

ZEROS, BORDER, REFLECTION = 0, 1, 2
BILINEAR, NEAREST, BICUBIC = 0, 1, 2
_INT64 = DTYPES["int64"]
_HALF_TYPES = ("float16", "bfloat16")
# Of the cubic that passes through the elements. Keys, Cubic Convolution Interpolation (1981).
_SLOPE = -0.75


def sampled_in_steps(
    input: Tensor, grid: Tensor, mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """(N, C, H, W) at the points of `grid` (N, H', W', 2), or with one dimension more.

    Images of half types are read in another order of steps than others and volumes, as by torch.
    """
    narrow = input.dim() == 4 and input.dtype.name in _HALF_TYPES
    axes = _axes(input, grid, padding_mode, align_corners, _Axis if narrow else _AxisOfVolume)
    image = input.reshape((*input.shape[:2], math.prod(input.shape[2:])))
    places = [axis.unnormalized(grid.select(-1, one)) for one, axis in enumerate(axes)]
    if mode == BICUBIC:
        return _cubic(image, axes, places)
    places = [axis.within(place) for axis, place in zip(axes, places, strict=True)]
    if mode == NEAREST:
        return _elements(image, axes, [place.round() for place in places])
    return _linear(image, axes, places)


def _axes(
    input: Tensor, grid: Tensor, padding_mode: int, align_corners: bool, make: type[_Axis]
) -> list[_Axis]:
    """One for each coordinate of a point."""
    return [make(grid, size, padding_mode, align_corners) for size in reversed(input.shape[2:])]


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
        return ops.aten.masked_fill(clipped, clipped.isnan(), 0)

    def slope(self, place: Tensor) -> Tensor:
        """How fast `within` moves with the grid's coordinate, where it is unpadded at `place`."""
        scale = (self.size - 1 if self.align_corners else self.size) / 2
        if self.padding_mode == ZEROS:
            return ops.aten.full_like(place, scale)
        made = ops.aten.full_like(place, scale)
        if self.padding_mode == REFLECTION:
            span, low = (self.size - 1, 0.0) if self.align_corners else (self.size, -0.5)
            if not span:
                return place.mul(0)
            is_turned = ((place - low).abs() / span).floor().remainder(2).ne(0)
            made = ops.aten.where.self(is_turned.logical_xor(place.lt(low)), -made, made)
            place = self._mirrored(place)
        is_inside = place.gt(0).logical_and(place.lt(self.size - 1))
        return ops.aten.where.ScalarOther(is_inside, made, 0)

    def _mirrored(self, place: Tensor) -> Tensor:
        span, low = (self.size - 1, 0.0) if self.align_corners else (self.size, -0.5)
        if not span:
            return place.mul(0)
        twice = self._number(2 * span)
        distance = (place - low).abs()
        rest = distance - (distance / twice).trunc() * twice
        return ops.aten.minimum(rest, twice - rest) + low


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
        return ops.aten.where(is_turned, width - rest + low, rest + low)


def _found(image: Tensor, axes: Sequence[_Axis], places: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Where in (N, C, *) whole places are, x first, and which of them are beyond the image."""
    found, inside = None, None
    for axis, place in reversed(list(zip(axes, places, strict=True))):
        is_inside = place.ge(0).logical_and(place.lt(axis.size))
        index = place.masked_fill(is_inside.logical_not(), 0).to(_INT64)
        found = index if found is None else found * axis.size + index
        inside = is_inside if inside is None else inside.logical_and(is_inside)
    assert found is not None
    assert inside is not None
    samples, channels = image.shape[:2]
    flat = found.reshape((samples, 1, math.prod(found.shape[1:]))).expand((-1, channels, -1))
    return flat, inside.logical_not().unsqueeze(1)


def _elements(
    image: Tensor, axes: Sequence[_Axis], places: Sequence[Tensor], weight: Tensor | None = None
) -> Tensor:
    """(N, C, *) at whole places, x first, times a weight; 0 beyond the image.

    There a weight that is no number shows, as by torch, but in volumes.
    """
    flat, beyond = _found(image, axes, places)
    shape = (*image.shape[:2], *places[0].shape[1:])
    found = image.gather(2, flat).reshape(shape).masked_fill(beyond, 0)
    if weight is None:
        return found
    weighed: Tensor = found * weight.unsqueeze(1)
    return weighed if len(axes) == 2 else weighed.masked_fill(beyond, 0)


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
        term = _elements(image, axes, [place for place, _ in nearest_first], weight)
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
            term = _elements(image, axes, (column, row), weight)
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


class _Neighbour(NamedTuple):
    """One neighbour of each point in one dimension; how its weight grows with the coordinate."""

    place: Tensor
    weight: Tensor
    slope: Tensor


def gradients_in_steps(
    gradient: Tensor,
    input: Tensor,
    grid: Tensor,
    mode: int,
    padding_mode: int,
    align_corners: bool,
    of_image: bool,
) -> tuple[Tensor | None, Tensor]:
    """The gradients of `sampled_in_steps` for the image, if it is wanted, and for the grid."""
    axes = _axes(input, grid, padding_mode, align_corners, _AxisOfVolume)
    image = input.reshape((*input.shape[:2], math.prod(input.shape[2:])))
    spread = image.new_zeros(image.shape)
    moved = [grid.new_zeros(grid.shape[:-1]) for _ in axes]
    ends = [_neighbours(axis, grid.select(-1, one), mode) for one, axis in enumerate(axes)]
    for corner in itertools.product(*reversed(ends)):
        nearest_first = corner[::-1]
        flat, beyond = _found(image, axes, [one.place for one in nearest_first])
        reached = gradient.masked_fill(beyond, 0)
        if of_image:
            weight = _product([one.weight for one in nearest_first])
            share = (reached * weight.unsqueeze(1)).masked_fill(beyond, 0)
            spread = ops.aten.scatter_add(spread, 2, flat, share.reshape(flat.shape))
        seen = image.gather(2, flat).reshape(gradient.shape).masked_fill(beyond, 0)
        value = (reached * seen).sum([1])
        is_left_out = beyond.squeeze(1) if len(axes) == 3 else None
        for own, total in enumerate(moved):
            factors = [
                other.slope if own == at else other.weight for at, other in enumerate(nearest_first)
            ]
            moving = value * _product(factors)
            if is_left_out is not None:
                moving = moving.masked_fill(is_left_out, 0)
            moved[own] = total + moving
    return (spread.reshape(input.shape) if of_image else None), ops.aten.stack(moved, -1)


def _product(factors: Sequence[Tensor]) -> Tensor:
    return functools.reduce(operator.mul, factors)


def _neighbours(axis: _Axis, coordinate: Tensor, mode: int) -> list[_Neighbour]:
    place = axis.unnormalized(coordinate)
    if mode == NEAREST:
        one, none = place.new_full((), 1).expand(place.shape), place.new_zeros(place.shape)
        return [_Neighbour(axis.within(place).round(), one, none)]
    if mode == BILINEAR:
        slope = axis.slope(place)
        place = axis.within(place)
        low = place.floor()
        rest = place - low
        return [_Neighbour(low, 1 - rest, -slope), _Neighbour(low + 1, rest, slope)]
    low = place.floor()
    rest = place - low
    scale = (axis.size - 1 if axis.align_corners else axis.size) / 2
    return [
        _Neighbour(axis.within(low + (at - 1)), weight, slope * scale)
        for at, (weight, slope) in enumerate(zip(_weights(rest), _slopes(rest), strict=True))
    ]


def _slopes(rest: Tensor) -> list[Tensor]:
    """The derivatives of `_weights`."""
    other = 1 - rest
    return [_far_slope(rest + 1), _near_slope(rest), -_near_slope(other), -_far_slope(other + 1)]


def _near_slope(distance: Tensor) -> Tensor:
    return (3 * (_SLOPE + 2) * distance - 2 * (_SLOPE + 3)) * distance


def _far_slope(distance: Tensor) -> Tensor:
    return (3 * _SLOPE * distance - 10 * _SLOPE) * distance + 8 * _SLOPE

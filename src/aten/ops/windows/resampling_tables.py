"""Which neighbours make each place of a resized dimension, and with what weights.

Places are found in float64 for float64 images and in float32 for others, as users of torch expect:
near the middle between two elements the type decides which is the nearest.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar, cast

from aten._core.base.device import device
from aten._core.base.dtypes import DTYPES, dtype
from aten._core.tensor.tensor import Tensor
from aten.registry import ops

_CPU = device("cpu")
_FLOAT32, _INT64 = DTYPES["float32"], DTYPES["int64"]
Found = TypeVar("Found")

# As many results as have their tables kept, and as can be had.
_KEPT, _MOST = 1 << 14, 1 << 40
# Taps of the interpolating kernels.
LINEAR, CUBIC = 2, 4
# Keys, Cubic convolution interpolation (1981): the slope at one, plain and for antialiasing.
_SLOPE, _ANTIALIASED_SLOPE = -0.75, -0.5
# Bits of a weight, and of a weight's fraction at most, in sums of bytes.
_WEIGHT_BITS, _FRACTION_BITS = 15, 22


class Table(NamedTuple):
    """Neighbours of each result: where they begin, how many, their weights (results, taps)."""

    begins: Tensor
    counts: Tensor
    weights: Tensor
    precision: int  # bits after the point of 16-bit weights


def _rounded(value: float, element: dtype) -> float:
    """The number of the type that is nearest to `value`."""
    if element.name == "float64":
        return float(value)
    return float(struct.unpack("f", struct.pack("f", value))[0])


def _ratio(
    size: int, wanted: int, align_corners: bool, factor: float | None, element: dtype
) -> float:
    """The distance of results, in elements."""
    sizes: tuple[float, float] = (size, wanted)
    if align_corners:
        if wanted <= 1:
            return 0.0
        sizes = (size - 1, wanted - 1)
    elif factor is not None and factor > 0:
        return _rounded(1.0 / factor, element)
    return _rounded(_rounded(sizes[0], element) / _rounded(sizes[1], element), element)


def _numbers(count: int, element: dtype) -> Tensor:
    """0, 1, …, count - 1."""
    made: Tensor = ops.aten.arange(count, dtype=_INT64, device=_CPU)
    return made.to(element)


def for_results(make: Callable[..., Found], size: int, wanted: int, *options: Any) -> Found:
    """`make` one of the tables of this file; those of common sizes are kept for the next call.

    Raises MemoryError for more results than any memory has room for.
    """
    if wanted > _MOST:
        raise MemoryError(f"upsample: no memory for {wanted} places")
    if wanted > _KEPT:
        return make(size, wanted, *options)
    return cast(Found, _kept_table(make, size, wanted, *options))


@lru_cache(maxsize=512)
def _kept_table(make: Callable[..., Any], *options: Any) -> Any:
    return make(*options)


def nearest_places(
    size: int, wanted: int, factor: float | None, exact: bool, whole: bool, element: str
) -> Tensor:
    """For each of `wanted` results the nearest of `size` elements: its corner's, or its centre's.

    `whole` says that a factor yields to sizes that are the same, or twice as much. `element` names
    the type to compute in.
    """
    if whole and wanted in (size, 2 * size):
        factor = None
    real = DTYPES[element]
    ratio = _ratio(size, wanted, False, factor, real)
    places = _numbers(wanted, real)
    places = ((places + 0.5) * ratio - 0.5).clamp(0) + 0.5 if exact else places * ratio
    # Whatever the type that is computed in, the last step is of float32.
    return places.to(_FLOAT32).floor().clamp(None, size - 1).to(_INT64)


def interpolation_table(
    size: int,
    wanted: int,
    taps: int,
    align_corners: bool,
    factor: float | None,
    antialias: bool,
    element: str,
    keeps: bool = True,
) -> Table:
    """Neighbours for linear (`taps` 2) or cubic (4) interpolation from `size` to `wanted` elements.

    Weights beyond the border count for the element there. With `antialias` the kernel is as wide
    as a result, where that is wider, and cut off at the border. `element` is the image's type;
    "uint8" has weights of 16 bits. `keeps` says that as many results as elements are the elements.
    """
    real = DTYPES["float64" if element == "uint8" else element]
    if keeps and size == wanted and (taps == LINEAR or antialias or element == "uint8"):
        # What keeps its size is kept, whatever factor led there.
        align_corners, factor = False, None
    ratio = _ratio(size, wanted, align_corners, factor, real)
    places = _numbers(wanted, real)
    if antialias:
        begins, counts, weights = _antialiased(places, ratio, size, taps)
    else:
        middle = 0.0 if align_corners else 0.5
        places = (places + middle) * ratio - middle
        if taps == LINEAR:
            places = places.clamp(0)
        begins, counts, weights = _interpolating(places, size, taps)
    precision = 0
    if element == "uint8":
        precision, weights = _fixed_point(weights)
    return Table(begins, counts, weights.contiguous(), precision)


def _interpolating(places: Tensor, size: int, taps: int) -> tuple[Tensor, Tensor, Tensor]:
    floors = places.floor().clamp(None, size - 1)
    shares = (places - floors).clamp(0, 1)
    first = floors.to(_INT64) - (taps // 2 - 1)
    wanted = first.unsqueeze(1) + _numbers(taps, _INT64)
    if taps == LINEAR:
        weighed = ops.aten.stack((1 - shares, shares), 1)
    else:
        distances = (shares.unsqueeze(1) - (_numbers(taps, shares.dtype) - 1)).abs()
        weighed = _cubic(distances, _SLOPE)
    begins = first.clamp(0, size - 1)
    counts = (first + (taps - 1)).clamp(0, size - 1) - begins + 1
    weights = ops.aten.zeros_like(weighed)
    weights.scatter_add_(1, wanted.clamp(0, size - 1) - begins.unsqueeze(1), weighed)
    return begins, counts, weights


def _antialiased(
    places: Tensor, ratio: float, size: int, taps: int
) -> tuple[Tensor, Tensor, Tensor]:
    real = places.dtype
    reach = _rounded(taps / 2 * max(ratio, 1.0), real)
    inverse = _rounded(1.0 / max(ratio, 1.0), real)
    centres = (places + 0.5) * ratio
    begins = (centres - reach + 0.5).to(_INT64).clamp(0)
    counts = (centres + reach + 0.5).to(_INT64).clamp(None, size) - begins
    counts = counts.clamp(0, math.ceil(reach) * 2 + 1)
    offsets = _numbers(max(int(counts.max()), 1) if counts.numel() else 1, _INT64)
    steps = (offsets + begins.unsqueeze(1)).to(real) - centres.unsqueeze(1) + 0.5
    distances = (steps * inverse).abs()
    weights = (1 - distances).clamp(0) if taps == LINEAR else _cubic(distances, _ANTIALIASED_SLOPE)
    weights = ops.aten.where(offsets < counts.unsqueeze(1), weights, 0.0)
    totals = weights.sum([1], True)
    return begins, counts, weights / ops.aten.where(totals == 0, 1.0, totals)


def _cubic(distances: Tensor, slope: float) -> Tensor:
    """The cubic convolution kernel at distances of zero to two; nothing farther away."""
    near = (distances * (slope + 2) - (slope + 3)) * distances * distances + 1
    far = (((distances - 5) * distances + 8) * distances - 4) * slope
    outside = ops.aten.where(distances < 2, far, 0.0)
    return ops.aten.where(distances <= 1, near, outside)


def _fixed_point(weights: Tensor) -> tuple[int, Tensor]:
    """Weights as 16-bit integers with as many bits after the point as the largest leaves room for.

    As in the resizing of bytes by Pillow.
    """
    largest = max(float(weights.max()), 0.0) if weights.numel() else 0.0
    precision = 0
    while precision < _FRACTION_BITS and int(0.5 + largest * (1 << (precision + 1))) < (
        1 << _WEIGHT_BITS
    ):
        precision += 1
    scaled = weights * (1 << precision)
    rounded = (scaled + ops.aten.where(scaled < 0, -0.5, 0.5)).trunc()
    return precision, rounded.to(DTYPES["int16"])

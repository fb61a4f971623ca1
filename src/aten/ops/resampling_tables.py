"""Which neighbours make each place of a resized dimension, and with what weights.

Places are found in float64 for float64 images and in float32 for others, as users of torch expect:
near the middle between two elements the type decides which is the nearest.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from aten._core.construct import from_array_interface
from aten._core.tensor import Tensor

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


def _ratio(size: int, wanted: int, align_corners: bool, factor: float | None, real: Any) -> Any:
    """The distance of results, in elements."""
    if align_corners:
        return real(size - 1) / real(wanted - 1) if wanted > 1 else real(0)
    if factor is not None and factor > 0:
        return real(1.0 / factor)
    return real(size) / real(wanted)


@lru_cache(maxsize=256)
def nearest_places(
    size: int, wanted: int, factor: float | None, exact: bool, whole: bool, element: str
) -> Tensor:
    """For each of `wanted` results the nearest of `size` elements: its corner's, or its centre's.

    `whole` says that a factor yields to sizes that are the same, or twice as much. `element` names
    the type to compute in.
    """
    import numpy

    if whole and wanted in (size, 2 * size):
        factor = None
    real = numpy.dtype(element).type
    ratio = _ratio(size, wanted, False, factor, real)
    places = numpy.arange(wanted).astype(real)
    if exact:
        places = numpy.maximum((places + real(0.5)) * ratio - real(0.5), 0) + real(0.5)
    else:
        places = places * ratio
    return from_array_interface(numpy.minimum(numpy.floor(places), size - 1).astype("int64"))


@lru_cache(maxsize=256)
def interpolation_table(
    size: int,
    wanted: int,
    taps: int,
    align_corners: bool,
    factor: float | None,
    antialias: bool,
    element: str,
) -> Table:
    """Neighbours for linear (`taps` 2) or cubic (4) interpolation from `size` to `wanted` elements.

    Weights beyond the border count for the element there. With `antialias` the kernel is as wide
    as a result, where that is wider, and cut off at the border. `element` is the image's type;
    "uint8" has weights of 16 bits.
    """
    import numpy

    real = numpy.dtype("float64" if element == "uint8" else element).type
    if size == wanted and (taps == LINEAR or antialias or element == "uint8"):
        # What keeps its size is kept, whatever factor led there.
        align_corners, factor = False, None
    ratio = _ratio(size, wanted, align_corners, factor, real)
    places = numpy.arange(wanted).astype(real)
    if antialias:
        begins, counts, weights = _antialiased(places, ratio, size, taps)
    else:
        middle = real(0 if align_corners else 0.5)
        places = (places + middle) * ratio - middle
        if taps == LINEAR:
            places = numpy.maximum(places, 0)
        begins, counts, weights = _interpolating(places, size, taps)
    precision = 0
    if element == "uint8":
        precision, weights = _fixed_point(weights)
    return Table(
        from_array_interface(begins.astype("int64")),
        from_array_interface(counts.astype("int64")),
        from_array_interface(numpy.ascontiguousarray(weights)),
        precision,
    )


def _interpolating(places: Any, size: int, taps: int) -> tuple[Any, Any, Any]:
    import numpy

    first = numpy.minimum(numpy.floor(places), size - 1)
    shares = (places - first).clip(0, 1)
    first = first.astype("int64") - (taps // 2 - 1)
    wanted = first[:, None] + numpy.arange(taps)
    if taps == LINEAR:
        weighed = numpy.stack([1 - shares, shares], 1)
    else:
        distances = numpy.abs(shares[:, None] - numpy.arange(-1, 3).astype(shares.dtype))
        weighed = _cubic(distances, _SLOPE)
    begins = first.clip(0, size - 1)
    counts = (first + taps - 1).clip(0, size - 1) - begins + 1
    weights = numpy.zeros(wanted.shape, shares.dtype)
    rows = numpy.arange(len(places))[:, None]
    numpy.add.at(weights, (rows, wanted.clip(0, size - 1) - begins[:, None]), weighed)
    return begins, counts, weights


def _antialiased(places: Any, ratio: Any, size: int, taps: int) -> tuple[Any, Any, Any]:
    import numpy

    real = type(ratio)
    reach = real(taps / 2) * max(ratio, real(1))
    inverse = real(1) / max(ratio, real(1))
    centres = ratio * (places + real(0.5))
    begins = numpy.maximum((centres - reach + real(0.5)).astype("int64"), 0)
    counts = numpy.minimum((centres + reach + real(0.5)).astype("int64"), size) - begins
    counts = counts.clip(0, int(numpy.ceil(reach)) * 2 + 1)
    offsets = numpy.arange(max(int(counts.max(initial=0)), 1))
    steps = (offsets + begins[:, None]).astype(real) - centres[:, None] + real(0.5)
    distances = numpy.abs(steps * inverse)
    if taps == LINEAR:
        weights = numpy.maximum(1 - distances, 0)
    else:
        weights = _cubic(distances, _ANTIALIASED_SLOPE)
    weights[offsets >= counts[:, None]] = 0
    totals = weights.sum(1, keepdims=True)
    return begins, counts, weights / numpy.where(totals == 0, 1, totals)


def _cubic(distances: Any, slope: float) -> Any:
    """The cubic convolution kernel at distances of zero to two; nothing farther away."""
    import numpy

    near = ((slope + 2) * distances - (slope + 3)) * distances * distances + 1
    far = (((distances - 5) * distances + 8) * distances - 4) * slope
    weights = numpy.where(distances <= 1, near, numpy.where(distances < 2, far, 0))
    return weights.astype(distances.dtype)


def _fixed_point(weights: Any) -> tuple[int, Any]:
    """Weights as 16-bit integers with as many bits after the point as the largest leaves room for.

    As in the resizing of bytes by Pillow.
    """
    import numpy

    largest = float(weights.max(initial=0))
    precision = 0
    while precision < _FRACTION_BITS and int(0.5 + largest * (1 << (precision + 1))) < (
        1 << _WEIGHT_BITS
    ):
        precision += 1
    scaled = weights * (1 << precision)
    return precision, numpy.trunc(scaled + numpy.copysign(0.5, scaled)).astype("int16")

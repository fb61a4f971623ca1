"""Images of one to three dimensions resized."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten._core.base.device import MEMORY_FORMATS
from aten._core.base.dtypes import DTYPES
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.memory.conversion import wide
from aten.ops.memory_order import suggested_format
from aten.ops.requirements import refusal
from aten.ops.windows.resampling_tables import (
    CUBIC,
    LINEAR,
    Table,
    for_results,
    interpolation_table,
    nearest_places,
)
from aten.registry import ops

_CHANNELS_LAST = {2: MEMORY_FORMATS["channels_last"], 3: MEMORY_FORMATS["channels_last_3d"]}
# Height and width of small results, added.
_SMALL_SIZES = 128
_HALF_TYPES = ("float16", "bfloat16")
_INT32 = DTYPES["int32"]
Factors = Sequence[float | None]


def _check(name: str, self: Tensor, output_size: Sequence[int], rank: int) -> None:
    if len(output_size) != rank:
        raise RuntimeError(
            f"It is expected output_size equals to {rank}, but got size {len(output_size)}"
        )
    if self.dim() != rank + 2 or 0 in self.shape[1:]:
        raise RuntimeError(
            f"{name}: Non-empty {rank + 2}D data tensor expected but got a tensor with sizes "
            f"{list(self.shape)}"
        )
    if min(output_size) <= 0:
        raise RuntimeError(
            f"{name}: input and output sizes should be greater than 0, but got input "
            f"{list(self.shape[2:])} and output {list(output_size)}"
        )


def passes(
    self: Tensor,
    output_size: Sequence[int],
    resize: Callable[[Tensor, int, int, int], Tensor],
    resize_planes: Callable[[Tensor, int], Tensor] | None = None,
) -> Tensor:
    """`resize(image, dim, wanted, place)` along every dimension, the last one first.

    `resize_planes(image, dim)` does so along `dim` and the one behind it. Runs on the elements in
    the order in which they lie, so that results have it, too.
    """
    rank = left = len(output_size)
    behind = suggested_format(self) is not None
    image = self.permute(0, *range(2, rank + 2), 1) if behind else self
    first = 1 if behind else 2
    if resize_planes is not None and rank >= 2:
        left -= 2
        image = resize_planes(image, first + left)
    for place in range(left - 1, -1, -1):
        image = resize(image, first + place, output_size[place], place)
    return image.permute(0, rank + 1, *range(1, rank + 1)) if behind else image


def _copies_pixels(self: Tensor, output_size: Sequence[int]) -> bool:
    """Whether torch takes the kernel that copies all channels of a pixel at once.

    It rounds places in a way of its own.
    """
    if len(output_size) == 2 and sum(output_size) <= _SMALL_SIZES:
        return True
    order = _CHANNELS_LAST.get(len(output_size))
    return order is not None and self.shape[1] > 3 and self.is_contiguous(order)


def places_of(
    name: str, self: Tensor, output_size: Sequence[int], factors: Factors, exact: bool
) -> list[Tensor]:
    """The nearest element of each result, in each dimension.

    Raises RuntimeError for sizes, NotImplementedError for dtypes that do not go together.
    """
    _check(name, self, output_size, len(factors))
    if not self.is_floating_point() and self.dtype.name != "uint8":
        raise refusal("compute_indices_weights_nearest", self.dtype)
    pixels = _copies_pixels(self, output_size)
    real = "float64" if self.dtype.name == "float64" and not pixels else "float32"
    return [
        for_results(nearest_places, size, wanted, factor, exact, pixels and not exact, real)
        for size, wanted, factor in zip(self.shape[2:], output_size, factors, strict=True)
    ]


def _nearest(
    name: str, self: Tensor, output_size: Sequence[int], factors: Factors, exact: bool
) -> Tensor:
    places = places_of(name, self, output_size, factors, exact)

    def resize(image: Tensor, dim: int, wanted: int, place: int) -> Tensor:
        return ops.aten.index_select.default(image, dim, places[place].to(image.device))

    return passes(self, output_size, resize)


def tables_of(
    name: str,
    self: Tensor,
    output_size: Sequence[int],
    align_corners: bool,
    factors: Factors,
    taps: int,
) -> list[Table]:
    """The weights of neighbours in each dimension, of the type that is computed in.

    Raises RuntimeError for sizes, NotImplementedError for dtypes that do not go together.
    """
    antialias = name.endswith("_aa")
    _check(name, self, output_size, len(factors))
    changes = tuple(output_size) != tuple(self.shape[2:])
    half = self.dtype.name in _HALF_TYPES
    taken = self.is_floating_point() and not (antialias and half and changes)
    if not taken and not (self.dtype.name == "uint8" and len(factors) == 2):
        raise refusal(name, self.dtype)
    element = "float32" if half else self.dtype.name
    return [
        for_results(interpolation_table, size, wanted, taps, align_corners, by, antialias, element)
        for size, wanted, by in zip(self.shape[2:], output_size, factors, strict=True)
    ]


def _interpolated(name: str, self: Tensor, output_size: Sequence[int], *options: Any) -> Tensor:
    tables = tables_of(name, self, output_size, *options)

    def resize(image: Tensor, dim: int, wanted: int, place: int) -> Tensor:
        return _weighed(image, dim, wanted, tables[place])

    return passes(wide(self), output_size, resize).to(self.dtype)


def _weighed(image: Tensor, dim: int, wanted: int, table: Table) -> Tensor:
    """Sums of neighbours times their weights; integers in fixed point, rounded."""
    begins, counts, weights, precision = table
    taps = weights.shape[1]
    offsets = ops.aten.arange(taps, dtype=begins.dtype, device=begins.device)
    places = (begins.unsqueeze(1) + offsets).clamp(None, image.shape[dim] - 1).reshape((-1,))
    sizes = (*image.shape[:dim], wanted, taps, *image.shape[dim + 1 :])
    seen = ops.aten.index_select(image, dim, places.to(image.device)).reshape(sizes)
    line = (wanted, taps, *(1 for _ in sizes[dim + 2 :]))
    beyond = offsets.ge(counts.unsqueeze(1)).reshape(line).to(image.device)
    factors = weights.reshape(line).to(image.device)
    # What is no neighbour may be infinite.
    seen = seen.masked_fill(beyond, 0)
    if image.is_floating_point():
        weighed: Tensor = seen * factors
        return weighed.sum([dim + 1])
    terms = seen.to(_INT32) * factors
    half = 1 << (precision - 1) if precision else 0
    total = terms.sum([dim + 1], dtype=_INT32) + half
    made: Tensor = (total >> precision).clamp(0, 255)
    return made.to(image.dtype)


@op("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d")
def upsample_nearest(
    called: OpOverload, self: Tensor, output_size: Sequence[int], *factors: float | None
) -> Tensor:
    """(N, C, *) to `output_size` by repeating or leaving out elements.

    Each result is the element that its corner falls on. Raises RuntimeError for other ranks and
    empty sizes, NotImplementedError for dtypes other than floating ones and uint8.
    """
    return _nearest(called.name, self, output_size, factors, exact=False)


@op("_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d")
def upsample_nearest_exact(
    called: OpOverload, self: Tensor, output_size: Sequence[int], *factors: float | None
) -> Tensor:
    """`upsample_nearest`, but each result is the element that its centre falls on."""
    return _nearest(called.name, self, output_size, factors, exact=True)


@op("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d", "_upsample_bilinear2d_aa")
def upsample_linear(
    called: OpOverload,
    self: Tensor,
    output_size: Sequence[int],
    align_corners: bool,
    *factors: float | None,
) -> Tensor:
    """(N, C, *) to `output_size` by weighing the two nearest elements in each dimension.

    With antialiasing (`_aa`), all elements that a smaller result covers. Raises RuntimeError for
    other ranks and for empty sizes, NotImplementedError for dtypes other than floating ones and, in
    two dimensions, uint8.
    """
    return _interpolated(called.name, self, output_size, align_corners, factors, LINEAR)


@op("upsample_bicubic2d", "_upsample_bicubic2d_aa")
def upsample_bicubic2d(
    called: OpOverload,
    self: Tensor,
    output_size: Sequence[int],
    align_corners: bool,
    *factors: float | None,
) -> Tensor:
    """`upsample_linear` with the four nearest elements in each dimension."""
    return _interpolated(called.name, self, output_size, align_corners, factors, CUBIC)


def _output_size(
    input: Tensor, output_size: Sequence[int] | None, scale_factors: Sequence[float] | None
) -> list[int]:
    """Sizes given, or by factors; exactly one of the two must be."""
    if (output_size is None) == (scale_factors is None):
        raise RuntimeError("Must specify exactly one of output_size and scale_factors")
    if output_size is not None:
        return list(output_size)
    assert scale_factors is not None
    if len(scale_factors) != input.dim() - 2:
        raise RuntimeError(
            f"expected {input.dim() - 2} scale_factors, but got {len(scale_factors)}"
        )
    return [int(size * factor) for size, factor in zip(input.shape[2:], scale_factors, strict=True)]


@op(
    "upsample_nearest1d.vec",
    "upsample_nearest2d.vec",
    "upsample_nearest3d.vec",
    "_upsample_nearest_exact1d.vec",
    "_upsample_nearest_exact2d.vec",
    "_upsample_nearest_exact3d.vec",
    "upsample_linear1d.vec",
    "upsample_bilinear2d.vec",
    "upsample_trilinear3d.vec",
    "upsample_bicubic2d.vec",
    "_upsample_bilinear2d_aa.vec",
    "_upsample_bicubic2d_aa.vec",
)
def upsample_by_size_or_factor(
    called: OpOverload, input: Tensor, output_size: Sequence[int] | None, *options: Any
) -> Tensor:
    """The operator of the same name, with sizes given, or as factors of the input's."""
    *align_corners, scale_factors = options
    sizes = _output_size(input, output_size, scale_factors)
    resize = called.overloadpacket.default
    factors = scale_factors or [None] * len(sizes)
    return resize(input, sizes, *align_corners, *factors)  # type: ignore[no-any-return]

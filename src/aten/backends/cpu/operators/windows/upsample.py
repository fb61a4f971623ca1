"""The CPU's interpolation of images; the loops are in kernels/windows/resampling.pyx."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from aten._core.base.device import device
from aten._core.base.dtypes import DTYPES
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.windows.resampling import repeat_planes, weigh, weigh_planes
from aten.ops.definition import op
from aten.ops.memory.conversion import wide
from aten.ops.memory_order import suggested_format
from aten.ops.windows.resampling_tables import CUBIC, LINEAR
from aten.ops.windows.upsample import passes, places_of, tables_of
from aten.registry import ops

_META = device("meta")
# As many results as have their tables kept.
_KEPT = 1 << 14
# Sizes of the result, whether elements are repeated, and tables of each dimension, the last first.
Prepared = tuple[tuple[int, ...], bool, tuple[Any, ...]]


@lru_cache(maxsize=256)
def prepared(
    name: str, is_double: bool, shape: tuple[int, ...], sizes: Sequence[int], *options: Any
) -> Prepared | None:
    """What the compiled kernel for ordinary calls asks for; None for what is refused, and for large
    results. `options` are the operator's arguments behind the sizes."""
    if not sizes or max(sizes) > _KEPT:
        return None
    element = DTYPES["float64" if is_double else "float32"]
    image = ops.aten.empty.memory_format(shape, dtype=element, device=_META)
    results = (*shape[:2], *sizes)
    try:
        if "nearest" in name:
            down, across = places_of(name, image, sizes, options, "exact" in name)
            return results, True, (across, down)
        taps = CUBIC if "cubic" in name else LINEAR
        tables = tables_of(name, image, sizes, options[0], options[1:], taps)
    except RuntimeError:
        return None
    return results, False, tuple(table[:3] for table in reversed(tables))


def _interpolated(name: str, self: Tensor, output_size: Sequence[int], *options: Any) -> Tensor:
    tables = tables_of(name, self, output_size, *options)
    source = wide(self)

    def resize(image: Tensor, dim: int, wanted: int, place: int) -> Tensor:
        sizes = list(image.shape)
        sizes[dim] = wanted
        out: Tensor = ops.aten.empty.memory_format(sizes, dtype=image.dtype)
        weigh(image.contiguous(), out, dim, *tables[place])
        return out

    def resize_planes(image: Tensor, dim: int) -> Tensor:
        sizes = [*image.shape[:dim], *output_size[-2:], *image.shape[dim + 2 :]]
        out: Tensor = ops.aten.empty.memory_format(sizes, dtype=image.dtype)
        weigh_planes(image.contiguous(), out, dim, tables[-1][:3], tables[-2][:3])
        return out

    planes = resize_planes if source.is_floating_point() else None
    return passes(source, output_size, resize, planes).to(self.dtype)


@op("upsample_nearest2d", "_upsample_nearest_exact2d")
def upsample_nearest2d(
    called: OpOverload, self: Tensor, output_size: Sequence[int], *factors: float | None
) -> Tensor:
    """(N, C, H, W) to `output_size` by repeating or leaving out elements."""
    down, across = places_of(called.name, self, output_size, factors, "exact" in called.name)
    if suggested_format(self) is not None:
        return _repeated(self.permute(0, 2, 3, 1), across, down).permute(0, 3, 1, 2)
    planes = self.contiguous().view((-1, *self.shape[2:]))
    return _repeated(planes, across, down).view((*self.shape[:2], *output_size))


def _repeated(images: Tensor, across: Tensor, down: Tensor) -> Tensor:
    """(N, H, W, *) with lines `down` and elements `across` of each."""
    sizes = (images.shape[0], down.numel(), across.numel(), *images.shape[3:])
    out: Tensor = ops.aten.empty.memory_format(sizes, dtype=images.dtype)
    repeat_planes(images.contiguous(), out, across, down)
    return out


@op("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d", "_upsample_bilinear2d_aa")
def upsample_linear(
    called: OpOverload,
    self: Tensor,
    output_size: Sequence[int],
    align_corners: bool,
    *factors: float | None,
) -> Tensor:
    """(N, C, *) to `output_size` by weighing the two nearest elements in each dimension."""
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

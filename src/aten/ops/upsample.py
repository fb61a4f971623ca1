"""Images resized to other heights and widths."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from aten._core.construct import on_device, tensor_from_data
from aten._core.dtypes import DTYPES, dtype
from aten._core.tensor import Tensor
from aten.ops.definition import op
from aten.registry import ops

_HALF_TYPES = ("float16", "bfloat16")


def _check(name: str, self: Tensor, output_size: Sequence[int]) -> None:
    if len(output_size) != 2:
        raise RuntimeError(
            f"It is expected output_size equals to 2, but got size {len(output_size)}"
        )
    if self.dim() != 4 or 0 in self.shape[1:]:
        raise RuntimeError(
            f"{name}: Non-empty 4D data tensor expected but got a tensor with sizes "
            f"{list(self.shape)}"
        )
    if min(output_size) <= 0:
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input (H: {self.shape[2]}, "
            f"W: {self.shape[3]}) output (H: {output_size[0]}, W: {output_size[1]})"
        )


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


def _ratio(size: int, wanted: int, factor: float | None) -> float:
    return 1.0 / factor if factor is not None and factor > 0 else size / wanted


@lru_cache(maxsize=256)
def _nearest(size: int, wanted: int, factor: float | None) -> tuple[int, ...]:
    """The input for each place; the factor yields to sizes that are the same, or twice as much."""
    if wanted in (size, 2 * size):
        factor = None
    ratio = _ratio(size, wanted, factor)
    return tuple(min(int(place * ratio), size - 1) for place in range(wanted))


@lru_cache(maxsize=256)
def _neighbours(
    size: int, wanted: int, align_corners: bool, factor: float | None
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[float, ...]]:
    """For each place, the inputs before and after it, and the share of the second.

    The factor yields to sizes that are the same.
    """
    if wanted == size:
        factor = None
    if align_corners:
        ratio = (size - 1) / (wanted - 1) if wanted > 1 else 0.0
        places = [ratio * place for place in range(wanted)]
    else:
        ratio = _ratio(size, wanted, factor)
        places = [max(ratio * (place + 0.5) - 0.5, 0.0) for place in range(wanted)]
    before = tuple(min(int(place), size - 1) for place in places)
    after = tuple(min(first + 1, size - 1) for first in before)
    shares = tuple(
        min(max(place - first, 0.0), 1.0) for place, first in zip(places, before, strict=True)
    )
    return before, after, shares


def _vector(values: Sequence[float], element: dtype, like: Tensor) -> Tensor:
    return on_device(tensor_from_data(values, element), like.device)


def _interpolated(
    self: Tensor, dim: int, wanted: int, align_corners: bool, factor: float | None
) -> Tensor:
    before, after, shares = _neighbours(self.shape[dim], wanted, align_corners, factor)
    first = ops.aten.index_select.default(self, dim, _vector(before, DTYPES["int64"], self))
    second = ops.aten.index_select.default(self, dim, _vector(after, DTYPES["int64"], self))
    share = _vector(shares, self.dtype, self)
    if dim == 2:
        share = share.unsqueeze(-1)
    return ops.aten.addcmul.default(first * (1 - share), second, share)  # type: ignore[no-any-return]


@op("upsample_bilinear2d")
def upsample_bilinear2d(
    self: Tensor,
    output_size: Sequence[int],
    align_corners: bool,
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Tensor:
    """(N, C, H, W) to `output_size` by weighing the four nearest elements.

    Raises RuntimeError for other ranks and for empty sizes.
    """
    _check("upsample_bilinear2d", self, output_size)
    if not self.is_floating_point():
        raise NotImplementedError(
            f"\"upsample_bilinear2d\" not implemented for '{self.dtype.scalar_type_name}'"
        )
    wide = self.dtype.name in _HALF_TYPES
    source = self.to(DTYPES["float32"]) if wide else self
    lines = _interpolated(source, 3, output_size[1], align_corners, scales_w)
    result = _interpolated(lines, 2, output_size[0], align_corners, scales_h)
    return result.to(self.dtype) if wide else result


@op("upsample_bilinear2d.vec")
def upsample_bilinear2d_vec(
    input: Tensor,
    output_size: Sequence[int] | None,
    align_corners: bool,
    scale_factors: Sequence[float] | None,
) -> Tensor:
    sizes = _output_size(input, output_size, scale_factors)
    return ops.aten.upsample_bilinear2d.default(  # type: ignore[no-any-return]
        input, sizes, align_corners, *(scale_factors or (None, None))
    )


@op("upsample_nearest2d")
def upsample_nearest2d(
    self: Tensor,
    output_size: Sequence[int],
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Tensor:
    """(N, C, H, W) to `output_size` by repeating elements.

    Raises RuntimeError for other ranks and for empty sizes.
    """
    _check("upsample_nearest2d", self, output_size)
    rows = _nearest(self.shape[2], output_size[0], scales_h)
    columns = _nearest(self.shape[3], output_size[1], scales_w)
    select = ops.aten.index_select.default
    lines = select(self, 3, _vector(columns, DTYPES["int64"], self))
    return select(lines, 2, _vector(rows, DTYPES["int64"], self))  # type: ignore[no-any-return]


@op("upsample_nearest2d.vec")
def upsample_nearest2d_vec(
    input: Tensor, output_size: Sequence[int] | None, scale_factors: Sequence[float] | None
) -> Tensor:
    sizes = _output_size(input, output_size, scale_factors)
    return ops.aten.upsample_nearest2d.default(  # type: ignore[no-any-return]
        input, sizes, *(scale_factors or (None, None))
    )

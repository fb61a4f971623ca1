"""Images read at given points; the loops are in _core/resampling.pyx."""

from __future__ import annotations

from collections.abc import Sequence

from aten._core.dispatcher import OpOverload
from aten._core.dtypes import DTYPES
from aten._core.resampling import sample, sample_backward
from aten._core.tensor import Tensor
from aten.ops.definition import op
from aten.ops.grid_steps import sampled_in_steps
from aten.ops.requirements import refusal
from aten.registry import ops

_BICUBIC = 2
_HALF_TYPES = ("float16", "bfloat16")


def _check(name: str, input: Tensor, grid: Tensor, mode: int, padding_mode: int) -> None:
    rank = input.dim() - 2
    if rank not in (2, 3) or grid.dim() != input.dim():
        raise RuntimeError(
            f"{name}: expected 4D or 5D input and grid with the same number of dimensions, but got "
            f"input {list(input.shape)} and grid {list(grid.shape)}"
        )
    if input.device != grid.device:
        raise RuntimeError(f"{name}: input is on {input.device}, but grid on {grid.device}")
    if input.dtype is not grid.dtype:
        raise RuntimeError(
            f"{name}: expected input and grid to have the same dtype, but input has {input.dtype} "
            f"and grid has {grid.dtype}"
        )
    if input.shape[0] != grid.shape[0] or grid.shape[-1] != rank:
        raise RuntimeError(
            f"{name}: expected a grid of {input.shape[0]} images and {rank} coordinates a point "
            f"for input {list(input.shape)}, but got {list(grid.shape)}"
        )
    if 0 in input.shape[2:]:
        raise RuntimeError(
            f"{name}: expected input to have non-empty spatial dimensions, but got "
            f"{list(input.shape)}"
        )
    if mode not in (0, 1, _BICUBIC) or padding_mode not in (0, 1, 2):
        raise RuntimeError(f"{name}: there is no mode {mode} with padding {padding_mode}")
    if mode == _BICUBIC and rank != 2:
        raise RuntimeError(f"{name}: bicubic interpolation only supports 4D input")


@op
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`grid_sampler_2d` or `grid_sampler_3d`, by the dimensions of `input`."""
    _check("grid_sampler", input, grid, interpolation_mode, padding_mode)
    sampler = ops.aten.grid_sampler_2d if input.dim() == 4 else ops.aten.grid_sampler_3d
    return sampler.default(  # type: ignore[no-any-return]
        input, grid, interpolation_mode, padding_mode, align_corners
    )


def _sampled(
    name: str, input: Tensor, grid: Tensor, mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    _check(name, input, grid, mode, padding_mode)
    if not input.is_floating_point():
        raise refusal(name, input.dtype)
    sizes = [*input.shape[:2], *grid.shape[1:-1]]
    if input.is_meta:
        return input.new_empty(sizes)
    if input.dtype.name in _HALF_TYPES:
        return sampled_in_steps(input, grid, mode, padding_mode, align_corners)
    out: Tensor = ops.aten.empty.memory_format(sizes, dtype=input.dtype)
    sample(input, grid.contiguous(), out, mode, padding_mode, align_corners)
    return out


@op
def grid_sampler_2d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """(N, C, H, W) at the points (x, y) of `grid` (N, H', W', 2): (N, C, H', W').

    Coordinates go from -1 to 1, which are the outer elements' centres with `align_corners`, else
    their outer edges. Modes are 0, the four neighbours weighed, 1, the nearest one, and 2, sixteen
    neighbours weighed; padding 0 is zeros, 1 the border element, 2 the image mirrored. Raises
    RuntimeError for sizes and dtypes that do not go together.
    """
    _expect_rank("grid_sampler_2d", input, 2)
    return _sampled("grid_sampler_2d", input, grid, interpolation_mode, padding_mode, align_corners)


@op
def grid_sampler_3d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`grid_sampler_2d` with one more dimension, without mode 2."""
    _expect_rank("grid_sampler_3d", input, 3)
    return _sampled("grid_sampler_3d", input, grid, interpolation_mode, padding_mode, align_corners)


def _expect_rank(name: str, input: Tensor, rank: int) -> None:
    if input.dim() != rank + 2:
        raise RuntimeError(f"{name}: expected {rank + 2}D input, but got {list(input.shape)}")


@op("grid_sampler_2d_backward", "grid_sampler_3d_backward")
def grid_sampler_backward(
    called: OpOverload,
    grad_output: Tensor,
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor]:
    """The gradients of sampling for image, if the mask asks for it, and grid."""
    name = called.name
    _expect_rank(name, input, int(name[len("grid_sampler_")]))
    _check(name, input, grid, interpolation_mode, padding_mode)
    sizes = (*input.shape[:2], *grid.shape[1:-1])
    if tuple(grad_output.shape) != sizes or grad_output.dtype is not input.dtype:
        raise RuntimeError(
            f"{name}: expected grad_output of shape {list(sizes)} and dtype {input.dtype}, but got "
            f"{list(grad_output.shape)} and {grad_output.dtype}"
        )
    if not input.is_floating_point():
        raise refusal(name, input.dtype)
    wide = input.dtype.name in _HALF_TYPES and not input.is_meta
    element = DTYPES["float32"] if wide else input.dtype
    image_gradient = input.new_zeros(input.shape, dtype=element) if output_mask[0] else None
    grid_gradient = grid.new_zeros(grid.shape, dtype=element)
    if not input.is_meta:
        sample_backward(
            grad_output.to(element).contiguous(),
            input.to(element),
            grid.to(element).contiguous(),
            image_gradient,
            grid_gradient,
            interpolation_mode,
            padding_mode,
            align_corners,
        )
    if image_gradient is not None:
        image_gradient = image_gradient.to(input.dtype)
    return image_gradient, grid_gradient.to(input.dtype)


@op
def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """The points (N, *, rank) that the maps `theta` (N, rank, rank + 1) send an image's to.

    `size` is that of the image, (N, C, *). Raises RuntimeError for other ranks than two and three.
    """
    rank = len(size) - 2
    if rank not in (2, 3):
        raise RuntimeError(f"affine_grid_generator: expected 4 or 5 sizes, got {list(size)}")
    if tuple(theta.shape) != (size[0], rank, rank + 1):
        raise RuntimeError(
            f"affine_grid_generator: expected theta of shape {[size[0], rank, rank + 1]}, but got "
            f"{list(theta.shape)}"
        )
    axes = [
        _axis(theta, count, align_corners).view([-1 if own == place else 1 for own in range(rank)])
        for place, count in enumerate(size[2:])
    ]
    one: Tensor = ops.aten.ones.default([1], dtype=theta.dtype, device=theta.device)
    points = ops.aten.stack.default(
        [axis.expand(list(size[2:])) for axis in (*reversed(axes), one)], -1
    )
    flat = points.view([1, -1, rank + 1]).expand([size[0], -1, -1])
    moved: Tensor = ops.aten.bmm.default(flat, theta.transpose(1, 2))
    return moved.view([size[0], *size[2:], rank])


def _axis(theta: Tensor, count: int, align_corners: bool) -> Tensor:
    """`count` places from -1 to 1: with `align_corners` both included, else middles of parts."""
    if count <= 1:
        return theta.new_zeros([count])
    places: Tensor = ops.aten.linspace.default(-1, 1, count, dtype=theta.dtype, device=theta.device)
    return places if align_corners else places * ((count - 1) / count)

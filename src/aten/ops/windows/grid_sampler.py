"""Images read at given points."""

from __future__ import annotations

from collections.abc import Sequence

from aten._core.dispatch.dispatcher import OpOverload
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.memory.conversion import as_type, wide
from aten.ops.requirements import refusal
from aten.ops.windows.grid_steps import gradients_in_steps, sampled_in_steps
from aten.registry import ops

_BICUBIC = 2


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
    return sampler.default(input, grid, interpolation_mode, padding_mode, align_corners)


def check_sampled(
    called: OpOverload, input: Tensor, grid: Tensor, mode: int, padding_mode: int
) -> None:
    """Raises RuntimeError for sizes, NotImplementedError for dtypes that do not go together."""
    name = called.name
    rank = int(name[len("grid_sampler_")])
    if input.dim() != rank + 2:
        raise RuntimeError(f"{name}: expected {rank + 2}D input, but got {list(input.shape)}")
    _check(name, input, grid, mode, padding_mode)
    if not input.is_floating_point():
        raise refusal(name, input.dtype)


@op("grid_sampler_2d", "grid_sampler_3d")
def grid_sampler_by_rank(
    called: OpOverload,
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> Tensor:
    """(N, C, H, W) at the points (x, y) of `grid` (N, H', W', 2): (N, C, H', W').

    Coordinates go from -1 to 1, which are the outer elements' centres with `align_corners`, else
    their outer edges. Modes are 0, the four neighbours weighed, 1, the nearest one, and 2, sixteen
    neighbours weighed; padding 0 is zeros, 1 the border element, 2 the image mirrored. With one
    more dimension there is no mode 2. Raises RuntimeError for sizes and dtypes that do not go
    together.
    """
    check_sampled(called, input, grid, interpolation_mode, padding_mode)
    return sampled_in_steps(input, grid, interpolation_mode, padding_mode, align_corners)


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
    check_gradient(called, grad_output, input, grid, interpolation_mode, padding_mode)
    gradients = gradients_in_steps(
        wide(grad_output),
        wide(input),
        wide(grid),
        interpolation_mode,
        padding_mode,
        align_corners,
        output_mask[0],
    )
    image, points = (one if one is None else as_type(one, input.dtype) for one in gradients)
    assert points is not None
    return image, points


def check_gradient(
    called: OpOverload,
    grad_output: Tensor,
    input: Tensor,
    grid: Tensor,
    mode: int,
    padding_mode: int,
) -> None:
    """`check_sampled`, and RuntimeError for a gradient that is not one of the result's."""
    check_sampled(called, input, grid, mode, padding_mode)
    sizes = (*input.shape[:2], *grid.shape[1:-1])
    if tuple(grad_output.shape) != sizes or grad_output.dtype is not input.dtype:
        raise RuntimeError(
            f"{called.name}: expected grad_output of shape {list(sizes)} and dtype {input.dtype}, "
            f"but got {list(grad_output.shape)} and {grad_output.dtype}"
        )


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

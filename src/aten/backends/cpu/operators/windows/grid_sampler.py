"""The CPU's images read at given points; the loops are in kernels/windows/sampling.pyx."""

from __future__ import annotations

from collections.abc import Sequence

from aten._core.dispatch.dispatcher import OpOverload
from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.windows.sampling import sample, sample_backward
from aten.ops.definition import op
from aten.ops.memory.conversion import as_type, wide
from aten.ops.windows.grid_sampler import check_gradient, check_sampled
from aten.ops.windows.grid_steps import sampled_in_steps
from aten.registry import ops

_HALF_TYPES = ("float16", "bfloat16")


@op("grid_sampler_2d", "grid_sampler_3d")
def grid_sampler_by_rank(
    called: OpOverload,
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> Tensor:
    """(N, C, H, W) at the points (x, y) of `grid` (N, H', W', 2), or with one dimension more."""
    check_sampled(called, input, grid, interpolation_mode, padding_mode)
    if input.dtype.name in _HALF_TYPES:
        return sampled_in_steps(input, grid, interpolation_mode, padding_mode, align_corners)
    sizes = [*input.shape[:2], *grid.shape[1:-1]]
    out: Tensor = ops.aten.empty.memory_format(sizes, dtype=input.dtype)
    sample(input, grid.contiguous(), out, interpolation_mode, padding_mode, align_corners)
    return out


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
    image, points = wide(input), wide(grid).contiguous()
    image_gradient = image.new_zeros(input.shape) if output_mask[0] else None
    grid_gradient = image.new_zeros(grid.shape)
    sample_backward(
        wide(grad_output).contiguous(),
        image,
        points,
        image_gradient,
        grid_gradient,
        interpolation_mode,
        padding_mode,
        align_corners,
    )
    if image_gradient is not None:
        image_gradient = as_type(image_gradient, input.dtype)
    return image_gradient, as_type(grid_gradient, input.dtype)

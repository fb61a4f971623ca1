"""Derivatives of resizing and padding: each element's gradient is added up where it came from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten._core.base.device import MEMORY_FORMATS
from aten._core.base.dtypes import DTYPES
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op, operation_type
from aten.ops.memory_order import suggested_format
from aten.ops.requirements import refusal
from aten.ops.windows.resampling_tables import (
    CUBIC,
    LINEAR,
    for_results,
    interpolation_table,
    nearest_places,
)
from aten.registry import ops

_ROWS = MEMORY_FORMATS["contiguous_format"]
# Adds what one dimension of a gradient holds up in a tensor with as many elements as it came from.
_Step = Callable[[Tensor, int, int], Tensor]


def _gathered(gradient: Tensor, sizes: Sequence[int], step: _Step, like: Tensor | None) -> Tensor:
    """`step(gradient, dim, size)` along the last dimensions, of which `sizes` are wanted.

    In the type that arithmetic is done in; the result is laid out as `like`, or else in row order.
    """
    rank, order = len(sizes), None if like is None else suggested_format(like)
    made = gradient.to(operation_type(gradient.dtype))
    for place, size in enumerate(sizes):
        made = step(made, gradient.dim() - rank + place, size)
    options: dict[str, Any] = {} if order is None else {"memory_format": order}
    out: Tensor = ops.aten.empty(
        made.shape, dtype=gradient.dtype, device=gradient.device, **options
    )
    return out.copy_(made)


def _added(gradient: Tensor, dim: int, size: int, places: Tensor) -> Tensor:
    sizes = list(gradient.shape)
    sizes[dim] = size
    zeros: Tensor = ops.aten.zeros(sizes, dtype=gradient.dtype, device=gradient.device)
    return zeros.index_add_(dim, places.to(gradient.device), gradient)


def _check_sizes(
    name: str,
    gradient: Tensor,
    output_size: Sequence[int],
    input_size: Sequence[int],
    *,
    any_type: bool = False,
) -> None:
    rank = len(input_size) - 2
    wanted = [*input_size[:2], *output_size]
    if len(output_size) != rank or min([*output_size, *input_size[2:]]) <= 0:
        raise RuntimeError(
            f"{name}: sizes must be above 0, {rank} of them, but input_size is {list(input_size)} "
            f"and output_size {list(output_size)}"
        )
    if list(gradient.shape) != wanted:
        raise RuntimeError(
            f"{name}: expected grad_output of shape {wanted}, but got {list(gradient.shape)}"
        )
    if not any_type and not gradient.is_floating_point():
        raise refusal(name, gradient.dtype)


@op
def upsample_nearest_backward(
    called: OpOverload,
    grad_output: Tensor,
    output_size: Sequence[int],
    input_size: Sequence[int],
    *factors: float | None,
) -> Tensor:
    """The gradient of `upsample_nearest`, and of `_upsample_nearest_exact`, for any rank.

    Raises RuntimeError for sizes that do not fit, NotImplementedError for other than floating
    types.
    """
    _check_sizes(called.name, grad_output, output_size, input_size)
    exact = "exact" in called.name

    def step(gradient: Tensor, dim: int, size: int) -> Tensor:
        options = (factors[dim - 2], exact, not exact, "float32")
        return _added(
            gradient, dim, size, for_results(nearest_places, size, gradient.shape[dim], *options)
        )

    # As torch's, whose results in three dimensions lie in row order.
    like = None if len(output_size) == 3 else grad_output
    return _gathered(grad_output, input_size[2:], step, like)


@op
def upsample_linear_backward(
    called: OpOverload,
    grad_output: Tensor,
    output_size: Sequence[int],
    input_size: Sequence[int],
    align_corners: bool,
    *factors: float | None,
) -> Tensor:
    """The gradient of `upsample_linear` and `upsample_bicubic2d`, antialiased or not.

    Raises RuntimeError for sizes that do not fit, NotImplementedError for other than floating
    types.
    """
    cubic = "bicubic" in called.name
    copies = cubic and "_aa_" not in called.name and [*output_size] == [*input_size[2:]]
    _check_sizes(called.name, grad_output, output_size, input_size, any_type=copies)
    if copies:
        return grad_output.clone(memory_format=_ROWS)
    antialias = "_aa_" in called.name
    if antialias and operation_type(grad_output.dtype) is not grad_output.dtype:
        raise refusal(called.name, grad_output.dtype)
    taps = CUBIC if cubic else LINEAR

    def step(gradient: Tensor, dim: int, size: int) -> Tensor:
        wanted = gradient.shape[dim]
        options = (
            taps,
            align_corners,
            factors[dim - 2],
            antialias,
            gradient.dtype.name,
            not antialias,
        )
        table = for_results(interpolation_table, size, wanted, *options)
        sizes = [wanted if axis == dim else 1 for axis in range(gradient.dim())]
        made = None
        for tap in range(table.weights.shape[1]):
            weights = table.weights.select(1, tap).to(gradient.device)
            places = (table.begins + tap).clamp(0, size - 1)
            part = _added(gradient * weights.view(sizes), dim, size, places)
            made = part if made is None else made.add_(part)
        assert made is not None
        return made

    return _gathered(grad_output, input_size[2:], step, None if cubic else grad_output)


@op
def pad_backward(
    called: OpOverload, grad_output: Tensor, self: Tensor, padding: Sequence[int]
) -> Tensor:
    """The gradient of what pads with reflections or with the elements at the borders.

    Raises RuntimeError for what the forward operator refuses, and for a gradient of other sizes
    than its result; NotImplementedError for integers.
    """
    forward = getattr(ops.aten, called.name.removesuffix("_backward")).default
    wanted = forward(ops.aten.empty_like(self, device="meta"), padding).shape
    if tuple(grad_output.shape) != tuple(wanted):
        raise RuntimeError(
            f"{called.name}: expected grad_output of shape {list(wanted)}, but got "
            f"{list(grad_output.shape)}"
        )
    if not (grad_output.is_floating_point() or grad_output.is_complex()):
        raise refusal(called.name, grad_output.dtype)
    reflects, rank = "reflection" in called.name, len(padding) // 2

    def step(gradient: Tensor, dim: int, size: int) -> Tensor:
        before = padding[2 * (gradient.dim() - 1 - dim)]
        count, kept = gradient.shape[dim], gradient.device
        places: Any = ops.aten.arange(count, dtype=DTYPES["int64"], device=kept) - before
        if reflects:
            places = (size - 1) - ((size - 1) - places.abs()).abs()
        # Dimensions that are cut lose elements, and places beyond are nobody's.
        return _added(gradient, dim, size, places.clamp(0, size - 1))

    return _gathered(grad_output, self.shape[-rank:], step, self)

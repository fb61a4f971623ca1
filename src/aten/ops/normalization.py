"""Normalizations along dimensions: softmax and its logarithm, layer norm, RMS norm."""

from __future__ import annotations

from collections.abc import Sequence

from aten._core.dtypes import dtype
from aten._core.tensor import Tensor
from aten.ops.definition import converted, normalized_dims, op
from aten.ops.folding import extent, fold, kept_dims, spread
from aten.ops.requirements import require_floating
from aten.prims import Value, broadcast_to
from aten.prims import elementwise as p
from aten.registry import ops

# The distance from 1 to the next number, in the types arithmetic is done in.
_EPSILON = {"float32": 2.0**-23, "float64": 2.0**-52}


@op
def _softmax(self: Value, dim: int, half_to_float: bool) -> Value:
    _require_floating("softmax", self, dim)
    if 0 in self.shape:
        return self
    largest = fold("amax", self, dim)
    raised = p.exp(self - spread(largest, self, dim))
    return raised * spread(1.0 / fold("sum", raised, dim), self, dim)


@op
def _log_softmax(self: Value, dim: int, half_to_float: bool) -> Value:
    _require_floating("log_softmax", self, dim)
    if 0 in self.shape:
        return self
    shifted = self - spread(fold("amax", self, dim), self, dim)
    return shifted - spread(p.log(fold("sum", p.exp(shifted), dim)), self, dim)


@op
def _softmax_backward_data(
    grad_output: Value, output: Value, dim: int, input_dtype: dtype
) -> Value:
    """output (grad - sum(grad * output)), as `input_dtype`."""
    require_floating("softmax_backward", grad_output)
    weighted = grad_output * output
    total = spread(fold("sum", weighted, dim), output, dim)
    return converted(weighted - output * total, input_dtype)


@op
def _log_softmax_backward_data(
    grad_output: Value, output: Value, dim: int, input_dtype: dtype
) -> Value:
    """grad - exp(output) sum(grad), as `input_dtype`."""
    require_floating("log_softmax_backward", grad_output)
    total = spread(fold("sum", grad_output, dim), output, dim)
    return converted(grad_output - p.exp(output) * total, input_dtype)


@op("softmax", "special_softmax")
def softmax(self: Tensor, dim: int, dtype: dtype | None = None) -> Tensor:
    return ops.aten._softmax(_as_type(self, dtype), dim, False)  # type: ignore[no-any-return]


@op("log_softmax", "special_log_softmax")
def log_softmax(self: Tensor, dim: int, dtype: dtype | None = None) -> Tensor:
    return ops.aten._log_softmax(_as_type(self, dtype), dim, False)  # type: ignore[no-any-return]


@op
def native_layer_norm(
    input: Value,
    normalized_shape: Sequence[int],
    weight: Value | None,
    bias: Value | None,
    eps: float,
) -> tuple[Value, Value, Value]:
    rank = len(normalized_shape)
    if rank == 0 or input.shape[-rank:] != tuple(normalized_shape):
        raise RuntimeError(
            f"Given normalized_shape={list(normalized_shape)}, expected input with shape "
            f"[*, {', '.join(map(str, normalized_shape))}], but got input of size"
            f"{list(input.shape)}"
        )
    dims = tuple(range(len(input.shape) - rank, len(input.shape)))
    count = extent(input, dims)
    average = fold("sum", input, dims) / count
    centred = input - spread(average, input, dims)
    deviation = 1.0 / p.sqrt(fold("sum", centred * centred, dims) / count + eps)
    result = centred * spread(deviation, input, dims)
    if weight is not None:
        result = result * broadcast_to(weight, input.shape)
    if bias is not None:
        result = result + broadcast_to(bias, input.shape)
    return (
        result,
        kept_dims(average, input.shape, dims),
        kept_dims(deviation, input.shape, dims),
    )


@op
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    return ops.aten.native_layer_norm(input, normalized_shape, weight, bias, eps)[0]  # type: ignore[no-any-return]


@op
def _fused_rms_norm(
    input: Value, normalized_shape: Sequence[int], weight: Value | None, eps: float | None
) -> tuple[Value, Value]:
    rank = len(normalized_shape)
    if rank == 0 or input.shape[-rank:] != tuple(normalized_shape):
        raise RuntimeError(
            f"Given normalized_shape={list(normalized_shape)}, expected input with shape "
            f"[*{', '.join(map(str, normalized_shape))}], but got input of size{list(input.shape)}"
        )
    dims = tuple(range(len(input.shape) - rank, len(input.shape)))
    least = _EPSILON[input.dtype.name] if eps is None else eps
    square = fold("sum", input * input, dims) / extent(input, dims)
    deviation = 1.0 / p.sqrt(square + least)
    result = input * spread(deviation, input, dims)
    if weight is not None:
        result = result * broadcast_to(weight, input.shape)
    return result, kept_dims(deviation, input.shape, dims)


@op
def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """`input` divided by the root of its mean square over `normalized_shape`, times `weight`."""
    weight = None if weight is None else _as_type(weight, input.dtype)
    return ops.aten._fused_rms_norm(input, normalized_shape, weight, eps)[0]  # type: ignore[no-any-return]


def _as_type(value: Tensor, element: dtype | None) -> Tensor:
    if element is None or value.dtype is element:
        return value
    return ops.aten._to_copy(value, dtype=element)  # type: ignore[no-any-return]


def _require_floating(name: str, value: Value, dim: int) -> None:
    normalized_dims(dim, len(value.shape))
    if value.dtype.kind != "float" and 0 not in value.shape:
        raise NotImplementedError(
            f"\"{name}_lastdim_kernel_impl\" not implemented for '{value.dtype.scalar_type_name}'"
        )

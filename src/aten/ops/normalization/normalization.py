"""Normalizations along dimensions: softmax and its logarithm, layer norm, RMS norm."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from aten._core.base.dtypes import dtype
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import converted, normalized_dims, op, operation_type
from aten.ops.folding import extent, fold, kept_dims, spread
from aten.ops.memory.conversion import as_type
from aten.ops.reductions.fused import standardized
from aten.ops.requirements import require_floating, require_inexact
from aten.prims import Value, broadcast_to
from aten.prims import elementwise as p
from aten.prims.prim import Shape
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
    return ops.aten._softmax(as_type(self, dtype), dim, False)


@op("log_softmax", "special_log_softmax")
def log_softmax(self: Tensor, dim: int, dtype: dtype | None = None) -> Tensor:
    return ops.aten._log_softmax(as_type(self, dtype), dim, False)


@op
def native_layer_norm(
    input: Value,
    normalized_shape: Sequence[int],
    weight: Value | None,
    bias: Value | None,
    eps: float,
    types: Mapping[str, dtype],
) -> tuple[Value, Value, Value]:
    """`input` normalized over its last dimensions, with the means and reciprocal deviations.

    Half types may have a float32 weight and bias; mean and deviation are of their type.
    Ba et al., Layer Normalization (2016).
    """
    dims = _normalized_dims("layer_norm", input, normalized_shape, weight=weight, bias=bias)
    require_floating("LayerNormKernelImpl", input)
    parameters = types.get("weight", types.get("bias", types["input"]))
    check_parameter_types("layer_norm", types)
    result, average, deviation = standardized(input, weight, bias, dims, eps)
    return (
        converted(result, types["input"]),
        converted(kept_dims(average, input.shape, dims), parameters),
        converted(kept_dims(deviation, input.shape, dims), parameters),
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
    return ops.aten.native_layer_norm(input, normalized_shape, weight, bias, eps)[0]


@op
def _fused_rms_norm(
    input: Value,
    normalized_shape: Sequence[int],
    weight: Value | None,
    eps: float | None,
    types: Mapping[str, dtype],
) -> tuple[Value, Value]:
    """`input` by the root of its mean square, and the reciprocal root, in the type computed in.

    Zhang and Sennrich, Root Mean Square Layer Normalization (2019).
    """
    dims = _normalized_dims("rms_norm", input, normalized_shape, weight=weight)
    require_inexact("rms_norm", input)
    least = _EPSILON[input.dtype.to_real().name] if eps is None else eps
    square = fold("sum", input * input, dims) / extent(input, dims)
    deviation = 1.0 / p.sqrt(square + least)
    result = input * spread(deviation, input, dims)
    if weight is not None:
        result = result * broadcast_to(converted(weight, input.dtype), input.shape)
    return converted(result, types["input"]), kept_dims(deviation, input.shape, dims)


@op
def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """`input` divided by the root of its mean square over `normalized_shape`, times `weight`."""
    return ops.aten._fused_rms_norm(input, normalized_shape, weight, eps)[0]


def _normalized_dims(
    name: str, input: Value, normalized_shape: Sequence[int], **parameters: Value | None
) -> Shape:
    """The last dimensions, which `normalized_shape` names by their sizes.

    Raises RuntimeError where these are others, and for parameters of another shape.
    """
    shape, rank = tuple(normalized_shape), len(normalized_shape)
    if rank == 0 or input.shape[-rank:] != shape:
        raise RuntimeError(
            f"{name}: normalized_shape={list(shape)} must be the last sizes of the input, at least "
            f"one, but the input is {list(input.shape)}"
        )
    for argument, value in parameters.items():
        if value is not None and value.shape != shape:
            raise RuntimeError(
                f"{name}: {argument} must be {list(shape)}, but is {list(value.shape)}"
            )
    return tuple(range(len(input.shape) - rank, len(input.shape)))


def check_parameter_types(name: str, types: Mapping[str, dtype]) -> None:
    """Weight and bias are of the input's type; of float32, where that is a half type."""
    given = types.get("weight", types.get("bias", types["input"]))
    allowed = (types["input"], operation_type(types["input"]))
    if given not in allowed or types.get("bias", given) is not given:
        listed = ", ".join(f"{argument} {element}" for argument, element in types.items())
        raise RuntimeError(f"{name}: weight and bias must be of the input's type: {listed}")


def _require_floating(name: str, value: Value, dim: int) -> None:
    normalized_dims(dim, len(value.shape))
    if value.dtype.kind != "float" and 0 not in value.shape:
        raise NotImplementedError(
            f"\"{name}_lastdim_kernel_impl\" not implemented for '{value.dtype.scalar_type_name}'"
        )


@op
def _safe_softmax(self: Tensor, dim: int, dtype: dtype | None = None) -> Tensor:
    """`softmax`, with zeros where every element along `dim` is minus infinity."""
    weights: Tensor = ops.aten.softmax.int(self, dim, dtype=dtype)
    if not self.numel():
        return weights
    return weights.masked_fill(self.amax([dim], True).eq(-math.inf), 0)

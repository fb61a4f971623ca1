"""Reductions that several operators are made of, each one walk over its operands.

They are the operators of the namespace `fused`, which composites call and nobody else; torch has
none of these names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from aten._core.base.dtypes import dtype
from aten.ops.definition import converted
from aten.ops.folding import extent, fold, spread
from aten.prims import Value, broadcast_to
from aten.prims import elementwise as p


def standardized(
    input: Value, weight: Value | None, bias: Value | None, dims: Sequence[int], eps: float
) -> tuple[Value, Value, Value]:
    """(input - mean) / deviation · weight + bias; means and inverse deviations without `dims`."""
    count = extent(input, dims)
    average = fold("sum", input, dims) / p.maximum(count, 1.0)  # of nothing: 0, as torch's
    centred = input - spread(average, input, dims)
    deviation = 1.0 / p.sqrt(fold("sum", centred * centred, dims) / count + eps)
    result = centred * spread(deviation, input, dims)
    if weight is not None:
        result = result * broadcast_to(weight, input.shape)
    if bias is not None:
        result = result + broadcast_to(bias, input.shape)
    return result, average, deviation


def normalized(
    input: Value,
    weight: Value | None,
    bias: Value | None,
    dims: Sequence[int],
    eps: float,
    types: Mapping[str, dtype],
) -> tuple[Value, Value, Value]:
    """`input` normalized over `dims`, times `weight`, plus `bias`, which broadcast to its shape.

    Also the means and the reciprocal deviations, without `dims`, in the type of weight or bias.
    """
    parameters = types.get("weight", types.get("bias", types["input"]))
    result, average, deviation = standardized(input, weight, bias, dims, eps)
    return (
        converted(result, types["input"]),
        converted(average, parameters),
        converted(deviation, parameters),
    )


def exponential_sum(input: Value, dim: int) -> tuple[Value, Value]:
    """The largest element along `dim`, and log(sum(exp(input - largest))).

    Both are in the type that arithmetic is done in: `input - largest - logarithm` is the logarithm
    of softmax.
    """
    largest = fold("amax", input, dim)
    raised = p.exp(input - spread(largest, input, dim))
    return largest, p.log(fold("sum", raised, dim))


# Their schemas.
FUSED: dict[str, Callable[..., tuple[Value, ...]]] = {
    "normalized(Tensor input, Tensor? weight, Tensor? bias, int[] dims, float eps)"
    " -> (Tensor, Tensor, Tensor)": normalized,
    "exponential_sum(Tensor input, int dim) -> (Tensor, Tensor)": exponential_sum,
}

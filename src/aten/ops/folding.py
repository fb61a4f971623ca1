"""What reductions share: their graph, and folds that keep or drop dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten._core.base.dtypes import DTYPES, dtype, get_default_dtype
from aten._core.tensor.promotion import result_type
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import Definition, converted, normalized_dims, operation_type
from aten.prims import Graph, GraphInterpreter, Node, Prim, Value
from aten.prims.prim import Shape

Dims = int | Sequence[int] | None


def fold(name: str, value: Value, dim: Dims, keepdim: bool = False) -> Value:
    """`value` folded over `dim` by the reduction prim `name`; 0-d values are their own fold."""
    dims = normalized_dims(dim, len(value.shape))
    if not dims:
        return value
    result = Prim.table[name](value, dims=dims)
    return kept_dims(result, value.shape, dims) if keepdim else result


def spread(result: Value, like: Value, dim: Dims) -> Value:
    """A fold over `dim` of a value shaped as `like`, repeated along the folded dimensions."""
    dims = normalized_dims(dim, len(like.shape))
    if not dims:
        return result
    kept = tuple(axis for axis in range(len(like.shape)) if axis not in dims)
    return Prim.table["broadcast_in_dim"](result, shape=like.shape, broadcast_dimensions=kept)


def kept_dims(result: Value, shape: Shape, dims: Shape) -> Value:
    """`result` with the folded dimensions at size one."""
    sizes = tuple(1 if axis in dims else size for axis, size in enumerate(shape))
    axes = tuple(axis for axis in range(len(shape)) if axis not in dims)
    return Prim.table["broadcast_in_dim"](result, shape=sizes, broadcast_dimensions=axes)


def extent(value: Value, dim: Dims, element: dtype | None = None) -> Value:
    """How many elements `dim` holds, as a 0-d value of `element` or of the value's type.

    It is one number, and so fits folds that keep their dimensions and folds that drop them.
    """
    dims = normalized_dims(dim, len(value.shape))
    element = element or value.dtype
    if not dims:
        return value.interpreter.constant(1, element)
    return Prim.table["extent"](value, dims=dims, dtype=element)


def fold_size(value: Value, dim: Dims) -> int:
    """How many elements `dim` holds, as a number, to check for empty folds."""
    count = 1
    for axis in normalized_dims(dim, len(value.shape)):
        count *= value.shape[axis]
    return count


def run_reduction(
    definition: Definition,
    arguments: Sequence[Any],
    value_of: Callable[[Tensor], Value],
) -> tuple[tuple[Value, ...], bool]:
    """The results of a reduction on values made of its tensors, and whether it has just one."""
    named = dict(zip((p.name for p in definition.parameters), arguments, strict=True))
    tensors = list(filter(_is_tensor, arguments))
    compute = _compute_type(definition, tensors, named)
    types = {name: value.dtype for name, value in named.items() if isinstance(value, Tensor)}
    for name in types:
        named[name] = _in_operation_type(value_of(named[name]), definition, compute)
    made = definition({"types": types, **named})
    single = not isinstance(made, tuple)
    results = (made,) if single else made
    return tuple(_in_result_type(result, definition, compute) for result in results), single


def reduction_graph(
    definition: Definition, arguments: Sequence[Any]
) -> tuple[Graph, list[Tensor], bool]:
    """The graph of a reduction on these arguments, its tensors, and whether it has one result."""
    interpreter = GraphInterpreter()
    tensors: list[Tensor] = []
    inputs: list[Node] = []

    def value_of(tensor: Tensor) -> Value:
        made = interpreter.input(len(inputs), tensor.dtype, tuple(tensor.shape))
        # Not by `append`, nor in a comprehension: for want of memory they release it twice.
        tensors.extend((tensor,))
        inputs.append(made.payload)
        return made

    results, single = run_reduction(definition, arguments, value_of)
    graph = Graph(definition.name, inputs, [result.payload for result in results])
    return graph, tensors, single


def _is_tensor(value: object) -> bool:
    return isinstance(value, Tensor)


def _compute_type(definition: Definition, tensors: list[Tensor], named: dict[str, Any]) -> dtype:
    """The type of the result, before function and promotion make it bool or real."""
    chosen = named.get("dtype")
    if isinstance(chosen, dtype):
        return chosen
    common = result_type(*tensors)
    if definition.promotion == "long" and common.kind in ("bool", "signed", "unsigned"):
        return DTYPES["int64"]
    if definition.promotion == "float" and common.kind in ("bool", "signed", "unsigned"):
        return get_default_dtype()
    return common


def _in_operation_type(value: Value, definition: Definition, compute: dtype) -> Value:
    if definition.promotion == "same":
        return converted(value, operation_type(value.dtype))
    return converted(converted(value, compute), operation_type(compute))


def _in_result_type(value: Value, definition: Definition, compute: dtype) -> Value:
    """Results in the operation type become the compute type; others are as the function wants."""
    if definition.promotion == "bool":
        # As torch: bytes were its booleans once, and stay bytes.
        return converted(value, compute if compute.name == "uint8" else DTYPES["bool"])
    if definition.promotion == "same":
        return value
    if value.dtype is operation_type(compute):
        return converted(value, compute)
    if value.dtype is operation_type(compute).to_real():
        return converted(value, compute.to_real())
    return value

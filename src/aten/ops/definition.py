"""An operator's definition: its row in the table, its function, and the graph they make.

`@op` marks a function as the definition of the operators that carry its name. The function gets
`Value`s in the type arithmetic is done in (float32 for half types) and plain Python attributes; the
conversions around it follow from the promotion its table row names.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, overload

from aten._core.dispatcher import OpOverload
from aten._core.dtypes import DTYPES, dtype
from aten.prims import Graph, GraphInterpreter, Prim, Value
from aten.prims.prim import Shape

Function = TypeVar("Function", bound=Callable[..., Any])

# Tensors that choose or mask take no part in finding the common type; nor do scalars, except
# those that stand where a tensor might.
_APART = frozenset({"condition", "mask"})
_PARTAKING_SCALARS = frozenset({"other", "self", "exponent", "min", "max"})
_TAKES_KEYWORDS = 0x08  # the code flag of functions with **parameters
_OPERATION_TYPES = {"float16": "float32", "bfloat16": "float32", "complex32": "complex64"}


@overload
def op(marked: str) -> Callable[[Function], Function]: ...


@overload
def op(marked: Function) -> Function: ...


def op(marked: Any) -> Any:
    """Mark a function as an operator's definition; `@op("name")` where the names differ."""
    if isinstance(marked, str):
        return lambda function: function
    return marked


class Parameter:
    """One argument of the schema, as kernels see it."""

    __slots__ = ("default", "has_default", "kind", "name", "takes_part")

    def __init__(self, name: str, type_text: str, has_default: bool, default: Any) -> None:
        self.name = name
        self.has_default = has_default
        self.default = default
        self.kind = _parameter_kind(type_text, has_default)
        self.takes_part = (
            name not in _APART if self.kind == "tensor" else name in _PARTAKING_SCALARS
        )


def _parameter_kind(type_text: str, has_default: bool) -> str:
    base = type_text.partition("(")[0].rstrip("?")
    if base == "Tensor":
        return "tensor"
    if base == "MemoryFormat":
        return "memory_format"
    if base == "Scalar":
        return "scalar" if has_default or type_text.endswith("?") else "number"
    return "attribute"


class Definition:
    """What is known of an operator beyond its schema: kind, promotion, function."""

    __slots__ = ("accepted", "entry", "function", "name", "out_position", "parameters", "place")

    def __init__(self, op: OpOverload, function: Callable[..., Any], place: str = "") -> None:
        self.name = op.name.rstrip("_") if op.entry.variant == "inplace" else op.name
        self.entry = op.entry
        self.function = function
        self.place = place or place_of(function)
        self.parameters = [
            Parameter(
                argument.name,
                str(argument.type),
                argument.has_default,
                argument.default if argument.has_default else None,
            )
            for argument in op._schema.arguments
        ]
        self.accepted = _accepted_names(function, self.parameters)
        self.out_position = self._find_out()

    def __call__(self, arguments: dict[str, Any]) -> Any:
        """Call the function with those of the arguments, by name, that it has parameters for."""
        return self.function(
            **{name: value for name, value in arguments.items() if name in self.accepted}
        )

    def _find_out(self) -> int:
        if self.entry.variant == "inplace":
            return 0
        if self.entry.variant == "out":
            return len(self.parameters) - 1
        return -1

    @property
    def promotion(self) -> str:
        """The promotion of the table row; "same" where it names none."""
        return str(self.entry.options.get("promotion", "same"))


def _accepted_names(function: Callable[..., Any], parameters: list[Parameter]) -> frozenset[str]:
    code = function.__code__
    if code.co_flags & _TAKES_KEYWORDS:
        return frozenset(parameter.name for parameter in parameters)
    return frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


def place_of(function: Callable[..., Any]) -> str:
    """file:line of a function of the package."""
    code = function.__code__
    return f"{'/'.join(code.co_filename.rsplit('/', 3)[1:])}:{code.co_firstlineno}"


def load_function(location: str) -> Callable[..., Any]:
    """The function at "module:name". Raises LookupError where the table names none."""
    module, _, name = location.partition(":")
    if not name:
        raise LookupError("the operator has no definition")
    return getattr(importlib.import_module(module), name)  # type: ignore[no-any-return]


def operation_type(element: dtype) -> dtype:
    """The type arithmetic on `element` is done in: float32 for half types, else itself."""
    return DTYPES[_OPERATION_TYPES.get(element.name, element.name)]


def converted(value: Value, element: dtype) -> Value:
    """`value` as `element`; itself where it is that already."""
    if value.dtype is element:
        return value
    return Prim.table["convert_element_type"](value, dtype=element)


def pointwise_graph(
    definition: Definition,
    attributes: dict[str, Any],
    types: Sequence[dtype],
    compute: dtype,
    out: dtype | None,
) -> Graph:
    """The graph of a pointwise operator on operands of `types`, rank 0.

    The result ends in type `out`; None leaves it as the function made it.
    """
    interpreter = GraphInterpreter()
    operands = [
        p for p in definition.parameters if p.name not in attributes and p.kind != "memory_format"
    ]
    if definition.entry.variant == "out":
        operands = operands[:-1]
    inputs = [interpreter.input(place, element, ()) for place, element in enumerate(types)]
    arguments = dict(attributes)
    for parameter, value in zip(operands, inputs, strict=True):
        arguments[parameter.name] = _in_operation_type(parameter, value, definition, compute)
    result = call_function(definition, arguments, interpreter)
    if definition.promotion not in ("bool", "same", "real"):
        result = converted(result, compute)
    if out is not None:
        result = converted(result, out)
    return Graph(definition.name, [value.payload for value in inputs], [result.payload])


def _in_operation_type(
    parameter: Parameter, value: Value, definition: Definition, compute: dtype
) -> Value:
    if definition.promotion == "same":
        return value
    if parameter.kind == "tensor" and not parameter.takes_part:
        return value
    return converted(value, operation_type(compute))


def call_function(
    definition: Definition, arguments: dict[str, Any], interpreter: GraphInterpreter
) -> Value:
    """Call the definition; a plain number it returns becomes a constant."""
    result = definition(arguments)
    if isinstance(result, Value):
        return result
    first = next(value for value in arguments.values() if isinstance(value, Value))
    return interpreter.constant(result, first.dtype)


def normalized_dims(dim: int | Sequence[int] | None, rank: int) -> Shape:
    """`dim` as sorted dimensions from the front; None and empty lists mean all of them.

    Raises IndexError for a dimension out of range, RuntimeError for one named twice.
    """
    from aten._core.tensor import wrap_dimension

    if dim is None or (not isinstance(dim, int) and len(dim) == 0):
        return tuple(range(rank))
    listed = [dim] if isinstance(dim, int) else list(dim)
    wrapped = [wrap_dimension(one, rank) for one in listed]
    for one in wrapped:
        if wrapped.count(one) > 1:
            raise RuntimeError(f"dim {one} appears multiple times in the list of dims")
    return tuple(sorted(one for one in wrapped if one < rank))

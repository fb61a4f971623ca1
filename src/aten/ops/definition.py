"""An operator's definition: its row in the table, its function, and the graph they make.

`@op` marks a function as the definition of the operators that carry its name. The function gets
`Value`s in the type arithmetic is done in (float32 for half types) and plain Python attributes; the
conversions around it follow from the promotion its table row names.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, overload

from aten._core.base.dtypes import DTYPES, dtype
from aten._core.dispatch.dispatcher import OpOverload
from aten.prims import Graph, GraphInterpreter, Prim, Value
from aten.prims.prim import Shape

Function = TypeVar("Function", bound=Callable[..., Any])

# Tensors that choose or mask take no part in finding the common type; nor do scalars, except
# those that stand where a tensor might.
_APART = frozenset({"condition", "mask"})
_PARTAKING_SCALARS = frozenset({"other", "self", "exponent", "min", "max", "x", "n"})
_TAKES_KEYWORDS = 0x08  # the code flag of functions with **parameters
_OPERATION_TYPES = {"float16": "float32", "bfloat16": "float32", "complex32": "complex64"}


Check = Callable[..., None]


class Options:
    """What an operator's definition says besides its function; see `op`."""

    __slots__ = (
        "check",
        "constants",
        "exact_out",
        "gaps_out",
        "inplace",
        "integer_check",
        "knows_meta",
        "meta",
        "repeatable",
        "row_major_out",
        "writes",
    )

    def __init__(
        self,
        check: Check | None = None,
        integer_check: Check | None = None,
        constants: Mapping[str, frozenset[Any]] | None = None,
        inplace: str = "",
        exact_out: bool = False,
        repeatable: bool = False,
        meta: Callable[..., Any] | None = None,
        row_major_out: bool | str = False,
        gaps_out: bool = False,
        writes: tuple[str, ...] = (),
        knows_meta: bool = False,
    ) -> None:
        self.knows_meta = knows_meta
        self.writes = writes
        self.repeatable = repeatable
        self.meta = meta
        self.row_major_out = row_major_out
        self.gaps_out = gaps_out
        self.exact_out = exact_out or inplace != ""
        self.inplace = inplace
        self.check = check
        self.integer_check = integer_check
        self.constants = constants or {}


_NO_OPTIONS = Options()
_options: dict[str, Options] = {}


@overload
def op(marked: Function, /) -> Function: ...


@overload
def op(
    *names: str,
    check: Check | None = ...,
    integer_check: Check | None = ...,
    constants: Mapping[str, frozenset[Any]] | None = ...,
    inplace: str = ...,
    exact_out: bool = ...,
    repeatable: bool = ...,
    meta: Callable[..., Any] | None = ...,
    row_major_out: bool | str = ...,
    gaps_out: bool = ...,
    writes: tuple[str, ...] = ...,
    knows_meta: bool = ...,
) -> Callable[[Function], Function]: ...


def op(*marked: Any, **options: Any) -> Any:
    """Mark a function as an operator's definition; `@op("name", …)` where the names differ.

    `check` looks at the arguments it names before a call of a pointwise operator and raises for
    values that are refused; one that looks at `out` has a default for it. It may go by numbers and
    by types and dimensions of tensors: what it let pass once is not shown to it again.
    `integer_check`, before each call that computes integers or bool, may go by elements, too.
    `constants` names arguments (numbers) and the values for which there is to be code of its own:
    the function gets these as Python numbers.
    `inplace` says that the function of an operator writes to its first argument and returns
    it; the functional form hands it a copy in the memory format named here. `exact_out` says that
    nothing is cast for out=, which takes no tensor that shares memory with another argument.
    `repeatable` says that an output's elements may share memory, as they get one value.
    `meta`, a function of tensors, serves calls with tensors of the meta device instead.
    `knows_meta`: a function of the CPU's serves tensors of the meta device, too, because it knows
    the strides of results where the operator's definition gives others.
    `row_major_out`: out= tensors that are resized get row-major, whatever order results have;
    with "complex" those of complex operands. `gaps_out`: out= tensors without elements get the gaps
    that results have between theirs.
    `writes` names arguments that the function writes to though the schema, torch's, is silent.
    A function that names `types` gets the operands' element types before conversion, by name; one
    that names `operator` the operator's name. Composites, factories and library calls whose first
    parameter is `called` get the operator itself there.
    """
    if len(marked) == 1 and callable(marked[0]):
        return marked[0]

    def mark(function: Function) -> Function:
        if options:
            _options[f"{function.__module__}:{function.__name__}"] = Options(**options)
        return function

    return mark


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

    __slots__ = (
        "accepted",
        "entry",
        "function",
        "name",
        "options",
        "out_position",
        "parameters",
        "place",
    )

    def __init__(self, op: OpOverload, function: Callable[..., Any], place: str = "") -> None:
        self.name = op.name.rstrip("_") if op.entry.variant == "inplace" else op.name
        self.entry = op.entry
        self.function = function
        self.place = place or place_of(function)
        self.options = _options.get(op.entry.function, _NO_OPTIONS)
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
        given = {"operator": self.name, **arguments}
        return self.function(
            **{name: value for name, value in given.items() if name in self.accepted}
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
    function = getattr(function, "__wrapped__", function)
    code, depth = function.__code__, function.__module__.count(".") + 1
    return f"{'/'.join(code.co_filename.rsplit('/', depth)[1:])}:{code.co_firstlineno}"


def load_function(location: str) -> Callable[..., Any]:
    """The function at "module:name". Raises LookupError where the table names none."""
    module, _, name = location.partition(":")
    if not name:
        raise LookupError("the operator has no definition")
    return getattr(importlib.import_module(module), name)  # type: ignore[no-any-return]


def options_of(location: str) -> Options:
    """What the definition at "module:name" says besides its function."""
    load_function(location)
    return _options.get(location, _NO_OPTIONS)


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
    into_itself = definition.entry.variant == "inplace"
    if into_itself and compute.is_complex and definition.promotion == "real":
        raise RuntimeError(f"{definition.name}_: complex tensors cannot hold the real result")
    interpreter = GraphInterpreter()
    operands = [p for p in definition.parameters if is_operand(p, attributes)]
    if definition.entry.variant == "out":
        operands = operands[:-1]
    inputs = [interpreter.input(place, element, ()) for place, element in enumerate(types)]
    arguments = {"types": {p.name: t for p, t in zip(operands, types, strict=True)}, **attributes}
    for parameter, value in zip(operands, inputs, strict=True):
        converted_value = _in_operation_type(parameter, value, definition, compute)
        arguments.setdefault(parameter.name, converted_value)
    result = call_function(definition, arguments, interpreter)
    if definition.promotion not in ("bool", "same", "real"):
        result = converted(result, compute)
    if out is not None:
        result = converted(result, out)
    return Graph(definition.name, [value.payload for value in inputs], [result.payload])


def is_operand(parameter: Parameter, attributes: Mapping[str, Any]) -> bool:
    """Whether the argument is one that kernels read when they run.

    Numbers without a default always are, even where their value is known to the function.
    """
    if parameter.kind == "number":
        return True
    return parameter.name not in attributes and parameter.kind != "memory_format"


def _in_operation_type(
    parameter: Parameter, value: Value, definition: Definition, compute: dtype
) -> Value:
    if definition.promotion == "same":
        return value
    if parameter.kind == "tensor" and not parameter.takes_part:
        return value
    if definition.promotion == "exact":
        return converted(value, compute)
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


class ArgumentCheck:
    """A definition's check of the arguments it names, called with all of them by name."""

    __slots__ = ("check", "names")

    def __init__(self, check: Check) -> None:
        self.check = check
        self.names = check.__code__.co_varnames[: check.__code__.co_argcount]

    def __call__(self, arguments: Mapping[str, Any]) -> None:
        self.check(**{name: arguments[name] for name in self.names if name in arguments})


def checks_of(
    definition: Definition, attributes: Mapping[str, Any]
) -> tuple[ArgumentCheck | None, ArgumentCheck | None]:
    """The definition's check and integer check.

    None where there is nothing to look at: the arguments they name are part of the code.
    """
    options = definition.options
    return _check_beyond(options.check, attributes), _check_beyond(
        options.integer_check, attributes
    )


def _check_beyond(check: Check | None, attributes: Mapping[str, Any]) -> ArgumentCheck | None:
    made = None if check is None else ArgumentCheck(check)
    if made is None or all(name in attributes for name in made.names):
        return None
    return made


def normalized_dims(dim: int | Sequence[int] | None, rank: int) -> Shape:
    """`dim` as sorted dimensions from the front; None and empty lists mean all of them.

    Raises IndexError for a dimension out of range, RuntimeError for one named twice.
    """
    from aten._core.tensor.tensor_impl import wrap_dimension

    if dim is None or (not isinstance(dim, int) and len(dim) == 0):
        return tuple(range(rank))
    listed = [dim] if isinstance(dim, int) else list(dim)
    wrapped = [wrap_dimension(one, rank) for one in listed]
    for one in wrapped:
        if wrapped.count(one) > 1:
            raise RuntimeError(f"dim {one} appears multiple times in the list of dims")
    return tuple(sorted(one for one in wrapped if one < rank))

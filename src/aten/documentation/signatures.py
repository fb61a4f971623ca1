"""Python signatures of operators, from their schemas: what stubs declare and `help` shows."""

from __future__ import annotations

import keyword
import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from aten.schema import Argument, FunctionSchema, ListType, Return, Type

# Python's own types have methods and functions of the same names beside them.
_PYTHON_TYPES = {
    "Tensor": "Tensor",
    # A number is written `complex`: checkers take int and float for it too.
    "Scalar": "_complex | Tensor",
    "int": "_int",
    "SymInt": "_int",
    "DeviceIndex": "_int",
    "float": "_float",
    "SymFloat": "_float",
    "bool": "_bool",
    "SymBool": "_bool",
    "complex": "_complex",
    "str": "_str",
    "ScalarType": "_dtype",
    "Layout": "_layout",
    "MemoryFormat": "_memory_format",
    "Device": "_device | _str",
    "Generator": "_Generator",
    "Storage": "_Storage",
}
# Python's types stand for a dtype where one is asked for.
_AS_DTYPE = "_dtype | type[_bool] | type[_int] | type[_float] | type[_complex]"
# What `item` gives: a complex number where a tensor is complex, which nobody else has to think of.
_NUMBER = "_int | _float | _bool"


class Overload(Protocol):
    """What has to be known of an overload to say how it is called."""

    @property
    def schema(self) -> FunctionSchema: ...
    @property
    def base(self) -> str:
        """The key of the overload it was made from; its own for the registry's own."""

    @property
    def numbers_as_tensors(self) -> bool: ...


class Signature(NamedTuple):
    """One way to call an operator, and what comes back."""

    parameters: tuple[str, ...]
    returns: str

    def declared(self, name: str, leading: tuple[str, ...] = ()) -> str:
        return f"def {name}({', '.join((*leading, *self.parameters))}) -> {self.returns}:"


def signatures(overloads: Iterable[Overload], *, is_method: bool = False) -> list[Signature]:
    """All ways to call the overloads, in the order in which they are tried, each once.

    An `out=` overload is told by the parameter `out` of the one it belongs to.
    """
    overloads = [one for one in overloads if not is_method or _is_method(one)]
    outs = {one.base: one for one in overloads if one.schema.kind == "out"}
    told: set[str] = set()
    found: dict[Signature, None] = {}
    for operator in overloads:
        key = operator.schema.name.without_namespace
        if key in told:
            continue
        out = None if operator.schema.kind == "out" else outs.get(key)
        if out is not None and _belongs(operator.schema, out.schema):
            told.add(out.schema.name.without_namespace)
        else:
            out = None
        for signature in _forms(operator, out, is_method):
            found[signature] = None
    return list(found)


def _is_method(overload: Overload) -> bool:
    """Whether it has a tensor that it could be a method of, and leaves out= to functions."""
    schema = overload.schema
    return schema.kind != "out" and any(one.name == "self" for one in schema.positional)


def _belongs(schema: FunctionSchema, out: FunctionSchema) -> bool:
    """Whether the out= overload takes what the functional one takes; factories say less."""
    own = {(one.name, str(one.type)) for one in schema.arguments}
    others = {(one.name, str(one.type)) for one in out.arguments if not one.is_out}
    options = {"dtype", "layout", "device", "pin_memory"}
    return others <= own and {name for name, _ in own - others} <= options


def _forms(operator: Overload, out: Overload | None, is_method: bool) -> Iterator[Signature]:
    """The parameters as the schema has them, and with a list of ints given one by one."""
    schema = operator.schema
    named = [parameter(one, operator) for one in schema.keyword_only if not one.is_out]
    named += _out_parameters(operator, out)
    positional = list(schema.positional)
    head = []
    if is_method:
        place = next(i for i, argument in enumerate(positional) if argument.name == "self")
        del positional[place]
        head = ["self"]
    listed = [*head, *(parameter(one, operator) for one in positional)]
    returns = returned(operator.schema.name.name, schema.returns)
    yield Signature((*listed, *(["*", *named] if named else [])), returns)
    rest = positional if is_method or not _starts_with_tensor(positional) else positional[1:]
    if len(rest) == 1 and _is_list_of_ints(rest[0].type):
        yield Signature((*listed[:-1], f"*{name_of(rest[0])}: _int", *named), returns)


def _out_parameters(operator: Overload, out: Overload | None) -> list[str]:
    if operator.schema.kind == "out":
        return [f"out: {_out_type(operator.schema.out_arguments)}"]
    if out is None:
        return []
    return [f"out: {_out_type(out.schema.out_arguments)} | None = None"]


def _out_type(arguments: tuple[Argument, ...]) -> str:
    if len(arguments) > 1:
        return f"tuple[{', '.join('Tensor' for _ in arguments)}] | list[Tensor]"
    return "Sequence[Tensor]" if arguments[0].type.is_list else "Tensor"


def _starts_with_tensor(arguments: list[Argument]) -> bool:
    return bool(arguments) and arguments[0].type.base == "Tensor"


def _is_list_of_ints(type: Type) -> bool:
    return isinstance(type, ListType) and type.base in ("int", "SymInt")


def name_of(argument: Argument) -> str:
    """The parameter's name: `self` is called `input`, as nothing but a method's first may be."""
    if argument.name == "self":
        return "input"
    return f"{argument.name}_" if keyword.iskeyword(argument.name) else argument.name


def parameter(argument: Argument, operator: Overload) -> str:
    """`dim: _int = -1`."""
    type = python_type(argument.type)
    if type == "Tensor" and operator.numbers_as_tensors and not argument.is_out:
        type = "Tensor | _complex"
    if _is_list_of_ints(argument.type) and argument.has_default and argument.default == ():
        # None says that nothing is given, too.
        type = f"{type} | None"
    text = f"{name_of(argument)}: {type}"
    return f"{text} = {default_of(argument)}" if argument.has_default else text


def default_of(argument: Argument) -> str:
    """The default as Python; `...` for words that are none of Python's."""
    value = argument.default
    if value is None:
        return "None"
    if isinstance(value, (bool, int, tuple)):
        word = argument.type.base in ("MemoryFormat", "Layout", "ScalarType")
        return "..." if word else repr(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else "..."
    return repr(value) if argument.type.base == "str" else "..."


def python_type(type: Type) -> str:
    """What may be given for a schema's type."""
    text = _AS_DTYPE if type.base == "ScalarType" else _PYTHON_TYPES.get(type.base, "Any")
    if type.is_list:
        if str(type).startswith("Tensor?["):
            text = "Tensor | None"
        sized = isinstance(type, ListType) and type.size is not None
        if type.is_nullable:
            sized = getattr(getattr(type, "element", None), "size", None) is not None
        text = f"{text} | Sequence[{text}]" if sized else f"Sequence[{text}]"
    return f"{text} | None" if type.is_nullable else text


def result_names(name: str, returns: tuple[Return, ...]) -> tuple[str, ...]:
    """The names of an operator's several results; none where they have none."""
    names = tuple(one.name for one in returns)
    return names if len(names) > 1 and all(names) else ()


def returned(name: str, returns: tuple[Return, ...]) -> str:
    """What a call gives: a type, a tuple of them, or the named tuple of the operator's results."""
    types = [_returned_type(one.type) for one in returns]
    if not types:
        return "None"
    if len(types) == 1:
        return types[0]
    return f"_results.{name}" if result_names(name, returns) else f"tuple[{', '.join(types)}]"


def _returned_type(type: Type) -> str:
    if type.base == "Scalar":
        return _NUMBER
    text = _PYTHON_TYPES.get(type.base, "Any")
    if type.base == "Device":
        text = "_device"
    if not type.is_list:
        return text
    return f"tuple[{text}, ...]" if type.base == "Tensor" else f"list[{text}]"

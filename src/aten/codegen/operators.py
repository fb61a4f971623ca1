"""Every overload of every operator: entries with their in-place and out= variants written out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from aten.codegen.entries import Entry, RegistryError
from aten.codegen.functions import OperatorFunction
from aten.codegen.variants import inplace_variant, out_variant
from aten.schema import FunctionSchema, SchemaError

# Where two overloads differ in one type only, the first of a pair is tried before the second, which
# would take what is meant for the first: a number fits a Tensor's place less well than it fits a
# Scalar's, but a tensor of one element fits both.
_TRIED_FIRST = {
    ("Tensor", "Scalar"),
    ("Tensor?", "Scalar?"),
    ("Tensor", "int"),
    ("Tensor", "SymInt"),
    ("int", "int[]"),
    ("int?", "int[]"),
    ("SymInt", "SymInt[]"),
}


@dataclass(frozen=True, slots=True)
class Operator:
    """One overload."""

    schema: FunctionSchema
    entry: Entry
    base: str  # key of the overload it was made from; its own for the entry's own
    places: tuple[str, ...]
    function: str  # "aten.ops.pointwise:add", or "" where none is written

    @property
    def key(self) -> str:
        return self.schema.name.without_namespace

    @property
    def packet(self) -> str:
        return self.schema.name.name

    @property
    def numbers_as_tensors(self) -> bool:
        return self.entry.numbers_as_tensors


def expand(entries: Iterable[Entry], functions: dict[str, OperatorFunction]) -> list[Operator]:
    """All operators, each entry's own overload before its variants.

    Raises:
        RegistryError: an overload is defined twice, a function belongs to no operator, or has no
            parameter for one of its operator's arguments.
    """
    operators: dict[str, Operator] = {}
    used: set[str] = set()
    for entry in entries:
        function = _function_of(entry, functions, used)
        for operator in _operators_of(entry, function.location if function else ""):
            if function is not None:
                _check_arguments(operator, function)
            known = operators.get(operator.key)
            if known is not None:
                raise RegistryError(
                    f"{entry.source}: {operator.key} is defined at {known.entry.source} already"
                )
            operators[operator.key] = operator
    for operator in operators.values():
        for name in operator.entry.stands_for:
            if name not in operators:
                raise RegistryError(
                    f"{operator.entry.source}: {operator.key} stands for {name}, which has no entry"
                )
    for name, definition in functions.items():
        if name not in used:
            raise RegistryError(
                f"{definition.source}: {name!r} has no entry in native_functions.yaml"
            )
    return list(operators.values())


def _operators_of(entry: Entry, function: str) -> Iterator[Operator]:
    for named in (entry, *map(entry.under, entry.aliases)):
        for schema, places in _schemas_of(named):
            yield Operator(schema, named, named.schema.name.without_namespace, places, function)


def _schemas_of(entry: Entry) -> list[tuple[FunctionSchema, tuple[str, ...]]]:
    schemas = [(entry.schema, entry.variants)]
    try:
        if entry.inplace is not None:
            inplace = inplace_variant(entry.schema, entry.inplace.overload)
            schemas.append((inplace, entry.inplace.places))
        if entry.out:
            out = entry.out.schema or out_variant(
                entry.schema, entry.out.overload, entry.out.arguments
            )
            schemas.append((out, tuple(place for place in entry.variants if place == "function")))
    except SchemaError as error:
        raise RegistryError(f"{entry.source}: {error}") from None
    return schemas


# What the backends make of an argument themselves: functions of the kind need no parameter for it.
_TAKEN_BY_BACKENDS = {
    "pointwise": frozenset({"memory_format"}),
    "reduction": frozenset({"dtype"}),
    "scan": frozenset({"dtype"}),
}


def _check_arguments(operator: Operator, function: OperatorFunction) -> None:
    """Raises RegistryError for an argument that the function would never see.

    Structured operators hand arguments over by name, and leave out what has no parameter of it;
    the others by position, and by name those that are keyword-only.
    """
    parameters = function.parameters
    arguments = [one for one in operator.schema.arguments if not one.is_out]
    taken = _TAKEN_BY_BACKENDS.get(operator.entry.kind)
    if taken is None:
        count = len(parameters.positional) - (parameters.positional[:1] == ("called",))
        by_place = arguments if parameters.takes_any_position else arguments[:count]
        arguments = [one for one in arguments if one.keyword_only or one not in by_place]
        taken = frozenset()
    for argument in arguments:
        if argument.name in parameters.names | taken or parameters.takes_any_keyword:
            continue
        raise RegistryError(
            f"{operator.entry.source}: {operator.key}: no parameter of the function at "
            f"{function.source} is named {argument.name!r}; it has "
            f"{', '.join((*parameters.positional, *parameters.by_keyword)) or 'none'}"
        )


def _function_of(
    entry: Entry, functions: dict[str, OperatorFunction], used: set[str]
) -> OperatorFunction | None:
    names = (
        (entry.function,)
        if entry.function
        else (
            entry.schema.name.without_namespace,
            entry.schema.name.name,
        )
    )
    for name in names:
        if name in functions:
            used.add(name)
            return functions[name]
    return None


def packets(operators: Iterable[Operator]) -> dict[str, tuple[Operator, ...]]:
    """Operators by name, each name's overloads in the order in which a call tries them."""
    grouped: dict[str, list[Operator]] = {}
    for operator in operators:
        grouped.setdefault(operator.packet, []).append(operator)
    return {name: tuple(_resolution_order(grouped[name])) for name in sorted(grouped)}


def _resolution_order(overloads: list[Operator]) -> list[Operator]:
    """Out= overloads last; before that the registry's order, changed where a pair demands it."""
    ordered = []
    pending = sorted(overloads, key=lambda operator: operator.schema.kind == "out")
    while pending:
        chosen = next(
            candidate
            for candidate in pending
            if not any(_goes_before(other, candidate) for other in pending)
        )
        pending.remove(chosen)
        ordered.append(chosen)
    return ordered


def _goes_before(left: Operator, right: Operator) -> bool:
    if (left.schema.kind == "out") != (right.schema.kind == "out"):
        return left.schema.kind != "out"
    left_types = [str(argument.type) for argument in left.schema.arguments if not argument.is_out]
    right_types = [str(argument.type) for argument in right.schema.arguments if not argument.is_out]
    if len(left_types) != len(right_types) or left_types == right_types:
        return False
    return all(
        pair[0] == pair[1] or pair in _TRIED_FIRST
        for pair in zip(left_types, right_types, strict=True)
    )

"""Every overload of every operator: entries with their in-place and out= variants written out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from aten.codegen.entries import Entry, RegistryError
from aten.codegen.functions import OperatorFunction
from aten.codegen.variants import inplace_variant, out_variant
from aten.schema import FunctionSchema, SchemaError

# Where two overloads differ in one type only, the first of a pair is tried before the second, which
# would take what is meant for the first: a number fits a Tensor's place less well than it fits a
# Scalar's, but a tensor of one element fits both.
_TRIED_FIRST = {
    ("Tensor", "float"),
    ("Tensor?", "float?"),
    ("Tensor", "Scalar"),
    ("Tensor?", "Scalar?"),
    ("Tensor", "int"),
    ("Tensor", "SymInt"),
    ("int", "int[]"),
    ("int?", "int[]"),
    ("SymInt", "SymInt[]"),
}


# Kinds of operators that may have a kernel of their own on the CPU.
_WITH_KERNELS = ("explicit", "kernel")


@dataclass(frozen=True, slots=True)
class Operator:
    """One overload."""

    schema: FunctionSchema
    entry: Entry
    base: str  # key of the overload it was made from; its own for the entry's own
    places: tuple[str, ...]
    function: str  # "aten.ops.pointwise.pointwise:add", or "" where none is written
    cpu: str = ""  # "aten.backends.cpu.operators.scatter:scatter_add", likewise
    element: str = ""  # of operators over lists: key of the overload called for each element

    @property
    def key(self) -> str:
        return self.schema.name.without_namespace

    @property
    def packet(self) -> str:
        return self.schema.name.name

    @property
    def numbers_as_tensors(self) -> bool:
        return self.entry.numbers_as_tensors


def expand(
    entries: Iterable[Entry],
    functions: dict[str, OperatorFunction],
    kernels: dict[str, OperatorFunction] | None = None,
) -> list[Operator]:
    """All operators, each entry's own overload before its variants.

    `functions` are the definitions by operator, `kernels` the CPU's own functions.

    Raises:
        RegistryError: an overload is defined twice, a function belongs to no operator, or has no
            parameter for one of its operator's arguments.
    """
    operators: dict[str, Operator] = {}
    kernels = kernels or {}
    used: set[str] = set()
    used_kernels: set[str] = set()
    for entry in entries:
        function = _function_of(entry, functions, used)
        kernel = _kernel_of(entry, kernels, used_kernels)
        _check_kind(entry, function, kernel)
        for operator in _operators_of(entry, function, kernel):
            for one in (function, kernel):
                if one is not None and entry.kind == operator.entry.kind:
                    _check_arguments(operator, one)
            known = operators.get(operator.key)
            if known is not None:
                raise RegistryError(
                    f"{entry.source}: {operator.key} is defined at {known.entry.source} already"
                )
            operators[operator.key] = operator
    for operator in tuple(operators.values()):
        if operator.entry.element:
            operators[operator.key] = replace(operator, element=_element_of(operator, operators))
        fast_path = operator.entry.fast_path
        for name in fast_path.operators if fast_path else ():
            if name not in operators:
                raise RegistryError(
                    f"{operator.entry.source}: the fast path of {operator.key} names {name}, which "
                    "has no entry"
                )
    for found, names in ((functions, used), (kernels, used_kernels)):
        for name, definition in found.items():
            if name not in names:
                raise RegistryError(
                    f"{definition.source}: {name!r} has no entry in native_functions.yaml"
                )
    return list(operators.values())


def _element_of(operator: Operator, operators: dict[str, Operator]) -> str:
    """The overload for one element: in place where the lists are changed in place.

    Raises RegistryError where there is none.
    """
    element = operator.entry.element
    name, dot, overload = element.partition(".")
    wanted = "inplace" if operator.schema.kind == "inplace" else "functional"
    for one in operators.values():
        if one.schema.kind == wanted and (
            one.base == element or one.key == f"{name}_{dot}{overload}"
        ):
            return one.key
    raise RegistryError(f"{operator.entry.source}: {operator.key}: no {wanted} {element}")


def _check_kind(
    entry: Entry, function: OperatorFunction | None, kernel: OperatorFunction | None
) -> None:
    """Raises RegistryError for a kernel beside a kind that has none, or nothing beside it."""
    if kernel is not None and entry.kind not in _WITH_KERNELS:
        raise RegistryError(
            f"{kernel.source}: {entry.schema.name} is of kind {entry.kind}, which has no kernels "
            "of its own"
        )
    if kernel is not None and entry.kind == "explicit" and function is None:
        raise RegistryError(
            f"{entry.source}: {entry.schema.name} is explicit, but no function in ops/ defines it"
        )


def _operators_of(
    entry: Entry, function: OperatorFunction | None, kernel: OperatorFunction | None
) -> Iterator[Operator]:
    locations = ("" if one is None else one.location for one in (function, kernel))
    definition, cpu = locations
    for named in (entry, *map(entry.under, entry.aliases)):
        name = named.schema.name.without_namespace
        for schema, places in _schemas_of(named):
            yield Operator(schema, named, name, places, definition, cpu)
    if entry.foreach:
        listed = entry.over_lists()
        for schema, places in _schemas_of(listed):
            yield Operator(schema, listed, listed.schema.name.without_namespace, places, "")


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


def _kernel_of(
    entry: Entry, kernels: dict[str, OperatorFunction], used: set[str]
) -> OperatorFunction | None:
    """A name without overload means those overloads that have kernels."""
    named = entry.schema.name.without_namespace in kernels
    if entry.kind not in _WITH_KERNELS and not named:
        return None
    return _function_of(entry, kernels, used)


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

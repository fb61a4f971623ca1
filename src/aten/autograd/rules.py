"""Which rule an operator is recorded by: its line in `derivatives.yaml`, one derived, or none.

Pointwise operators without a line are derived from their definitions (`derivation.py`); all others
are recorded through the operators that they call: on any device their definition over operators and
primitives, though the device may have a kernel of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from aten import registry
from aten._core.autograd import rules as codes
from aten._core.autograd.operators import RecordingKernel
from aten._core.autograd.rules import Formula, Rule
from aten._core.base.keys import DispatchKey
from aten._core.dispatch.dispatcher import FallthroughKernel, Kernel, OpOverload
from aten.autograd._generated import DERIVATIVES
from aten.autograd.derivation import CHOOSING, NoDerivativeError, derived
from aten.backends import structured
from aten.registry import ops

_POINTWISE = frozenset({"pointwise", "prim elementwise"})
_DEFINITIONS = (DispatchKey.Structured, DispatchKey.CompositeExplicitAutograd)
# Kinds whose definition is over other operators, which are recorded in its place.
_THROUGH = frozenset({"reduction", "scan", "explicit", "fused", "foreach", "copy", "factory"})


def rule_of(op: OpOverload) -> Rule:
    """The operator's rule."""
    title = _title(op)
    key = op.qualified_name.removeprefix("aten::")
    kind = op.entry.kind
    variant = op.entry.variant
    if variant == "out":
        return Rule(title, [], missing="it writes to out=", refuses=True)
    functional = _functional(op, key)
    name = line_of(op)
    if name in DERIVATIVES:
        return _written(op, title, DERIVATIVES[name], _writes(op))
    if kind == registry.USER_DEFINED:
        # Its kernel is recorded by what it calls.
        return Rule(title, [], through=FallthroughKernel())
    if kind in _POINTWISE or (op.namespace == "gradient"):
        return _derived(op, title, functional, variant == "inplace")
    if kind == "factory" and (op.name.endswith("_like") or op.name.startswith("new_")):
        # A tensor that is a pattern only.
        return Rule(title, None)
    if kind in _THROUGH or kind == "prim reduction":
        through = _definition(op)
        if through is not None:
            return Rule(title, [], through=through)
    return Rule(title, [], missing="it has none")


def _writes(op: OpOverload) -> bool:
    """Whether the operator writes to its first operand, which is its result."""
    first, returns = op._schema.arguments[:1], op._schema.returns
    if not first or not returns or first[0].annotation is None:
        return False
    return first[0].annotation.is_write and returns[0].annotation == first[0].annotation


def line_of(op: OpOverload) -> str:
    """The key of the operator's line in `derivatives.yaml`; its own where there is none.

    Other names of an operator have its line, and so have operators that write.
    """
    key = op.qualified_name.removeprefix("aten::")
    options = getattr(op.entry, "options", {})
    names = (key, _functional(op, key), options.get("alias_of"))
    return next((name for name in names if name in DERIVATIVES), key)


def _functional(op: OpOverload, key: str) -> str:
    """The key of the functional overload; its own where there is no other."""
    base = getattr(op.entry, "base", "")
    return base if op.namespace == "aten" and op.entry.variant == "inplace" and base else key


def _title(op: OpOverload) -> str:
    name = op.name.strip("_")
    return "".join(part[:1].upper() + part[1:] for part in name.split("_") if part) + "Backward0"


def _definition(op: OpOverload) -> Kernel | None:
    for key in _DEFINITIONS:
        kernels = op.registrations.kernels.get(key)
        if kernels:
            return kernels[-1]
    return None


def _positions(op: OpOverload) -> dict[str, int]:
    return {argument.name: place for place, argument in enumerate(op._schema.arguments)}


def _written(op: OpOverload, title: str, rows: Any, in_place: bool) -> Rule:
    if rows is None:
        return _cutting(title, in_place)
    if isinstance(rows, str):
        return Rule(title, [], missing="there is none")
    listed, without, kept = rows
    positions = _positions(op)
    formulas = [_formula(op, positions, *row) for row in listed if row[0][0] in positions]
    keeps = frozenset(positions[name] for name in kept if name in positions)
    return _rule(title, formulas, in_place, keeps, frozenset(without))


def _rule(
    title: str,
    formulas: list[Formula],
    in_place: bool,
    keeps: frozenset[int] = frozenset(),
    without: frozenset[int] = frozenset(),
) -> Rule:
    if in_place:
        keeps |= {code for formula in formulas for code in formula.sources if code == 0}
    return Rule(title, formulas, in_place=in_place, keeps=keeps, without=without)


def _formula(
    op: OpOverload,
    positions: dict[str, int],
    operands: tuple[str, ...],
    reads: tuple[str, ...],
    function: Callable[..., Any],
    operator: str | None,
    arguments: tuple[str, ...],
) -> Formula:
    places = tuple(positions[name] for name in operands)
    called = None if operator is None else _only_overload(operator, len(arguments))
    if called is None:
        return Formula(places, function, tuple(_source(name, positions) for name in reads))
    sources: list[int] = []
    constants: list[Any] = []
    for name in arguments:
        code = _source(name, positions)
        if code is None:
            constants.append(_constant(name))
            code = codes.CONSTANTS + len(constants) - 1
        sources.append(code)
    for argument in called._schema.arguments[len(arguments) :]:
        constants.append(argument.default)
        sources.append(codes.CONSTANTS + len(constants) - 1)
    return Formula(places, called, tuple(sources), tuple(constants))


def _constant(text: str) -> Any:
    import ast

    return ast.literal_eval(text)


def _only_overload(name: str, count: int) -> OpOverload | None:
    """The overload that a formula calls, where it can be only one, with tensors for tensors."""
    candidates = [
        op
        for op in registry._overloads(registry.packet("aten", name))
        if not any(argument.is_out for argument in op._schema.arguments)
    ]
    if len(candidates) != 1:
        return None
    arguments = candidates[0]._schema.arguments
    if len(arguments) < count or any(not one.has_default for one in arguments[count:]):
        return None
    return candidates[0]


def _source(name: str, positions: dict[str, int]) -> Any:
    if name in positions:
        return positions[name]
    if name == "gradient":
        return codes.GRADIENTS
    if name == "gradients":
        return codes.ALL_GRADIENTS
    if name == "needed":
        return codes.NEEDED
    if name == "given":
        return codes.GIVEN
    if name.startswith("result") and (name[6:].isdecimal() or name == "result"):
        return codes.RESULTS + int(name[6:] or 0)
    if name.endswith("_sizes") and name.removesuffix("_sizes") in positions:
        return codes.SIZES + positions[name.removesuffix("_sizes")]
    return None


def _passed(gradient: Any) -> Any:
    return gradient


def _zeros(gradient: Any) -> Any:
    return ops.aten.zeros_like(gradient)


def _derived(op: OpOverload, title: str, functional: str, in_place: bool) -> Rule:
    """A rule from the definition of the functional overload."""
    source = registry.operator(functional) if in_place else op
    if not structured.has_definition(source):
        through = _definition(op)
        return Rule(title, [], through=through, missing=None if through else "it has no definition")
    if _gives_steps(source):
        return _cutting(title, in_place)
    positions = _positions(op)
    formulas: list[Formula] = []
    try:
        for argument in source._schema.arguments:
            if not str(argument.type).startswith("Tensor") or argument.name in CHOOSING:
                continue
            formulas.append(_derived_formula(source, argument.name, positions))
    except NoDerivativeError as error:
        return Rule(title, [], missing=f"there is no rule for prims.{error}", in_place=in_place)
    return _rule(title, formulas, in_place)


def _cutting(title: str, in_place: bool) -> Rule:
    """The rule of an operator through which no gradients go.

    Where it writes, those of what it writes to become zero.
    """
    if not in_place:
        return Rule(title, None)
    zeros = Formula((0,), _zeros, (codes.GRADIENTS,))
    return Rule(title, [zeros], in_place=True, ends=True)


def _gives_steps(op: OpOverload) -> bool:
    return structured.definition_of(op).promotion == "bool"


def _derived_formula(op: OpOverload, wanted: str, positions: dict[str, int]) -> Formula:
    place = (positions[wanted],)
    found = derived(op, wanted)
    if found.operator is None:
        return Formula(place, _passed if found.passes else _zeros, (codes.GRADIENTS,))
    leading = (codes.GRADIENTS, codes.RESULTS) if found.from_result else (codes.GRADIENTS,)
    one = -1 if found.factor is None else len(leading) + found.names.index(found.factor)
    sources = leading + tuple(positions[name] for name in found.names)
    return Formula(place, found.operator, sources, (), one)


def recorded_operators() -> Iterable[str]:
    """The operators with a line of their own."""
    return DERIVATIVES


__all__ = ["RecordingKernel", "recorded_operators", "rule_of"]

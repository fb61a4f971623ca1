"""An operator's derivative in words: what it is, and where it was said."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from aten._core.autograd.rules import Formula
from aten._core.dispatch.dispatcher import OpOverload
from aten.autograd import _generated
from aten.autograd.rules import rule_of
from aten.backends import structured

_COMPOSITE = "composite"


def derivative_lines(op: OpOverload) -> list[str]:
    """A line for each operand that has a formula, or one that says why there is none."""
    if op.entry.kind == _COMPOSITE:
        return ["through the operators that it calls"]
    rule = rule_of(op)
    if rule.through is not None:
        return [f"through what it is made of, {rule.through.provenance}"]
    if rule.formulas is None:
        return ["none: no gradient goes through it"]
    if rule.missing is not None:
        return [f"none: {rule.missing}"]
    return list(_formulas(op, rule.formulas))


def _formulas(op: OpOverload, formulas: list[Formula]) -> Iterator[str]:
    names = [argument.name for argument in op._schema.arguments]
    for formula in formulas:
        operands = ", ".join(names[place] for place in formula.positions)
        passes = ""
        if formula.one >= 0:
            passes = f"; the gradient as it is where {names[formula.sources[formula.one]]} is 1"
        yield f"{operands}: {_text(formula)}{passes}"


def _text(formula: Formula) -> str:
    compute: Any = formula.compute
    if isinstance(compute, OpOverload):
        if compute.namespace == "gradient":
            place = structured.definition_of(compute).place
            return f"{compute.namespace}::{compute.schema_text}, derived from {place}"
        return f"{compute.qualified_name}, by derivatives.yaml"
    if compute.__module__ != _generated.__name__:
        return "the gradient as it is" if compute.__name__ == "_passed" else "zeros"
    source = inspect.getsource(compute).partition("return ")[2].strip()
    return f"{source.replace('ops.aten.', '')}, by derivatives.yaml"

"""`derivatives.yaml` as Python: a function for each formula, and a table of what they read."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from aten.codegen.entries import RegistryError

_CUTS = "none"
_REFUSED = "refused"
_NUMBERS = {"ln_2": "math.log(2)", "pi": "math.pi"}


@dataclass(frozen=True, slots=True)
class Formula:
    """The gradients of `operands`, as a function of `reads`."""

    operands: tuple[str, ...]
    reads: tuple[str, ...]
    function: str
    text: str
    # The operator that the formula is a call of, with the names and numbers it is called with.
    operator: str | None
    arguments: tuple[str, ...]


def derivatives_text(path: Path, helpers: Path, operators: Iterable[str]) -> str:
    """The generated module.

    Raises RegistryError for a formula that is none, and for names of no operator.
    """
    known = _helpers(helpers)
    packets = {name.partition(".")[0] for name in operators}
    entries = yaml.safe_load(path.read_text())
    lines: list[str] = []
    rows: list[str] = []
    for name, entry in _single(entries):
        if not name.startswith(("prims::", "fused::")) and name not in set(operators):
            raise RegistryError(f"{path.name}: {name!r} is no operator")
        if entry in (_CUTS, _REFUSED):
            rows.append(f"    {name!r}: {None if entry == _CUTS else _REFUSED!r},")
            continue
        without = tuple(map(int, entry.pop("without", "").split()))
        keeps = tuple(entry.pop("keeps", "").split())
        formulas = list(_formulas(name, entry, known, packets))
        for formula in formulas:
            lines += _function(formula)
        rows += [
            f"    {name!r}: ((",
            *(_row(formula) for formula in formulas),
            f"    ), {without!r}, {keeps!r}),",
        ]
    modules = ", ".join(sorted(set(known.values())))
    return _MODULE.format(modules=modules, functions="\n".join(lines), rows="\n".join(rows))


_MODULE = '''"""Made by `python -m aten.codegen` from derivatives.yaml. Do not edit."""

import math
from typing import Any

from aten.autograd.formulas import {modules}
from aten.registry import ops

{functions}

# By operator: operands, what their formula reads, the formula, and the operator and arguments that
# it is a call of; which results have no gradient; which operands are kept as they were. None cuts
# the way.
DERIVATIVES: dict[str, Any] = {{
{rows}
}}
'''


def _single(entries: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The operators with their entries, of which several may share one."""
    for names, entry in entries.items():
        for name in names.split():
            yield name, dict(entry) if isinstance(entry, dict) else entry


def _helpers(directory: Path) -> dict[str, str]:
    """The functions that formulas may call, with the module of each."""
    found: dict[str, str] = {}
    for path in sorted(directory.glob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                found[node.name] = path.stem
    return found


def _formulas(
    name: str, entry: dict[str, str], helpers: dict[str, str], packets: set[str]
) -> Iterator[Formula]:
    for operands, text in entry.items():
        listed = tuple(one.strip() for one in operands.split(","))
        try:
            tree = ast.parse(text, mode="eval")
        except SyntaxError as error:
            raise RegistryError(f"derivatives.yaml: {name}: {text!r} is no formula") from error
        written = _Calls(name, helpers, packets)
        expression = ast.unparse(written.visit(tree))
        prefix = name.replace(".", "_").replace("::", "_")
        yield Formula(
            listed,
            tuple(dict.fromkeys(written.reads)),
            f"{prefix}_{listed[0]}",
            expression,
            *_direct(ast.parse(text, mode="eval").body, helpers),
        )


def _direct(body: ast.expr, helpers: dict[str, str]) -> tuple[str | None, tuple[str, ...]]:
    if not isinstance(body, ast.Call) or body.keywords or not isinstance(body.func, ast.Name):
        return None, ()
    if body.func.id in helpers:
        return None, ()
    if not all(isinstance(one, (ast.Name, ast.Constant)) for one in body.args):
        return None, ()
    if any(isinstance(one, ast.Name) and one.id in _NUMBERS for one in body.args):
        return None, ()
    return body.func.id, tuple(ast.unparse(one) for one in body.args)


class _Calls(ast.NodeTransformer):
    """Says of called names what they are, and notes the others."""

    def __init__(self, operator: str, helpers: dict[str, str], packets: set[str]) -> None:
        self.operator = operator
        self.helpers = helpers
        self.packets = packets
        self.reads: list[str] = []

    def visit_Call(self, node: ast.Call) -> ast.Call:
        assert isinstance(node.func, ast.Name)
        called = node.func.id
        if called in self.helpers:
            place = f"{self.helpers[called]}.{called}"
        elif called in self.packets:
            place = f"ops.aten.{called}"
        else:
            raise RegistryError(f"derivatives.yaml: {self.operator}: {called!r} is not known")
        node.func = ast.parse(place, mode="eval").body
        node.args = [self.visit(one) for one in node.args]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in _NUMBERS:
            return ast.parse(_NUMBERS[node.id], mode="eval").body
        self.reads.append(node.id)
        return node


def _function(formula: Formula) -> list[str]:
    parameters = ", ".join(f"{name}: Any" for name in formula.reads)
    return ["", f"def {formula.function}({parameters}) -> Any:", f"    return {formula.text}", ""]


def _row(formula: Formula) -> str:
    parts = (formula.operands, formula.reads)
    direct = f"{formula.operator!r}, {formula.arguments!r}"
    return f"        ({parts[0]!r}, {parts[1]!r}, {formula.function}, {direct}),"

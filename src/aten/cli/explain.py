"""Explain an operator: its schema, where its function and kernels are, its prims, its dispatch row.

OP is a name as in `add`, `add.Tensor`, `linalg.svd` or `my_ops::scale`; without an overload, all
are explained. --code shows what runs: primitives, loops and machine code; or the function and
kernels, and the way that a call goes through them.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from aten.cli.code import code_text
from aten.suggestions import suggestion

if TYPE_CHECKING:
    from aten._core.dispatch.dispatcher import OpOverload
    from aten.registry import Entry

NAME = "explain"
SUMMARY = "where an operator comes from and what runs it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("op", metavar="OP")
    parser.add_argument(
        "--code", action="store_true", help="print the loops and the machine code, too"
    )


def execute(options: argparse.Namespace) -> None:
    found = list(_operators(options.op)) or list(_operators(_as_operators_are_called(options.op)))
    if not found:
        raise LookupError(f"there is no operator {options.op}{_suggestion(options.op)}")
    for position, op in enumerate(found):
        if position:
            print()
        _explain(op)
        if options.code:
            print()
            print(code_text(op))


def _operators(name: str) -> Iterator[OpOverload]:
    """The operator of that name, or all overloads of a packet."""
    from aten.registry import find_operator, find_packet, split_name

    namespace, packet_name, overload = split_name(name)
    if not overload:
        packet = find_packet(namespace, packet_name)
        if packet is not None:
            yield from packet.op_overloads
            return
    op = find_operator(name)
    if op is not None:
        yield op


def _as_operators_are_called(name: str) -> str:
    """`aten.linalg.svd`, as users call it → `linalg_svd`; a method or layer by its own name."""
    name = name.removeprefix("aten.")
    for namespace in ("ops.aten", "nn.functional", "functional", "Tensor", "F"):
        name = name.removeprefix(f"{namespace}.")
    for namespace in ("linalg", "fft", "special"):
        if name.startswith(f"{namespace}."):
            return name.replace(".", "_", 1)
    return name


def _suggestion(name: str) -> str:
    from aten._generated.table import OPERATORS, PACKETS

    return suggestion(name, {*PACKETS, *OPERATORS}, count=3)


def _explain(op: OpOverload) -> None:
    from aten.dispatch import table

    entry = op.entry
    print(f"{op.namespace}::{op.schema_text}")
    print(f"  kind        {entry.kind}{', ' + entry.variant if entry.variant else ''}")
    if entry.tags:
        print(f"  tags        {', '.join(entry.tags)}")
    place = _registry_line(entry)
    if place:
        print(f"  registry    native_functions.yaml:{place}")
    if entry.base and entry.base != op.qualified_name.partition("::")[2]:
        print(f"  made from   {entry.base}")
    print(f"  function    {_function_place(entry.function) or 'none'}")
    print(f"  prims       {', '.join(_prims(op)) or 'none'}")
    _explain_derivative(op)
    print(f"  tests       {', '.join(_tests(op)) or 'none found; they are in the source tree'}")
    print("  dispatch row")
    for line in table(op).splitlines()[1:]:
        print(f"  {line}")


def _explain_derivative(op: OpOverload) -> None:
    from aten.autograd.explanation import derivative_lines

    for position, line in enumerate(derivative_lines(op)):
        print(f"  {'' if position else 'derivative':10}  {line}")


def _registry_line(entry: Entry) -> int:
    """The line of the registry that the entry was made from; 0 for what users define."""
    with open(os.path.join(_package_folder(), "native_functions.yaml"), encoding="utf-8") as file:
        text = file.read()
    for name in (entry.base, entry.options.get("alias_of")):
        match = re.search(rf"^- func: {re.escape(str(name))}\(", text, re.MULTILINE)
        if match:
            return text.count("\n", 0, match.start()) + 1
    return 0


def _function_place(function: str) -> str:
    """file:line of "module:name", found in the source without importing it."""
    source = _source(function)
    if source is None:
        return ""
    path, text = source
    match = re.search(rf"^def {re.escape(function.partition(':')[2])}\(", text, re.MULTILINE)
    line = text.count("\n", 0, match.start()) + 1 if match else 1
    return f"{os.path.relpath(path, os.path.dirname(_package_folder()))}:{line}"


def _package_folder() -> str:
    return os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _source(function: str) -> tuple[str, str] | None:
    module, _, _ = function.partition(":")
    if not module:
        return None
    path = os.path.join(_package_folder(), *module.split(".")[1:]) + ".py"
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return path, file.read()


def _prims(op: OpOverload) -> list[str]:
    """The primitives that the operator's function binds for float32; none if it has no loops."""
    from aten.backends.cpu.explanation import prims_of

    try:
        return prims_of(op.qualified_name)
    except (LookupError, NotImplementedError, RuntimeError, TypeError):
        return []


def _source_tree() -> str:
    """The tree the package runs from, or, where it is installed, the current folder."""
    tree = os.path.dirname(os.path.dirname(_package_folder()))
    return tree if os.path.exists(os.path.join(tree, "pyproject.toml")) else os.getcwd()


def _tests(op: OpOverload) -> list[str]:
    """Test files that name the operator, or go through all of its kind; a source tree has them."""
    folder = os.path.join(_source_tree(), "tests")
    named = re.compile(rf"\b{re.escape(op.name)}\b")
    kind = f'"{op.entry.kind}"'
    found = []
    for place, _, names in os.walk(folder):
        for name in sorted(names):
            if not (name.startswith("test_") and name.endswith(".py")):
                continue
            path = os.path.join(place, name)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            if named.search(text) or ("OPERATORS" in text and kind in text):
                found.append(os.path.relpath(path, os.path.dirname(folder)))
    return found

"""What runs when an operator is called, as text.

Operators that are made of loops have primitives, Loop IR and machine code. Of all others there is
the function that defines them, the kernels of the backends, and the path of an example's calls.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aten._core.dispatch.dispatcher import OpOverload

_LOOPS = ("pointwise", "reduction", "scan")


def code_text(op: OpOverload) -> str:
    """The parts that there are, with their titles."""
    parts = _loops(op) if op.entry.kind in _LOOPS else []
    parts = parts or [*_function(op), *_kernels(op), *_example(op)]
    return "\n\n".join(parts) if parts else "there is no code of it: no function, and no kernel"


def _loops(op: OpOverload) -> list[str]:
    backend = import_module("aten.backends.cpu")
    try:
        return [backend.explain(op.qualified_name.partition("::")[2])]
    except (LookupError, NotImplementedError, RuntimeError, TypeError):
        return []


def _function(op: OpOverload) -> Iterator[str]:
    """The source of the function that defines the operator."""
    from aten.documentation.definitions import path_of

    module, _, name = op.entry.function.partition(":")
    if not name:
        return
    with open(path_of(module), encoding="utf-8") as file:
        text = file.read()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            lines = text.splitlines()[node.lineno - 1 : node.end_lineno]
            yield f"function, in {module.replace('.', '/')}.py"
            yield "\n".join(lines)


def _kernels(op: OpOverload) -> Iterator[str]:
    """What is registered for each key."""
    kernels = op.registrations.kernels
    lines = [
        f"{key.name:28} {found[-1].describe()}  {found[-1].provenance or ''}".rstrip()
        for key, found in sorted(kernels.items(), key=lambda item: item[0].value)
    ]
    if lines:
        yield "kernels"
        yield "\n".join(lines)


def _example(op: OpOverload) -> Iterator[str]:
    """The example of the operator's documentation, and the path of its calls."""
    example = _example_of(op)
    if not example:
        return
    import doctest

    import aten

    path: list[str] = []
    test = doctest.DocTestParser().get_doctest(example, {"aten": aten}, op.name, None, 0)
    with aten.trace_dispatch(path):
        doctest.DocTestRunner(verbose=False).run(test, out=lambda text: None)
    if any(line.strip().startswith(f"{op.qualified_name}  ") for line in path):
        yield "the calls of an example"
        yield "\n".join([example, "", *path])


def _example_of(op: OpOverload) -> str:
    from aten.documentation.sections import sections
    from aten.documentation.writing import name_for_users

    if op.namespace != "aten":
        return ""
    known = sections()
    called = name_for_users(op.name, is_function=op.name in known)
    return known[called].example if called in known else ""

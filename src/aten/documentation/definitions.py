"""What the functions under `ops/` say of themselves, read without importing them."""

from __future__ import annotations

import ast
import inspect
import os
from functools import cache

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def documentation_at(location: str) -> str:
    """The docstring of the function at "aten.ops.pointwise.pointwise:add", or nothing."""
    module, _, name = location.partition(":")
    return _docstrings(path_of(module)).get(name, "") if name else ""


def path_of(module: str) -> str:
    """The file of a module of the package."""
    return os.path.join(_PACKAGE, *module.split(".")[1:]) + ".py"


@cache
def _docstrings(path: str) -> dict[str, str]:
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        nodes = ast.parse(file.read()).body
    return {
        node.name: inspect.cleandoc(text)
        for node in nodes
        if isinstance(node, ast.FunctionDef) and (text := ast.get_docstring(node))
    }

"""Functions written in Python as stubs declare them, told from what they are when they run."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from typing import Any

# Tensor and the package have names like Python's own types: stubs call those by others.
_ALIASES = {
    name: f"_{name}"
    for name in (
        *("bool", "complex", "float", "int", "str"),
        *("device", "dtype", "layout", "memory_format", "Generator", "Storage"),
    )
}
_KEPT = frozenset(
    {"Any", "Callable", "None", "Sequence", "Size", "Tensor", "dict", "list", "object", "set"}
    | {"slice", "tuple"}
)

_STARS = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}


def declarations(function: Callable[..., Any], name: str, *, is_method: bool = False) -> list[str]:
    """The lines that declare `function`; two ways to call it where a flag decides what it gives."""
    signature = inspect.signature(function)
    returns = _annotation(signature.return_annotation, function)
    parameters = list(_parameters(signature, function, is_method))
    alone, _, both = returns.partition(" | tuple")
    if "return_indices" not in signature.parameters or not both:
        return [f"def {name}({', '.join(parameters)}) -> {returns}:"]
    place = list(signature.parameters).index("return_indices")
    flagged = [*parameters[:place], "*", "return_indices: Literal[True]", *parameters[place + 1 :]]
    plain = [*parameters]
    plain[place] = "return_indices: Literal[False] = False"
    return [
        f"def {name}({', '.join(plain)}) -> {alone}:",
        f"def {name}({', '.join(flagged)}) -> tuple{both}:",
    ]


def _parameters(
    signature: inspect.Signature, function: Callable[..., Any], is_method: bool
) -> Iterator[str]:
    starred = False
    for place, parameter in enumerate(signature.parameters.values()):
        if is_method and place == 0:
            yield "self"
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        starred = starred or parameter.kind is parameter.VAR_POSITIONAL
        text = _STARS.get(parameter.kind.name, "") + parameter.name
        text += f": {_annotation(parameter.annotation, function)}"
        if parameter.default is not parameter.empty:
            text += f" = {_default(parameter.default)}"
        yield text


def _default(value: Any) -> str:
    plain = value is None or isinstance(value, (bool, int, str))
    return repr(value) if plain or value in (0.5, 1.0, 2.0) else "..."


def _annotation(given: Any, function: Callable[..., Any]) -> str:
    if given is inspect.Parameter.empty:
        return "Any"
    if given is None:
        return "None"
    text = given if isinstance(given, str) else _text_of(given)
    names = getattr(function, "__globals__", {})
    return ast.unparse(_Renamed(names).visit(ast.parse(text, mode="eval").body))


def _text_of(given: Any) -> str:
    return (
        given.__name__ if isinstance(given, type) and not hasattr(given, "__args__") else str(given)
    )


class _Renamed(ast.NodeTransformer):
    """Names as stubs have them; aliases are written out, and what stubs do not know is Any."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in _ALIASES:
            return ast.Name(_ALIASES[node.id])
        if node.id in _KEPT:
            return node
        meant = self.names.get(node.id)
        if hasattr(meant, "__args__"):
            expanded: ast.expr = self.visit(ast.parse(str(meant), mode="eval").body)
            return expanded
        return ast.Name("Any")

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return self.visit_Name(ast.Name(node.attr))

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        base = self.visit(node.value)
        if isinstance(base, ast.Name) and base.id == "Any":
            return base
        return ast.Subscript(base, self.visit(node.slice))

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if isinstance(node.value, str):
            text: ast.expr = self.visit(ast.parse(node.value, mode="eval").body)
            return text
        return node

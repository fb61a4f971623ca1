"""The source of a function as a tree, and what the names in it stand for."""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
import typing
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

from aten.jit.errors import ScriptError
from aten.jit.terms import Parameter
from aten.jit.types import NONE, TENSOR, Type, UnknownTypeError, from_annotation

MISSING = object()


class Source(NamedTuple):
    """A function's definition, and where it is."""

    function: Callable[..., Any]
    definition: ast.FunctionDef
    file: str
    offset: int  # added to a node's line
    indent: int  # added to a node's column

    def error(self, node: ast.AST | None, message: str) -> ScriptError:
        line = getattr(node, "lineno", 1) + self.offset
        return ScriptError(
            message, self.file, line, getattr(node, "col_offset", 0) + self.indent + 1
        )

    def line(self, node: ast.AST) -> int:
        return getattr(node, "lineno", 1) + self.offset

    def lookup(self, name: str) -> Any:
        """What a name that is no variable stands for; MISSING where it stands for nothing."""
        function = self.function
        code = function.__code__
        if name in code.co_freevars and function.__closure__ is not None:
            try:
                return function.__closure__[code.co_freevars.index(name)].cell_contents
            except ValueError:
                return MISSING
        if name in function.__globals__:
            return function.__globals__[name]
        return getattr(builtins, name, MISSING)


def source_of(function: Any) -> Source:
    """Raises TypeError for what is no function of Python, OSError where its source is not there."""
    function = inspect.unwrap(getattr(function, "__func__", function))
    if not inspect.isfunction(function):
        raise TypeError(f"script: expected a function of Python, got {type(function).__name__}")
    lines, first = inspect.getsourcelines(function)
    text = "".join(lines)
    dedented = textwrap.dedent(text)
    file = inspect.getsourcefile(function) or "<unknown>"
    indent = len(lines[0]) - len(lines[0].lstrip())
    try:
        tree = ast.parse(dedented)
    except SyntaxError as error:
        raise ScriptError(
            "only functions that stand on their own lines can be scripted", file, first, 1
        ) from error
    definition = tree.body[0] if tree.body else None
    if not isinstance(definition, ast.FunctionDef):
        raise ScriptError("only functions defined by def can be scripted", file, first, indent + 1)
    return Source(function, definition, file, first - 1, indent)


def parameters_of(source: Source, is_method: bool) -> tuple[tuple[Parameter, ...], Type | None]:
    """A function's parameters, and the type that its annotation says it returns."""
    definition = source.definition
    if definition.args.vararg is not None or definition.args.kwarg is not None:
        raise source.error(definition, "*args and **kwargs cannot be scripted")
    annotations = _annotations(source)
    given = list(inspect.signature(source.function).parameters.values())
    parameters = []
    for one in given[1:] if is_method else given:
        kind = annotations.get(one.name, MISSING)
        has_default = one.default is not one.empty
        parameters.append(
            Parameter(
                one.name,
                _type(source, kind, definition) if kind is not MISSING else TENSOR,
                has_default,
                one.default if has_default else None,
                one.kind is one.KEYWORD_ONLY,
            )
        )
    returned = annotations.get("return", MISSING)
    if returned is MISSING:
        return tuple(parameters), None
    return tuple(parameters), NONE if returned is None else _type(source, returned, definition)


def _annotations(source: Source) -> dict[str, Any]:
    function = source.function
    try:
        return typing.get_type_hints(function)
    except Exception:
        # Names in annotations that only type checkers see.
        return {
            name: one for name, one in function.__annotations__.items() if not isinstance(one, str)
        }


def _type(source: Source, annotation: Any, node: ast.AST) -> Type:
    try:
        return from_annotation(annotation)
    except UnknownTypeError as error:
        raise source.error(node, str(error)) from None


def annotation_of(source: Source, node: ast.expr) -> Type:
    """The type that an annotation in a body says: names, subscripts and `|` of what is known."""
    return _type(source, _evaluated(source, node), node)


def _evaluated(source: Source, node: ast.expr) -> Any:
    if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, str)):
        return (
            None
            if node.value is None
            else _evaluated(source, ast.parse(node.value, mode="eval").body)
        )
    if isinstance(node, ast.Name):
        return source.lookup(node.id)
    if isinstance(node, ast.Attribute):
        owner = _evaluated(source, node.value)
        return getattr(owner, node.attr, MISSING) if isinstance(owner, ModuleType) else MISSING
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return typing.Union[_evaluated(source, node.left), _evaluated(source, node.right)]  # noqa: UP007
    if isinstance(node, ast.Subscript):
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        args = tuple(_evaluated(source, one) for one in inner)
        owner = _evaluated(source, node.value)
        try:
            return owner[args if len(args) > 1 else args[0]]
        except TypeError:
            return MISSING
    return MISSING

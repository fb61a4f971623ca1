"""Where the `@op` functions are, found by reading files without importing them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from aten.codegen.entries import RegistryError


@dataclass(frozen=True, slots=True)
class Parameters:
    """What a function can be called with."""

    positional: tuple[str, ...]
    by_keyword: tuple[str, ...]
    takes_any_position: bool  # *arguments
    takes_any_keyword: bool  # **keywords

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self.positional + self.by_keyword)


@dataclass(frozen=True, slots=True)
class OperatorFunction:
    """A function that defines operators."""

    location: str  # "aten.ops.pointwise.pointwise:add"
    source: str  # file:line
    names: tuple[str, ...]  # "add" for all overloads, "add.Scalar" for that one
    parameters: Parameters


def find_functions(directory: Path, package: str) -> dict[str, OperatorFunction]:
    """Functions of `package`, in `directory`, decorated with `@op` (named like the function) or
    `@op("name", …)`, by name.

    Raises:
        RegistryError: two functions define the same name, or a file is no Python.
    """
    found: dict[str, OperatorFunction] = {}
    for path in sorted(directory.rglob("*.py")):
        inner = path.relative_to(directory)
        module = ".".join((package, *inner.with_suffix("").parts))
        for function in _functions_of(path, f"{directory.name}/{inner}", module):
            for name in function.names:
                if name in found:
                    raise RegistryError(
                        f"{function.source}: {name!r} is defined at {found[name].source} already"
                    )
                found[name] = function
    return found


def _functions_of(path: Path, file: str, module_name: str) -> Iterator[OperatorFunction]:
    try:
        module = ast.parse(path.read_text())
    except SyntaxError as error:
        raise RegistryError(f"{file}:{error.lineno}: {error.msg}") from None
    for node in module.body:
        if not isinstance(node, ast.FunctionDef):
            continue
        names = tuple(name for decorator in node.decorator_list for name in _names(decorator, node))
        if names:
            location = f"{module_name}:{node.name}"
            yield OperatorFunction(
                location, f"{file}:{node.lineno}", names, _parameters_of(node.args)
            )


def _parameters_of(arguments: ast.arguments) -> Parameters:
    return Parameters(
        tuple(one.arg for one in (*arguments.posonlyargs, *arguments.args)),
        tuple(one.arg for one in arguments.kwonlyargs),
        arguments.vararg is not None,
        arguments.kwarg is not None,
    )


def _names(decorator: ast.expr, function: ast.FunctionDef) -> tuple[str, ...]:
    if isinstance(decorator, ast.Name) and decorator.id == "op":
        return (function.name,)
    if not isinstance(decorator, ast.Call) or not isinstance(decorator.func, ast.Name):
        return ()
    if decorator.func.id != "op":
        return ()
    given = tuple(
        argument.value
        for argument in decorator.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    )
    return given or (function.name,)

"""Stubs of the namespaces people call, from what is in them when the package runs.

Operators are declared as the registry has them. What is written in Python is imported from where
it stands, and declared where its own file does not say what it is.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from aten._core.dispatch.functions import CompletingFunction
from aten.codegen.annotations import declarations
from aten.codegen.operators import Operator
from aten.codegen.stubs import HEADER, by_packet, definition, documented, quoted

# Namespaces whose functions are operators by shorter names, or beside functions of Python.
_OF_OPERATORS = ("fft", "linalg", "nn.functional", "special")
_HEADER = (
    HEADER.replace(" from native_functions.yaml", "")
    .replace("import Any, NamedTuple, overload", "import Any, Literal, overload")
    .replace("tensor import Tensor\n", "tensor import Tensor as Tensor\n")
)
_PACKAGE = Path(__file__).parents[1]
_CONSTANTS = (bool, int, float, complex, str)
# What an attribute may be that says the same of every tensor.
_ANSWERS = (bool, int, type(None))
_OBJECTS = ("dtype", "layout", "memory_format")


def namespace_stubs(operators: Iterable[Operator]) -> dict[Path, str]:
    """The stubs, by their places in the package."""
    grouped = by_packet(operators)
    package = import_module("aten")
    made = {
        Path("__init__.pyi"): _package_text(package),
        Path("ops/__init__.pyi"): _operators_text(),
        Path("_generated/installed.pyi"): _installed_text(package.Tensor),
    }
    for name in _OF_OPERATORS:
        module = import_module(f"aten.{name}")
        path = Path(*name.split("."), "__init__.pyi")
        made[path] = _namespace_text(name, module, grouped)
    return made


def public_names(module: ModuleType) -> list[str]:
    """What `dir` shows of a module, but for names that begin with an underscore."""
    return [name for name in dir(module) if not name.startswith("_")]


def _package_text(package: ModuleType) -> str:
    table = import_module("aten._generated.table")
    lines = [_HEADER.format(title="The package."), "__version__: _str"]
    hidden = [name for name in table.FUNCTIONS if name.startswith("_")]
    for name in (*public_names(package), *hidden):
        value = _written(getattr(package, name))
        if name in table.FUNCTIONS and _is_packet(value):
            lines.append(f"from aten._generated.functions import {name} as {name}")
        elif isinstance(value, ModuleType):
            lines.append(f"from . import {name} as {name}")
        else:
            lines.append(_object_line(name, value))
    return "\n".join([*lines, ""])


def _is_packet(value: object) -> bool:
    return type(value).__name__ == "OpOverloadPacket"


def _written(value: Any) -> Any:
    """The function behind one that is compiled: it is what has a place and annotations."""
    return value.__wrapped__ if isinstance(value, CompletingFunction) else value


def _object_line(name: str, value: Any) -> str:
    if type(value).__name__ in _OBJECTS:
        return f"{name}: _{type(value).__name__}"
    if type(value) in _CONSTANTS:
        return f"{name}: _{type(value).__name__}"
    if value is None:
        return f"{name}: None"
    home = _home(name, value)
    if home is None:
        return f"{name}: Any"
    module, inner = home
    return f"from {module} import {inner} as {name}"


def _home(name: str, value: Any) -> tuple[str, str] | None:
    """The module that defines a value, and its name there."""
    inner = getattr(value, "__name__", name)
    code = getattr(value, "__code__", None)
    modules = {
        key: module
        for key, module in sorted(sys.modules.items())
        if key.startswith("aten.") and module is not None
    }
    if isinstance(code, type(_home.__code__)):
        for key, module in modules.items():
            if getattr(module, "__file__", None) == code.co_filename:
                return (key, inner) if vars(module).get(inner) is value else None
    places = [
        (key, one)
        for key, module in modules.items()
        for one in dict.fromkeys((inner, name))
        if vars(module).get(one) is value and _is_declared(key, one)
    ]
    makers = (getattr(value, "__module__", ""), type(value).__module__)
    own = [place for place in places if place[0] in makers]
    core = [place for place in places if place[0].startswith("aten._core.")]
    return next(iter([*own, *core, *places]), None)


def _is_declared(module: str, name: str) -> bool:
    """Whether the module's stub, or the module where it has none, defines the name itself."""
    place = _PACKAGE.joinpath(*module.split(".")[1:])
    files = [place.with_suffix(".pyi"), place.with_suffix(".py"), place / "__init__.py"]
    text = next((one.read_text() for one in files if one.exists()), "")
    return re.search(rf"^(?:class |def )?{name}\b", text, re.MULTILINE) is not None


def _operators_text() -> str:
    lines = [
        _HEADER.format(title="The operators."),
        "from aten._generated.operators import AtenOperators",
        "from aten.registry import Namespace",
        "",
        "aten: AtenOperators",
        "prims: Namespace",
        "fused: Namespace",
        "def __getattr__(name: _str) -> Namespace: ...",
    ]
    return "\n".join([*lines, ""])


def _namespace_text(
    name: str,
    module: ModuleType,
    grouped: Mapping[str, tuple[Operator, ...]],
) -> str:
    lines = [_HEADER.format(title=f"`aten.{name}`.")]
    for one in public_names(module):
        value = _written(getattr(module, one))
        if _is_packet(value):
            if value.name in grouped:
                text = documented(f"{name}.{one}", grouped[value.name])
                lines += definition(one, grouped[value.name], text)
        elif isinstance(value, ModuleType):
            if value.__name__.startswith(f"aten.{name}."):
                lines.append(f"from . import {one} as {one}")
        elif isinstance(value, FunctionType) and not _is_written(value):
            lines += _declared(value, one)
        elif one != "Tensor":
            lines.append(_object_line(one, value))
    return "\n".join([*lines, ""])


def _is_written(function: FunctionType) -> bool:
    """Whether a file defines the function by this name, at its top."""
    source = Path(function.__code__.co_filename).read_text()
    return any(
        isinstance(node, ast.FunctionDef) and node.name == function.__name__
        for node in ast.parse(source).body
    )


def _declared(function: FunctionType, name: str) -> list[str]:
    found = declarations(function, name)
    documentation = inspect.getdoc(function) or ""
    lines: list[str] = []
    for place, line in enumerate(found):
        lines += ["@overload"] if len(found) > 1 else []
        if place < len(found) - 1 or not documentation:
            lines.append(f"{line} ...")
            continue
        lines += [line, *(f"    {part}" if part else "" for part in quoted(documentation))]
    return lines


def _installed_text(tensor: type) -> str:
    """What is written in Python among Tensor's methods and attributes."""
    lines = [_HEADER.format(title="Methods of `aten.Tensor` written in Python.")]
    lines = [line.replace("import Tensor as Tensor", "import Tensor") for line in lines]
    lines += ["from aten._core.base.sizes import Size", "", "class InstalledMethods:"]
    for name, value in sorted(_installed(tensor)):
        declared = list(_member(name, value))
        lines += [f"    {line}" for line in declared]
    return "\n".join([*lines, ""])


def _installed(tensor: type) -> Iterator[tuple[str, Any]]:
    by_hand = _declared_by_hand()
    for name, value in vars(tensor).items():
        if name.startswith("_") or name in by_hand:
            continue
        value = _written(value)
        if isinstance(value, (FunctionType, property)) or type(value) in _ANSWERS:
            yield name, value


def _declared_by_hand() -> frozenset[str]:
    """What the stub of the compiled class says itself."""
    stub = Path(__file__).parents[1] / "_core/tensor/tensor.pyi"
    classes = [node for node in ast.parse(stub.read_text()).body if isinstance(node, ast.ClassDef)]
    return frozenset(
        node.name
        for one in classes
        if one.name == "Tensor"
        for node in one.body
        if isinstance(node, ast.FunctionDef)
    )


def _member(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, FunctionType):
        for line in (found := declarations(value, name, is_method=True)):
            if len(found) > 1:
                yield "@overload"
            yield f"{line} ..."
        return
    returned = _returned(value)
    yield "@property"
    yield f"def {name}(self) -> {returned}: ..."
    if isinstance(value, property) and value.fset is not None:
        yield f"@{name}.setter"
        yield f"def {name}(self, value: {returned}) -> None: ..."


def _returned(value: Any) -> str:
    """The type of an attribute: of what it is, or as its function says; operators give tensors."""
    if isinstance(value, property):
        annotations = getattr(value.fget, "__annotations__", {})
        returned = str(annotations.get("return", "Tensor"))
    else:
        returned = "None" if value is None else type(value).__name__
    return f"_{returned}" if returned in ("bool", "int", "dtype") else returned

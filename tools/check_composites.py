"""Check composites and explicit operators: they call operators, not what is behind the dispatcher.

    python tools/check_composites.py [ROOT]

A key above the backends sees what a composite is made of only where it calls operators. So neither
the composite's function nor a helper of it under `ops/` may name the function of another operator,
NumPy, or a compiled module that computes; `HARMLESS` is what they may use of those. Functions of
explicit operators run on every device, so the same holds for them; but having a derivative of their
own, they may share functions.
"""

from __future__ import annotations

import ast
import re
import runpy
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

COMPILED = ("aten._core", "aten.backends.cpu.kernels")
# Packages of modules of these.
PACKAGE = re.compile(rf"(?:{'|'.join(map(re.escape, COMPILED))})(?:\.\w+)?")
# What describes tensors, checks them, changes which memory they show or which may be written to,
# makes them of Python numbers, or writes with an operator that it is handed: modules, and functions
# of others.
HARMLESS = frozenset(
    {
        "aten._core.autograd.operators:own_storages_from",
        "aten._core.base.device",
        "aten._core.base.dtypes",
        "aten._core.dispatch.dispatcher",
        "aten._core.random.generator",
        "aten._core.tensor.promotion",
        "aten._core.tensor.tensor",
        "aten._core.tensor.tensor_impl",
        "aten._core.base.errors",
        "aten._core.tensor.construct:tensor_from_data",
        "aten._core.memory.storage:Storage",
        "aten._core.tensor.making:has_data",
        "aten._core.tensor.making:tensor_from_buffer",
        "aten._core.tensor.making:whole_of",
        "aten._core.tensor.memory:become",
        "aten._core.tensor.memory:before_write",
        "aten._core.tensor.memory:check_writable",
        "aten._core.tensor.memory:mark_written",
        "aten._core.tensor.memory:overlaps",
        "aten._core.tensor.memory:resize",
        "aten._core.tensor.memory:write_out",
        "aten._core.tensor.memory:write_outs",
        "aten._core.views.views:try_view",
    }
)


class Place(NamedTuple):
    """A function, class or constant of a module of `ops/`."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"


class Operations:
    """The functions under `ops/`, the operators they define, and what each of them names."""

    def __init__(self, root: Path) -> None:
        self.root = root
        package = root / "src/aten"
        self.files = {
            ".".join(("aten", *path.relative_to(package).with_suffix("").parts)): path
            for path in sorted(package.glob("ops/**/*.py"))
        }
        self.trees = {module: ast.parse(path.read_text()) for module, path in self.files.items()}
        self.defined = {module: dict(_definitions(tree)) for module, tree in self.trees.items()}
        self.imported = {module: dict(_imports(tree)) for module, tree in self.trees.items()}
        table = runpy.run_path(str(root / "src/aten/_generated/table.py"))["OPERATORS"]
        # Of each function the operators' names, without overload, and kinds.
        self.kinds: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for qualified, (_, kind, _, base, function, _) in table.items():
            if function and qualified == base:
                self.kinds[function][kind].add(qualified.partition(".")[0])

    def of_kind(self, kind: str) -> Iterator[Place]:
        for function, kinds in self.kinds.items():
            if kind in kinds:
                yield Place(*function.split(":"))

    def named_in(self, place: Place) -> Iterator[tuple[int, Place | str]]:
        """Line and target of each name: a place under `ops/`, or "aten._core.base.dtypes:dtype"."""
        node = self.defined[place.module][place.name]
        own = _local_names(node)
        for inner in ast.walk(node):
            if isinstance(inner, ast.Import):
                yield from ((inner.lineno, alias.name) for alias in inner.names)
            elif isinstance(inner, ast.ImportFrom):
                yield from ((inner.lineno, f"{inner.module}:{one.name}") for one in inner.names)
            elif isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name):
                target = self._target(place.module, inner.value.id, own)
                if isinstance(target, str):
                    yield inner.lineno, self._member(target, inner.attr)
            elif isinstance(inner, ast.Name):
                target = self._target(place.module, inner.id, own)
                if isinstance(target, Place) or (target and not self._is_module(target)):
                    yield inner.lineno, target

    def _target(self, module: str, name: str, own: frozenset[str]) -> Place | str | None:
        if name in own:
            return None
        if name in self.defined[module]:
            return Place(module, name)
        origin = self.imported[module].get(name)
        if origin is None:
            return None
        source, _, member = origin.partition(":")
        if source in self.defined and member in self.defined[source]:
            return Place(source, member)
        return origin

    def _member(self, target: str, name: str) -> Place | str:
        """The attribute of an imported module: "aten._core.tensor:memory" has "….memory:…"."""
        module = target.replace(":", ".")
        if module in self.defined and name in self.defined[module]:
            return Place(module, name)
        return f"{module}:{name}"

    def _is_module(self, target: str) -> bool:
        package = target.partition(":")[0]
        return bool(PACKAGE.fullmatch(package)) or target.replace(":", ".") in self.defined


def _definitions(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name, node
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((one.id, node.value) for one in targets if isinstance(one, ast.Name))


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            yield from ((one.asname or one.name, f"{node.module}:{one.name}") for one in node.names)
        elif isinstance(node, ast.Import):
            yield from ((one.asname or one.name, one.name) for one in node.names)


def _local_names(node: ast.AST) -> frozenset[str]:
    arguments = {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}
    stored = {
        one.id
        for one in ast.walk(node)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }
    return frozenset(arguments | stored)


def violations(root: Path) -> list[str]:
    """One line, "file:line: what is wrong", for each name that a function must not use."""
    operations = Operations(root)
    found = []
    for composite in operations.of_kind("composite"):
        found += _shared(operations, composite)
        found += _within(operations, composite, "composite")
    for function in operations.of_kind("explicit"):
        found += _within(operations, function, "explicit")
    return list(dict.fromkeys(found))


def _within(operations: Operations, function: Place, kind: str) -> Iterator[str]:
    """What is wrong with a function and all that it calls under `ops/`."""
    todo, seen = [function], {function}
    while todo:
        place = todo.pop()
        for line, target in operations.named_in(place):
            problem = _problem(operations, function, target, kind)
            if problem:
                file = operations.files[place.module].relative_to(operations.root)
                yield f"{file}:{line}: the {kind} {function.name} {problem}"
            elif isinstance(target, Place) and target not in seen:
                seen.add(target)
                todo.append(target)


def _shared(operations: Operations, composite: Place) -> list[str]:
    kinds = operations.kinds[str(composite)]
    own = kinds["composite"]
    others = kinds.get("explicit", set()) - own
    file = f"src/{composite.module.replace('.', '/')}.py"
    return [
        f"{file}:1: {composite.name} is the function of the composite {sorted(own)[0]} and of "
        f"{other}, which has a kernel: the one has to call the other"
        for other in sorted(others)
    ]


def _problem(operations: Operations, function: Place, target: Place | str, kind: str) -> str:
    if isinstance(target, Place):
        other = target != function and str(target) in operations.kinds
        if other and kind == "composite":
            return f"calls the function {target.name} in place of the operator"
        return ""
    module, _, _ = target.partition(":")
    if module.split(".")[0] == "numpy":
        return "computes with NumPy"
    if not module.startswith(COMPILED):
        return ""
    described = module.rpartition(".")[0] in HARMLESS  # a constant's method
    if PACKAGE.fullmatch(module) or described or {module, target} & HARMLESS:
        return ""
    return f"uses {target}, behind the dispatcher"


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1]
    found = violations(root)
    print("\n".join(found) or "composites and explicit operators: every one calls operators")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

"""Check the floors: a file imports from its own package and from floors below, never from above.

    python tools/check_floors.py [ROOT]

`FLOORS` is the one table of them, ground first. A floor with several packages lists them in
order: each may use those before it, which keeps every pair of packages acyclic. Imports inside
functions count; imports for types only do not, they are never run.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

FLOORS: tuple[tuple[str, ...], ...] = (
    (
        *("config", "suggestions", "schema"),
        *("_core", "_core.base", "_core.threads", "_core.memory", "_core.tensor", "_core.random"),
        *("_core.dispatch", "_core.views", "_core.autograd", "schema.inference"),
        # They stand with the backend they are of, and use nothing else of it.
        *("backends.cpu.kernels", "backends.cpu.kernels.filling", "backends.cpu.kernels.moving"),
        *("backends.cpu.kernels.pointwise", "backends.cpu.kernels.folding"),
        *("backends.cpu.kernels.ordering", "backends.cpu.kernels.indexing"),
        *("backends.cpu.kernels.matrix", "backends.cpu.kernels.windows"),
        "backends.cpu.kernels.fourier",
    ),
    ("_generated", "documentation", "registry", "prims", "codegen"),
    (
        *("loops", "ops", "ops.pointwise", "ops.reductions", "ops.linear_algebra", "ops.shape"),
        *("ops.memory", "ops.indexing", "ops.sorting", "ops.windows", "ops.fourier"),
        *("ops.normalization", "ops.random", "ops.losses", "ops.networks", "dispatch"),
    ),
    ("backends",),
    ("autograd", "graph", "library", "foreign", "transforms", "autograd.forward_ad"),
    (
        "names",
        "overrides",
        "constants",
        "grad_mode",
        "settings",
        "return_types",
        "memory",
        "interop",
        "construction",
        "type_info",
        "functional",
        "array_api",
        "copying",
        "tensor_type",
        "nn",
        "optim",
        "linalg",
        "fft",
        "func",
        "special",
        "signal",
        "masked",
        "random",
        "amp",
        "export",
        "profiler",
        "safetensors",
        "checkpoints",
        "testing",
        "utils",
        "distributions",
        "names.absent_devices",
        "accelerator",
        "compiler",
        "jit",
        "cpu",
        "cuda",
        "mps",
        "mtia",
        "xpu",
        "adapters",
        "names.deferred_names",
    ),
    ("__init__", "conformance", "cli", "version"),
)
_ORDER = {name: place for place, name in enumerate(name for floor in FLOORS for name in floor)}
_FLOOR = {name: number for number, floor in enumerate(FLOORS, 1) for name in floor}
_COMPILED_IMPORT = re.compile(
    r"\s*(?:from\s+(aten[\w.]*)\s+c?import\s+(\(?[\w, ]*)|c?import\s+(aten[\w.]*))"
)
FORBIDDEN = ("torch", "functorch", "torchgen")


def package_of(module: str) -> str | None:
    """The entry of the table for "aten.loops.spec" or "aten"; None where it has none."""
    parts = module.split(".")[1:] or ["__init__"]
    for length in range(len(parts), 0, -1):
        name = ".".join(parts[:length])
        if name in _ORDER:
            return name
    return None


def python_imports(source: str) -> Iterator[tuple[int, str]]:
    """Line and module of every import that can run."""
    skipped: set[ast.AST] = set()
    for node in ast.walk(ast.parse(source)):
        if node in skipped:
            skipped.update(ast.iter_child_nodes(node))
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            skipped.update(node.body)
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None, "relative imports are not used"
            yield from ((node.lineno, module) for module in _targets(node.module, node.names))


def _targets(module: str, names: list[ast.alias]) -> Iterator[str]:
    """`from aten import registry` imports a module of that name where the table knows one."""
    for alias in names:
        inner = f"{module}.{alias.name}"
        yield inner if inner.removeprefix("aten.") in _ORDER else module


def compiled_imports(source: str) -> Iterator[tuple[int, str]]:
    """Line and module of every import and cimport from the package in Cython code."""
    for number, line in enumerate(source.splitlines(), 1):
        found = _COMPILED_IMPORT.match(line)
        if found is None:
            continue
        module = found[1] or found[3]
        names = [ast.alias(name) for name in re.findall(r"\w+", found[2] or "")]
        yield from ((number, target) for target in list(_targets(module, names)) or [module])


def violations(root: Path) -> list[str]:
    """One line, "file:line: what is wrong", for each import that goes up."""
    package = root / "src" / "aten"
    found = []
    for path in sorted(package.rglob("*.p*")):
        if path.suffix not in (".py", ".pyx", ".pxd"):
            continue
        module = ".".join(("aten", *path.relative_to(package).with_suffix("").parts))
        module = module.removesuffix(".__init__")
        read = python_imports if path.suffix == ".py" else compiled_imports
        for line, target in read(path.read_text()):
            problem = _problem(module, target)
            if problem:
                found.append(f"{path.relative_to(root)}:{line}: {problem}")
    return list(dict.fromkeys(found))


def _problem(module: str, target: str) -> str:
    if target.split(".")[0] in FORBIDDEN:
        return f"{module} imports {target}; the package never does"
    if target.split(".")[0] != "aten":
        return ""
    mine, other = package_of(module), package_of(target)
    if mine is None or other is None:
        return f"{module if mine is None else target} has no floor in tools/check_floors.py"
    if mine == other or _ORDER[other] < _ORDER[mine]:
        return ""
    return f"{module} (floor {_FLOOR[mine]}) imports {target} (floor {_FLOOR[other]})"


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1]
    found = violations(root)
    print("\n".join(found) or "floors: every import goes down")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

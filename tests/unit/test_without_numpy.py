"""NumPy is for interoperation alone: what computes does without."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import aten
from aten._core.base.numpy_types import numpy_for

PACKAGE = Path(aten.__file__).parent
# What primitives mean on the reference device, which is NumPy's.
REFERENCE = ("prims", "backends/reference")


def test_without_numpy() -> None:
    script = Path(__file__).parent / "without_numpy.py"
    done = subprocess.run([sys.executable, "-W", "error", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "all done without NumPy\n"


def imported(path: Path) -> set[str]:
    """The packages that a file imports when it runs: those that types alone need do not count."""
    found: set[str] = set()

    class Imports(ast.NodeVisitor):
        def visit_If(self, node: ast.If) -> None:
            if ast.unparse(node.test) != "TYPE_CHECKING":
                self.generic_visit(node)

        def visit_Import(self, node: ast.Import) -> None:
            found.update(alias.name.partition(".")[0] for alias in node.names)

        def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
            found.add((node.module or "").partition(".")[0])

    Imports().visit(ast.parse(path.read_text()))
    return found


def test_nothing_else_imports_numpy() -> None:
    paths = list(PACKAGE.rglob("*.py"))
    users = {
        path.relative_to(PACKAGE).as_posix()
        for path in paths
        if imported(path) & {"numpy", "ml_dtypes"}
    }
    assert {name for name in users if not name.startswith(REFERENCE)} == set()
    assert users  # the look finds what there is


def test_absent_packages_are_named_with_their_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    remedy = r"ml_dtypes, which is not installed: pip install 'aten\[numpy\]'"
    with pytest.raises(ImportError, match=remedy) as raised:
        aten.ones(1, dtype=aten.bfloat16).numpy()
    assert raised.value.name == "ml_dtypes"
    assert numpy_for("a test").__name__ == "numpy"

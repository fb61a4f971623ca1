"""A copy of the package in a folder of its own, to change and to run beside this one."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import aten

PACKAGE = Path(aten.__file__).parent


def copied(root: Path) -> Path:
    """`root`/src/aten: sources and tables are copies, compiled modules those of this package."""
    package = root / "src/aten"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    # Compiled modules are beside the sources, or, while they are worked on, elsewhere. One module
    # has no source: that with what Cython's compiler lets the others share.
    shared = PACKAGE / "_core/cython_utilities.pyx"
    compiled = PACKAGE.rglob(f"*{EXTENSION_SUFFIXES[0]}")
    sources = (shared, *PACKAGE.rglob("*.pyx"), *compiled)
    for path in {one.with_name(one.name.partition(".")[0]) for one in sources}:
        place = path.relative_to(PACKAGE)
        spec = importlib.util.find_spec(".".join(("aten", *place.parts)))
        assert spec is not None
        assert spec.origin is not None
        (package / place).with_suffix(EXTENSION_SUFFIXES[0]).symlink_to(spec.origin)
    return package


def run(root: Path, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python on `code`, with the copy as the package; what else is installed stays."""
    start = f"import sys; sys.path[:0] = {[str(root / 'src'), *filter(None, sys.path)]!r}\n"
    # Without site, which would put the package that is installed in front of all.
    command = [sys.executable, "-S", "-W", "error", "-c", start + code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def run_codegen(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run(root, "import runpy; runpy.run_module('aten.codegen', None, '__main__')", *arguments)

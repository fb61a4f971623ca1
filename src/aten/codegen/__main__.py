"""`python -m aten.codegen [--check] [--root DIRECTORY]`."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from aten.codegen.derivatives import derivatives_text
from aten.codegen.entries import RegistryError, read_entries, read_tags
from aten.codegen.functions import find_functions
from aten.codegen.namespaces import namespace_stubs
from aten.codegen.operators import Operator, expand
from aten.codegen.reference import reference_text
from aten.codegen.stubs import (
    functions_text,
    methods_text,
    operators_text,
    results_text,
)
from aten.codegen.table import names_text, table_text
from aten.schema import SchemaError

# Functions that serve operators on the CPU alone.
_CPU_OPERATORS = "aten.backends.cpu.operators"
_TABLE = Path("src/aten/_generated/table.py")
_OVER_ELEMENTS = ("pointwise", "reduction", "scan")


def generate(root: Path) -> dict[Path, str]:
    """The generated files of the repository at `root`, relative to it, and their contents.

    Raises:
        RegistryError, SchemaError: something is wrong in the sources; the message names file:line.
    """
    package = root / "src" / "aten"
    entries = read_entries(package / "native_functions.yaml", read_tags(package / "tags.yaml"))
    kernels = find_functions(package / "backends" / "cpu" / "operators", _CPU_OPERATORS)
    operators = expand(entries, find_functions(package / "ops", "aten.ops"), kernels)

    generated = Path("src/aten/_generated")
    return {
        generated / "table.py": table_text(operators),
        generated / "names.py": names_text(operators),
        generated / "functions.pyi": functions_text(operators),
        generated / "methods.pyi": methods_text(operators),
        generated / "operators.pyi": operators_text(operators),
        Path("src/aten/return_types.pyi"): results_text(operators),
        Path("docs/operators.md"): reference_text(operators),
        **_derivatives(package, operators),
        **_namespaces(root, operators),
    }


def _derivatives(package: Path, operators: list[Operator]) -> dict[Path, str]:
    """What is made of the table of derivatives, if the package has one."""
    table = package / "derivatives.yaml"
    if not table.is_file():
        return {}
    helpers = package / "autograd" / "formulas"
    text = derivatives_text(table, helpers, [operator.key for operator in operators])
    return {Path("src/aten/autograd/_generated.py"): text}


def _namespaces(root: Path, operators: list[Operator]) -> dict[Path, str]:
    """The stubs of the package at `root`, if it is the one that runs."""
    if not _is_running(root):
        return {}
    place = Path("src/aten")
    return {place / path: text for path, text in namespace_stubs(operators).items()}


def stale_files(root: Path, files: dict[Path, str]) -> list[Path]:
    """Those whose contents on disk are others, or that are missing."""
    return [
        path
        for path, text in files.items()
        if not (root / path).is_file() or (root / path).read_text() != text
    ]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m aten.codegen", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; name stale files")
    parser.add_argument(
        "--root",
        type=Path,
        default=Path(__file__).resolve().parents[3],
        help="the repository's root directory",
    )
    options = parser.parse_args(arguments)
    try:
        files = generate(options.root)
    except (RegistryError, SchemaError) as error:
        print(error, file=sys.stderr)
        return 1
    stale = stale_files(options.root, files)
    if options.check:
        for path in stale:
            print(f"{path} is stale: run python -m aten.codegen", file=sys.stderr)
        return 1 if stale else 0
    for note in _notes(options.root):
        print(note)
    for path in stale:
        (options.root / path).parent.mkdir(parents=True, exist_ok=True)
        (options.root / path).write_text(files[path])
        print(f"wrote {path}")
    # Stubs of namespaces are of what is in them when the package runs: by the tables just written.
    if _TABLE in stale and _is_running(options.root):
        return _run_again(options.root)
    return 0


def _notes(root: Path) -> Iterator[str]:
    """What to know of operators that are new."""
    before = (root / _TABLE).read_text() if (root / _TABLE).is_file() else ""
    package = root / "src" / "aten"
    for entry in read_entries(package / "native_functions.yaml", read_tags(package / "tags.yaml")):
        name = entry.schema.name.without_namespace
        if entry.kind not in _OVER_ELEMENTS or f"'{name}':" in before:
            continue
        for argument in entry.schema.arguments:
            if argument.type.base == "float":
                yield (
                    f"{entry.source}: {name}: for each value of '{argument.name}' a kernel is "
                    "compiled; a Scalar is handed to one kernel when it runs"
                )


def _is_running(root: Path) -> bool:
    return Path(__file__).parents[1].samefile(root / "src" / "aten")


def _run_again(root: Path) -> int:
    isolated = ["-S"] if sys.flags.no_site else []
    command = [sys.executable, *isolated, "-m", "aten.codegen", f"--root={root}"]
    search = os.pathsep.join(filter(None, sys.path))
    return subprocess.run(command, env={**os.environ, "PYTHONPATH": search}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

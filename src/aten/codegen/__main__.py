"""`python -m aten.codegen [--check] [--root DIRECTORY]`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

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
from aten.codegen.table import table_text
from aten.schema import SchemaError


def generate(root: Path) -> dict[Path, str]:
    """The generated files of the repository at `root`, relative to it, and their contents.

    Raises:
        RegistryError, SchemaError: something is wrong in the sources; the message names file:line.
    """
    package = root / "src" / "aten"
    entries = read_entries(package / "native_functions.yaml", read_tags(package / "tags.yaml"))
    operators = expand(entries, find_functions(package / "ops"))

    generated = Path("src/aten/_generated")
    return {
        generated / "table.py": table_text(operators),
        generated / "functions.pyi": functions_text(operators),
        generated / "methods.pyi": methods_text(operators),
        generated / "operators.pyi": operators_text(operators),
        Path("src/aten/return_types.pyi"): results_text(operators),
        Path("docs/operators.md"): reference_text(operators),
        **_namespaces(root, operators),
    }


def _namespaces(root: Path, operators: list[Operator]) -> dict[Path, str]:
    """The stubs of the package at `root`, if it is the one that runs."""
    place = Path("src/aten")
    if not Path(__file__).parents[1].samefile(root / place):
        return {}
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
    for path in stale:
        (options.root / path).parent.mkdir(parents=True, exist_ok=True)
        (options.root / path).write_text(files[path])
        print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

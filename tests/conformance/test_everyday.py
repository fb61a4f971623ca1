"""Everyday programs give the same with `P = aten` and with `P = torch`."""

from __future__ import annotations

import types
from pathlib import Path

import pytest
from comparison import assert_same

FOLDER = Path(__file__).parents[2] / "examples" / "everyday"
PROGRAMS = {str(path.relative_to(FOLDER)): path for path in sorted(FOLDER.rglob("*.py"))}
IMPORT = "import aten as P\n"


def loaded(path: Path, library: str) -> types.ModuleType:
    """The program with the library as P."""
    source = path.read_text()
    assert source.count(IMPORT) == 1
    module = types.ModuleType("program")
    exec(compile(source.replace(IMPORT, f"import {library} as P\n"), path, "exec"), vars(module))
    return module


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_the_same(name):
    results = []
    for library in ("aten", "torch"):
        program = loaded(PROGRAMS[name], library)
        results.append(program.run(*program.prepare()))
    assert_same(*results, tolerance=1e-4, absolute=1e-4)


def test_there_are_enough_of_them():
    assert len(PROGRAMS) >= 40

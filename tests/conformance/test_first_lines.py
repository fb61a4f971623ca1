"""First parts of inference scripts as people write them, run with aten in the place of torch.

`first_lines/*.py` hold them, one to a cell (`# %% title`). What a cell prints and every variable it
leaves must be what torch leaves.
"""

from __future__ import annotations

import contextlib
import io
import math
import re
import types
import warnings
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from comparison import assert_same

import aten

FOLDER = Path(__file__).parent / "first_lines"
# Names that mean the installation, not what was computed.
OF_THE_LIBRARY = {"major", "minor", "count_of_threads"}


def cells() -> dict[str, str]:
    """The scripts by file and title."""
    found = {}
    for path in sorted(FOLDER.glob("*.py")):
        for cell in re.split(r"^# %% ", path.read_text(), flags=re.MULTILINE)[1:]:
            title, _, source = cell.partition("\n")
            found[f"{path.stem}: {title}"] = source
    return found


CELLS = cells()


def with_aten(source: str) -> str:
    """The script's imports of torch, as imports of aten under the same names."""
    source = re.sub(r"^import torch$", "import aten as torch", source, flags=re.MULTILINE)
    return re.sub(r"^(import|from) torch\b", r"\1 aten", source, flags=re.MULTILINE)


def run(source: str) -> tuple[dict[str, Any], str]:
    """The variables that a script leaves, and what it prints."""
    names: dict[str, Any] = {"__name__": "script"}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(source, "script", "exec"), names)
    return names, printed.getvalue().replace("torch", "aten")


def agree(ours: Any, theirs: Any) -> None:
    """Tensors as in all comparisons; what holds them, and numbers, one by one."""
    if isinstance(theirs, numpy.ndarray):
        numpy.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for key, value in theirs.items():
            agree(ours[key], value)
    elif isinstance(theirs, (list, tuple)) and not isinstance(theirs, torch.Size):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            agree(one, other)
    elif isinstance(theirs, float):
        assert math.isclose(ours, theirs, rel_tol=1e-4, abs_tol=1e-6)
    elif isinstance(theirs, (torch.Tensor, torch.dtype, torch.Size)):
        assert_same(ours, theirs, tolerance=1e-4, absolute=1e-5)
    elif isinstance(theirs, (int, str, type(None))):
        assert ours == (theirs.replace("torch", "aten") if isinstance(theirs, str) else theirs)
    elif isinstance(theirs, torch.device):
        assert str(ours) == str(theirs)


@pytest.fixture
def unfrozen(monkeypatch):
    """torch's flags as scripts find them: its test suite, which other files read, freezes them."""
    names = torch.backends.flags_frozen.__globals__
    monkeypatch.setitem(names, "__allow_nonbracketed_mutation_flag", True)


@pytest.mark.parametrize("name", CELLS)
def test_a_script_runs_as_with_torch(name, unfrozen):
    threads = torch.get_num_threads(), aten.get_num_threads()
    try:
        ours, printed = run(with_aten(CELLS[name]))
        theirs, expected = run(CELLS[name].replace("set_num_interop_threads(1)", "manual_seed(0)"))
    finally:
        torch.set_num_threads(threads[0])
        aten.set_num_threads(threads[1])
    assert printed == expected
    for key, value in theirs.items():
        if key.startswith("__") or isinstance(value, types.ModuleType) or key in OF_THE_LIBRARY:
            continue
        agree(ours[key], value)


def test_there_are_enough_of_them():
    assert len(CELLS) >= 100

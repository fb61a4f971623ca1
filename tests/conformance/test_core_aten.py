"""The Core ATen overloads agree with torch: two calls of each; `tools/core_aten.py` has all."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("device", "dtypes"),
    [
        ("cpu", ("bfloat16", "complex64", "bool")),
        ("meta", ("float32",)),
        ("reference", ("float32",)),
        ("examples/backend_numpy.py", ("int64",)),
    ],
)
def test_overloads_agree(device, dtypes):
    command = [sys.executable, "tools/core_aten.py", "--device", device, "--calls", "2"]
    done = subprocess.run(
        [*command, "--dtypes", *dtypes], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    counts = [line.split()[-3::2] for line in done.stdout.splitlines()]
    assert len(counts) == len(dtypes)
    assert all(right == known and int(known) > 100 for right, known in counts)


def test_the_page_is_what_the_tool_keeps():
    tool = runpy.run_path(str(ROOT / "tools/core_aten.py"))
    assert tool["section"]() in (ROOT / "docs/conformance.md").read_text()

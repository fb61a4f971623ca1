"""Operators in a crowd of threads that change their operands: some exception or result, no fault.

In a process of its own, for a few seconds; `python tools/thread_fuzz.py` goes on as long as one
likes.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Functions of ours that look at the sizes of what they write to.
WRITING = ["put_", "masked_scatter_", "index_put_", "index_fill_", "scatter_reduce_", "renorm_"]


@pytest.mark.parametrize(("calls", "names"), [(2000, []), (900, WRITING)], ids=["all", "writing"])
def test_operands_that_other_threads_change(calls, names):
    arguments = [
        sys.executable,
        "tools/thread_fuzz.py",
        *names,
        "--calls",
        str(calls),
        "--jobs",
        "1",
    ]
    printed = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert printed.returncode == 0, printed.stdout[-3000:] + printed.stderr[-2000:]
    assert ", 0 faults, 0 crashes, 0 hangs in " in printed.stdout

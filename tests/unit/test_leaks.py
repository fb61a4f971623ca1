"""Graphs that are dropped leave nothing; `python tools/leaks.py` builds a hundred thousand."""

import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "leaks.py"


def test_graphs_leave_nothing():
    run = subprocess.run(
        [sys.executable, str(TOOL), "--graphs", "7000", "--nodes", "50000"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr

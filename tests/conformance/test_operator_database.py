"""A bounded sample of torch's operator database; `tools/operator_database.py` runs all of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_no_entry_is_worse_than_the_baseline() -> None:
    """Every entry, with two of its samples for each dtype and form."""
    command = [sys.executable, "tools/operator_database.py", "--samples", "2", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "702 entries" in done.stdout

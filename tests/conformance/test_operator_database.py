"""A bounded sample of torch's operator database; `tools/operator_database.py` runs all of it."""

from __future__ import annotations

import importlib.util
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


def test_what_differs_on_purpose_is_on_the_page() -> None:
    """Its part of docs/conformance.md is what the tool writes."""
    spec = importlib.util.spec_from_file_location("tool", ROOT / "tools/operator_database.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    page = (ROOT / "docs/conformance.md").read_text()
    assert "\n".join(tool.on_purpose()) + "\n\n## Not right yet" in page

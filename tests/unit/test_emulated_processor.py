"""The package on another kind of processor: compiled for NEON's vectors, run under an emulator.

Reductions, scans, transforms, ordering and random numbers have the bits that they have here, and so
have products of numbers of one or two words, whose sums are rounded once on both.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tools"
# Every so many calls of `tools/vector_widths.py`, which makes all of them.
EVERY = {"reductions": 97, "scans": 23, "transforms": 17, "ordering": 13, "random": 7}


@pytest.fixture(scope="module")
def emulated(tmp_path_factory):
    """Runs a program of the source tree on the other processor: what it prints."""
    sys.path.insert(0, str(TOOLS))
    try:
        import emulated as tool
    finally:
        sys.path.remove(str(TOOLS))
    missing = tool.lacking()
    if missing:
        pytest.skip(f"no other processor: {missing}")
    folder = tmp_path_factory.mktemp("emulated")
    try:
        tool.prepare(folder)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no other processor: {error}")

    def run(*arguments):
        command = tool.command(folder, list(arguments))
        environment = tool.environment(folder)
        return subprocess.check_output(command, env=environment, text=True, cwd=ROOT)

    return run


def test_the_package_works_there(emulated):
    assert emulated("-c", "import platform; print(platform.machine())") == "aarch64\n"
    assert emulated("tests/unit/without_numpy.py").endswith("all done without NumPy\n")


@pytest.mark.parametrize("family", sorted(EVERY))
def test_results_have_the_bits_that_they_have_here(emulated, family):
    arguments = ["tools/vector_widths.py", "--made-here", "--every", str(EVERY[family]), family]
    environment = {**os.environ, "ATEN_VECTOR_BYTES": "64"}
    command = [sys.executable, *arguments]
    here = subprocess.check_output(command, env=environment, text=True, cwd=ROOT)
    there = json.loads(emulated(*arguments))
    assert there
    assert there == json.loads(here)

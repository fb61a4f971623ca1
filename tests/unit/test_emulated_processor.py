"""The package on another kind of processor: compiled for NEON's vectors, run under an emulator.

Reductions, scans, transforms, ordering and random numbers have the bits that they have here, and so
have products of float32 and float64 matrices, whose terms are rounded once on both.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from aten.backends.cpu.kernels.matrix.matrix_tiles import vector_bytes

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tools"
# Every so many calls of `tools/vector_widths.py`, which makes all of them.
EVERY = {"reductions": 97, "scans": 23, "transforms": 17, "ordering": 13, "random": 7}
MATRICES = ("products: mm float", "products: bmm float", "products: addmm float")


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
        tool.fetch(folder)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no other processor: {error}")
    tool.build(folder)

    def run(*arguments):
        command = tool.command(folder, list(arguments))
        environment = tool.environment(folder)
        return subprocess.check_output(command, env=environment, text=True, cwd=ROOT)

    return run


def test_the_package_works_there(emulated):
    assert emulated("-c", "import platform; print(platform.machine())") == "aarch64\n"
    assert emulated("tests/unit/without_numpy.py").endswith("all done without NumPy\n")


def made_here(arguments):
    environment = {**os.environ, "ATEN_VECTOR_BYTES": "64"}
    command = [sys.executable, *arguments]
    return json.loads(subprocess.check_output(command, env=environment, text=True, cwd=ROOT))


@pytest.mark.parametrize("family", sorted(EVERY))
def test_results_have_the_bits_that_they_have_here(emulated, family):
    arguments = ["tools/vector_widths.py", "--made-here", "--every", str(EVERY[family]), family]
    there = json.loads(emulated(*arguments))
    assert there
    assert there == made_here(arguments)


def test_products_of_matrices_have_the_bits_that_they_have_here(emulated):
    if vector_bytes() < 32:
        pytest.skip("this processor rounds terms and sums apart")
    arguments = ["tools/vector_widths.py", "--made-here", "--every", "3", "products"]
    here, there = made_here(arguments), json.loads(emulated(*arguments))
    compared = [name for name in here if name.startswith(MATRICES) and "float16" not in name]
    assert len(compared) > 20
    assert {name: there[name] for name in compared} == {name: here[name] for name in compared}

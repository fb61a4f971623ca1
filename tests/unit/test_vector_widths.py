"""What results have to do with the width of vectors, which `ATEN_VECTOR_BYTES` bounds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

import aten
from aten import config
from aten.backends.cpu import widths

TOOLS = Path(__file__).resolve().parents[2] / "tools"
# Every so many calls of `tools/vector_widths.py`, which makes all of them.
EVERY = {"reductions": 23, "scans": 11, "transforms": 9, "ordering": 7, "random": 5, "factors": 7}
OTHERS = {"pointwise": 61, "products": 37, "convolutions": 9, "networks": 11}
# All float16 numbers, in a kernel that widens and narrows them, beside those of NumPy.
HALVES = """
import warnings
import numpy
import aten
warnings.simplefilter("ignore")
every = numpy.arange(65536, dtype=numpy.uint16).view(numpy.float16)
random = numpy.random.default_rng(0).integers(0, 65536, (2, 200_000)).astype(numpy.uint16)
for left, right in [(every, numpy.ones_like(every)), random.view(numpy.float16)]:
    found = (aten.from_numpy(left.copy()) * aten.from_numpy(right.copy())).numpy()
    expected = (left.astype(numpy.float32) * right.astype(numpy.float32)).astype(numpy.float16)
    same = found.view(numpy.uint16) == expected.view(numpy.uint16)
    assert (same | (numpy.isnan(found) & numpy.isnan(expected))).all()
print(aten.backends.cpu.get_cpu_capability())
"""


@pytest.fixture(scope="module")
def measured():
    """By family, of some calls, what each width gave."""
    sys.path.insert(0, str(TOOLS))
    try:
        import vector_widths
    finally:
        sys.path.remove(str(TOOLS))
    made = {}
    for family, every in {**EVERY, **OTHERS}.items():
        made.update(vector_widths.measured([family], every))
    return made


@pytest.mark.parametrize("family", sorted(EVERY.keys() - {"factors"}))
def test_widths_of_vectors_do_not_change_bits(measured, family):
    assert measured[family]
    for name, found in measured[family].items():
        assert len(set(found.values())) == 1, name


def test_products_that_are_rounded_once_have_the_same_bits(measured):
    for name, found in measured["factors"].items():
        assert found[32] == found[64], name


def test_no_width_refuses_what_others_compute(measured):
    assert measured.keys() == {*EVERY, *OTHERS}
    for family, rows in measured.items():
        for name, found in rows.items():
            assert not [one for one in found.values() if one.startswith("refused")], (family, name)


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, env={**os.environ, **environment}, check=False, capture_output=True, text=True
    )


@pytest.mark.parametrize(("width", "capability"), [("16", "DEFAULT"), ("32", "AVX2"), ("64", "")])
def test_float16_is_the_same_without_instructions_for_it(width, capability, tmp_path):
    done = run(HALVES, ATEN_VECTOR_BYTES=width, ATEN_CACHE_DIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.startswith(capability) or aten.backends.cpu.get_cpu_capability() == "DEFAULT"


@pytest.mark.parametrize("value", ["8", "48", "wide"])
def test_other_widths_are_refused(value):
    done = run("import aten", ATEN_VECTOR_BYTES=value)
    assert done.returncode != 0
    assert "ATEN_VECTOR_BYTES must be 16 or 32 or 64" in done.stderr


def test_features_go_with_what_they_stand_on(monkeypatch):
    names = ("sse4.2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512_bf16", "vaes", "popcnt")
    for width, allowed in ((16, 2), (32, 7), (64, 9)):
        monkeypatch.setenv(config.VECTOR_BYTES.name, str(width))
        assert sum(map(widths.is_allowed, names)) == allowed


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("length", [1, 7, 16, 33, 1000])
def test_folds_of_complex_rows(dtype, length, capfd):
    generator = numpy.random.default_rng(0)
    parts = generator.standard_normal((2, 3, length))
    given = (parts[0] + 1j * parts[1]).astype(dtype)
    x = aten.from_numpy(given.copy())
    wide = given.astype("complex128")
    pairs = {
        "sum": (x.sum(1), wide.sum(1)),
        "mean": (x.mean(1), wide.mean(1)),
        "prod": (x.prod(1), wide.prod(1)),
        "norm": (aten.linalg.vector_norm(x, dim=1), numpy.linalg.norm(wide, axis=1)),
        "var": (x.var(1, correction=0), wide.var(1)),
    }
    for name, (found, expected) in pairs.items():
        tolerance = 1e-4 if dtype == "complex64" else 1e-11
        assert numpy.allclose(found.numpy(), expected, rtol=tolerance, atol=tolerance), name
    # The code generator says nothing of loops that it cannot turn into vectors.
    assert capfd.readouterr().err == ""

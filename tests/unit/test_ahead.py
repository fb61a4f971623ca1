"""Programs compiled ahead of time: files that run without LLVM, and damaged ones that do not."""

from __future__ import annotations

import os
import platform
import random
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import aten
from aten.compiler import ahead
from aten.graph.errors import ArchiveError, ExportError

DIGITS = Path(aten.__file__).parent / "examples" / "digits" / "digits_cnn.pt2"
WITHOUT_LLVM = """
import sys
sys.modules["llvmlite"] = None
import aten
from aten.compiler import ahead
loaded = ahead.load(sys.argv[1])
for batch in (4, 9):
    x = aten.tensor([one / 100 for one in range(batch * 64)]).view(batch, 1, 8, 8)
    with aten.inference_mode():
        print([round(one, 5) for one in loaded.flat_call([x])[0].flatten().tolist()])
"""
# What a process that has all it needs in the file does without.
STARTED = """
import sys
import aten
from aten.compiler import ahead
loaded = ahead.load(sys.argv[1])
x = aten.frombuffer(bytearray(1024), dtype=aten.float32).view(4, 1, 8, 8)
assert len(loaded.flat_call([x])[0]) == 4
for name in (
    "aten.backends.cpu.jit",
    "aten.backends.plans",
    "aten.compiler.capture",
    "aten.compiler.functions",
    "aten.graph.interpreter",
    "aten.graph.reader",
    "llvmlite",
    "numpy",
):
    assert name not in sys.modules, name
"""
pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="machine code in files is for x86-64"
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("ahead") / "digits.atenc"
    command = [sys.executable, "-m", "aten.cli", "compile", str(DIGITS), "-o", str(made)]
    said = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "kernels" in said.stdout
    return made


def test_a_file_runs_without_llvm_and_the_cache(path: Path) -> None:
    command = [sys.executable, "-c", WITHOUT_LLVM, str(path)]
    environment = {**os.environ, "ATEN_CACHE_DIR": "off"}
    said = subprocess.run(
        command, check=False, capture_output=True, text=True, env=environment, timeout=120
    )
    assert said.returncode == 0, said.stderr
    module = aten.export.load(DIGITS).module()
    for batch, line in zip((4, 9), said.stdout.splitlines(), strict=True):
        x = aten.arange(batch * 64.0).view(batch, 1, 8, 8) / 100
        expected = module(x).flatten().tolist()
        found = [float(one) for one in line.strip("[]").split(",")]
        assert found == pytest.approx(expected, abs=2e-5)


def test_nothing_is_captured_or_looked_up_for_inputs_it_was_compiled_for(path: Path) -> None:
    command = [sys.executable, "-c", STARTED, str(path)]
    said = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert said.returncode == 0, said.stderr


def test_what_was_changed_since_is_not_what_was_compiled(path: Path) -> None:
    loaded = ahead.load(path)
    x = aten.randn(4, 1, 8, 8)
    expected = loaded.program.module()(x)
    aten.testing.assert_close(loaded.flat_call([x])[0], expected, rtol=1e-4, atol=1e-5)
    # A weight that was written to.
    loaded.program.state_dict["fc2.bias"][0] += 50
    changed = loaded.program.module()(x)
    assert (changed - expected).abs().max() > 0.1
    aten.testing.assert_close(loaded.flat_call([x])[0], changed, rtol=1e-4, atol=1e-5)


def test_inputs_of_other_kinds_are_captured(path: Path) -> None:
    loaded = ahead.load(path)
    module = loaded.program.module()
    x = aten.randn(8, 8, 1, 4).permute(3, 2, 1, 0)
    aten.testing.assert_close(loaded.flat_call([x])[0], module(x), rtol=1e-4, atol=1e-5)
    tracked = aten.randn(4, 1, 8, 8, requires_grad=True)
    (found,) = aten.autograd.grad(loaded.flat_call([tracked])[0][:, 0].sum(), tracked)
    (expected,) = aten.autograd.grad(module(tracked)[:, 0].sum(), tracked)
    aten.testing.assert_close(found, expected, rtol=1e-3, atol=1e-5)


def test_kernels_that_somebody_registers_are_met(path: Path) -> None:
    loaded = ahead.load(path)
    x = aten.randn(4, 1, 8, 8)
    before = loaded.flat_call([x])[0]
    library = aten.library.Library("aten", "IMPL")
    with pytest.warns(UserWarning, match="overridden"):
        library.impl("gelu", lambda self, *, approximate="none": self * 0, "CPU")
    try:
        assert not aten.allclose(loaded.flat_call([x])[0], before)
    finally:
        library._destroy()
    assert aten.equal(loaded.flat_call([x])[0], before)


def test_the_command_runs_it(path: Path) -> None:
    command = [sys.executable, "-m", "aten.cli", "run", str(path), "--random"]
    said = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "output  softmax  float32[4, 10]" in said.stdout


def test_another_processor_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "this_processor", lambda: ahead.Processor("x86_64", frozenset()))
    with pytest.raises(ArchiveError, match="compile the program here"):
        ahead.load(path)
    monkeypatch.setattr(ahead, "this_processor", lambda: ahead.Processor("riscv64", frozenset()))
    with pytest.raises(ArchiveError, match="this is riscv64"):
        ahead.load(path)


def test_another_version_is_refused(path: Path, tmp_path: Path) -> None:
    content = bytearray(path.read_bytes())
    struct.pack_into("<I", content, 8, ahead.VERSION + 1)
    other = tmp_path / "other.atenc"
    other.write_bytes(content)
    with pytest.raises(ArchiveError, match=f"version {ahead.VERSION + 1}"):
        ahead.load(other)


def test_damage_is_found_before_anything_runs(path: Path, tmp_path: Path) -> None:
    content = path.read_bytes()
    drawn = random.Random(0)
    damaged = tmp_path / "damaged.atenc"
    for turn in range(300):
        made = bytearray(content)
        if turn % 3 == 0:
            del made[drawn.randrange(len(made)) :]
        elif turn % 3 == 1:
            # The header's numbers, each very small and very large.
            place = drawn.randrange(8, ahead.HEADER.size)
            made[place : place + 8] = drawn.choice([b"\0" * 8, b"\xff" * 8, drawn.randbytes(8)])
        else:
            for _ in range(drawn.randint(1, 40)):
                made[drawn.randrange(len(made))] ^= 1 << drawn.randrange(8)
        if bytes(made) == content:
            continue
        damaged.write_bytes(made)
        try:
            ahead.load(damaged)
        except (ArchiveError, ExportError):
            continue
        raise AssertionError(f"turn {turn} was not refused")

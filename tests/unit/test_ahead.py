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
assert "aten.backends.cpu.jit" in sys.modules
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
            place = drawn.randrange(8, 40)
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
        # What is between the parts is looked at by nobody.
        assert _differs_in_gaps_only(content, bytes(made)), f"turn {turn} was not refused"


def _differs_in_gaps_only(content: bytes, other: bytes) -> bool:
    if len(content) != len(other):
        return False
    described = struct.unpack_from("<Q", content, 16)[0]
    header = 8 + 4 + 4 + 3 * 8 + 32
    code = struct.unpack_from("<Q", content, 24)[0]
    first = -(-(header + described) // 4096) * 4096
    checked = content[: header + described] + content[first : first + code]
    return checked == other[: header + described] + other[first : first + code]

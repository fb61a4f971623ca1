"""Programs compiled ahead of time: files that run without LLVM, and damaged ones that do not."""

from __future__ import annotations

import json
import os
import platform
import random
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aten
from aten.compiler import ahead
from aten.compiler.files.description import parsed
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
x = aten.frombuffer(bytearray(1024), dtype=aten.float32).view(4, 1, 8, 8)
# An editable installation has some of them, and making a view takes some.
before = set(sys.modules)
from aten.compiler import ahead
loaded = ahead.load(sys.argv[1])
assert len(loaded.flat_call([x])[0]) == 4
for name in (
    "aten.backends.cpu.jit",
    "aten.backends.plans",
    "aten.compiler.capture",
    "aten.compiler.functions",
    "aten.graph.interpreter",
    "aten.graph.reader",
    "llvmlite",
    "json",
    "numpy",
    "re",
):
    assert name not in sys.modules or name in before, name
"""
# The same of the command.
COMMANDED = """
import sys
import aten
before = set(sys.modules)
from aten.cli import main
assert main(["run", sys.argv[1], "--input", sys.argv[2]]) == 0
for name in ("aten.graph.reader", "argparse", "json", "llvmlite", "locale", "numpy", "re"):
    assert name not in sys.modules or name in before, name
"""
ODD = [0, -1, 3, 2**31, 2**63, 2**70, 1.5, float("nan"), "", "x", "float32", None, True, [], {}]
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


def test_the_command_imports_little(path: Path, tmp_path: Path) -> None:
    images = tmp_path / "x.npy"
    np.save(images, np.zeros((4, 1, 8, 8), "f4"))
    command = [sys.executable, "-c", COMMANDED, str(path), str(images)]
    said = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert said.returncode == 0, said.stderr


class Large(aten.nn.Module):
    """Results of all kinds that are not shown whole."""

    def forward(self, x: aten.Tensor) -> tuple[aten.Tensor, ...]:
        turned = aten.complex(x, -x)
        return x * 2, x > 0, (x * 9).to(aten.int32), turned, (x / 0).to(aten.bfloat16)


def test_the_command_shows_results_without_llvm(tmp_path: Path) -> None:
    x = np.linspace(-3, 5, 20000, dtype="f4")
    made = tmp_path / "large.atenc"
    program = aten.export.export(Large(), (aten.from_numpy(x),))
    aten.export.save(program, tmp_path / "large.pt2")
    command = [sys.executable, "-m", "aten.cli", "compile", str(tmp_path / "large.pt2")]
    subprocess.run([*command, "-o", str(made)], check=True, capture_output=True)
    expected = {f"out_{at}": one for at, one in enumerate(program.module()(aten.from_numpy(x)))}
    numbers = {name: one.numpy() for name, one in expected.items() if name != "out_4"}
    np.savez(tmp_path / "x.npz", x=x, **numbers)
    said = []
    for start in ("", "import sys; sys.modules['llvmlite'] = None; "):
        code = f"{start}import sys; from aten.cli import main; sys.exit(main(sys.argv[1:]))"
        arguments = ["run", str(made), "--input", str(tmp_path / "x.npz")]
        ran = subprocess.run(
            [sys.executable, "-c", code, *arguments], check=False, capture_output=True, text=True
        )
        assert ran.returncode == 0, ran.stderr
        lines = [one for one in ran.stdout.splitlines() if one.startswith(("output", "agreement"))]
        said.append(lines)
    assert len(said[0]) == 9
    assert said[0] == said[1]


@pytest.mark.parametrize(
    "value", [{}, [], {"a": [1, -2.5, "\u00e9", None, True, {"b": []}]}, "text", 7, False]
)
def test_descriptions_are_read_as_json(value: Any) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False) + " \n"):
        assert parsed(text.encode()) == json.loads(text)


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[1,]", b"{} {}", b'{"a" 1}', b"NaN", b"[-Infinity]", b"\xff", b'"\n"']
)
def test_what_is_no_json_is_no_description(text: bytes) -> None:
    with pytest.raises(ValueError):
        parsed(text)


def test_what_was_changed_since_is_not_what_was_compiled(path: Path) -> None:
    loaded = ahead.load(path)
    x = aten.randn(4, 1, 8, 8)
    expected = loaded.program.module()(x)
    aten.testing.assert_close(loaded.flat_call([x])[0], expected, rtol=1e-4, atol=1e-5)
    # A weight that was written to, so that whatever was drawn is of the first class.
    loaded.program.state_dict["fc2.bias"][0] += 50000
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


def _with_odd_value(drawn: random.Random, value: Any) -> Any:
    """The value with something else somewhere in it."""
    if not isinstance(value, dict | list) or not value or drawn.random() < 0.05:
        return drawn.choice(ODD)
    if isinstance(value, list):
        place = drawn.randrange(len(value))
        if drawn.random() < 0.1:
            return value[:place] + value[place + 1 :]
        return [*value[:place], _with_odd_value(drawn, value[place]), *value[place + 1 :]]
    key = drawn.choice(list(value))
    if drawn.random() < 0.1:
        return {name: one for name, one in value.items() if name != key}
    return {**value, key: _with_odd_value(drawn, value[key])}


def _with_description(content: bytes, changed: dict[str, Any]) -> bytes:
    """The file with another description, and with checksums that fit."""
    described, code = struct.unpack_from("<QQ", content, 16)
    first = ahead.on_page(ahead.HEADER.size + described)
    text = json.dumps(changed).encode()
    begin = ahead.on_page(ahead.HEADER.size + len(text))
    middle = text + bytes(begin - ahead.HEADER.size - len(text)) + content[first : first + code]
    fields = list(ahead.HEADER.unpack_from(content))
    fields[3] = len(text)
    head = ahead.HEADER.pack(*fields)[: -ahead.CHECKSUM_BYTES]
    fields[7] = zlib.crc32(head + middle)
    return ahead.HEADER.pack(*fields) + middle + content[first + code :]


def test_odd_descriptions_are_refused_or_read_whatever_their_checksum_says(
    path: Path, tmp_path: Path
) -> None:
    content = path.read_bytes()
    (described,) = struct.unpack_from("<Q", content, 16)
    whole = json.loads(content[ahead.HEADER.size : ahead.HEADER.size + described])
    assert whole["plans"]
    assert whole["constants"]
    changed = tmp_path / "changed.atenc"
    changed.write_bytes(_with_description(content, whole))
    x = aten.randn(4, 1, 8, 8)
    same = ahead.load(changed).flat_call([x])[0]
    assert aten.equal(same, ahead.load(path).flat_call([x])[0])
    drawn = random.Random(1)
    refused = 0
    for turn in range(600):
        made = dict(whole)
        name = drawn.choice(["plans", "plans", "plans", "constants", *whole])
        made[name] = _with_odd_value(drawn, whole[name])
        changed.write_bytes(_with_description(content, made))
        try:
            ahead.load(changed)
        except ArchiveError:
            refused += 1
        except Exception as error:
            raise AssertionError(f"turn {turn}, in {name}: {error!r}") from error
    assert refused > 300


COMPILED_ELSEWHERE = """
import sys
import aten
from aten.compiler import ahead
from aten.nn import functional


class Model(aten.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = aten.nn.Linear(6, 8)
        self.grown = aten.nn.Parameter(aten.ones(6))
        self.image = aten.nn.Conv2d(3, 4, 3, stride=2)

    def forward(self, x, planes, size: int):
        hidden = functional.gelu(self.first(x)).transpose(0, 1)
        joined = aten.cat([hidden, hidden * size], -1)
        pooled = functional.max_pool2d(self.image(planes), 2, stride=1)
        product = aten.bmm(hidden, hidden.transpose(1, 2))
        return joined, pooled.sort(-1)[0], product.softmax(-1), x.flip(0), (x * self.grown).sum(-1)


aten.manual_seed(0)
given = (aten.randn(3, 4, 6), aten.randn(2, 3, 9, 9), 3)
with aten.no_grad():
    program = aten.export.export(Model().eval(), given)
ahead.compile_program(program, sys.argv[1])
"""


def test_programs_of_many_operators(tmp_path: Path) -> None:
    made = tmp_path / "made.atenc"
    command = [sys.executable, "-c", COMPILED_ELSEWHERE, str(made)]
    said = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert said.returncode == 0, said.stderr
    loaded = ahead.load(made)
    given = [aten.randn(3, 4, 6), aten.randn(2, 3, 9, 9), 3]
    found = loaded.flat_call(given)
    assert loaded._program is None, "it was captured"
    expected = loaded.program.flat_call(given)
    assert len(found) == len(expected) == 5
    for one, other in zip(found, expected, strict=True):
        assert one.stride() == other.stride()
        aten.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="fixed"):
        loaded.flat_call([*given[:2], 4])


def test_walks_that_leave_their_tensors_are_refused(path: Path, tmp_path: Path) -> None:
    content = path.read_bytes()
    (described,) = struct.unpack_from("<Q", content, 16)
    changed = tmp_path / "changed.atenc"
    for key, value in (("sizes", 1 << 20), ("offsets", -4), ("offsets", 1 << 30), ("sources", 9)):
        whole = json.loads(content[ahead.HEADER.size : ahead.HEADER.size + described])
        launch = whole["plans"][0]["groups"][0]["launches"][0]
        launch[key] = [value] * len(launch[key])
        changed.write_bytes(_with_description(content, whole))
        with pytest.raises(ArchiveError, match="damaged"):
            ahead.load(changed)

"""Programs of files that serve inputs of all sizes, and those that cannot."""

from __future__ import annotations

import json
import platform
import random
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_ahead import _with_description

import aten
from aten.compiler import ahead
from aten.compiler.files.encoding import UnwritableProgramError
from aten.compiler.files.freezing_sizes import _interpolated
from aten.compiler.files.frozen_sizes import at_size
from aten.graph.errors import ArchiveError

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="machine code in files is for x86-64"
)
SIZES = (1, 2, 3, 8, 9, 64, 300)
MODELS = """
import sys
import aten
from aten.compiler import ahead
from aten.nn import functional


class Image(aten.nn.Module):
    def __init__(self):
        super().__init__()
        self.image = aten.nn.Conv2d(3, 6, 3, padding=1)
        self.norm = aten.nn.BatchNorm2d(6)
        self.last = aten.nn.Linear(6 * 9, 5)

    def forward(self, x):
        hidden = functional.max_pool2d(functional.silu(self.norm(self.image(x))), 2)
        hidden = hidden * hidden.mean((2, 3), keepdim=True) + hidden.std(1, keepdim=True)
        return self.last(hidden.flatten(1)).log_softmax(-1)


class Attention(aten.nn.Module):
    def __init__(self):
        super().__init__()
        self.three = aten.nn.Linear(8, 24)

    def forward(self, x):
        query, key, value = self.three(x).view(x.shape[0], 6, 3, 2, 4).permute(2, 0, 3, 1, 4)
        weights = (query @ key.transpose(-2, -1) * 0.5).softmax(-1)
        return (weights @ value).transpose(1, 2).reshape(x.shape[0], 6, 8)


class Two(aten.nn.Module):
    def forward(self, x, factor: int, y):
        joined = aten.cat([x, y * factor])
        return joined.transpose(0, 1).contiguous() + 1, joined.sum(-1)


class Embedded(aten.nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.norm = aten.nn.Embedding(40, 12), aten.nn.LayerNorm(12)

    def forward(self, ids, others):
        hidden = self.norm(self.words(ids) * 2)
        return hidden, others.index_select(0, ids[:, 0]).relu() + 1, others[:, ids[0]].relu().sum(1)


class Half(aten.nn.Module):
    def forward(self, x):
        return x[: x.shape[0] // 2] * 2


class Folded(aten.nn.Module):
    def forward(self, x):
        return x - x.mean(0)


class Scaled(aten.nn.Module):
    def forward(self, x):
        return x.exp() * x.shape[0]


def exported(model, inputs, shapes):
    with aten.no_grad():
        return aten.export.export(model.eval(), inputs, dynamic_shapes=shapes)


aten.manual_seed(0)
batch = aten.export.Dim("batch", min=1, max=4096)
first = {0: batch}
programs = {
    "image": exported(Image(), (aten.randn(4, 3, 6, 6),), (first,)),
    "attention": exported(Attention(), (aten.randn(4, 6, 8),), (first,)),
    "two": exported(Two(), (aten.randn(4, 7), 3, aten.randn(4, 7)), (first, None, first)),
    "embedded": exported(
        Embedded(), (aten.ones(4, 5).to(aten.int64), aten.randn(4, 9)), (first, first)
    ),
    "half": exported(Half(), (aten.randn(4, 7),), ({0: aten.export.Dim("b", min=2, max=4096)},)),
    "folded": exported(Folded(), (aten.randn(4, 7),), (first,)),
    "scaled": exported(Scaled(), (aten.randn(4, 7),), (first,)),
}
program = programs[sys.argv[1]]
ahead.compile_program(program, sys.argv[2])
"""
SHAPES: dict[str, Any] = {
    "image": lambda size: [aten.randn(size, 3, 6, 6)],
    "attention": lambda size: [aten.randn(size, 6, 8)],
    "two": lambda size: [aten.randn(size, 7), 3, aten.randn(size, 7)],
    "embedded": lambda size: [
        aten.arange(5 * size).view(size, 5) % min(size, 9),
        aten.randn(size, 9),
    ],
    "half": lambda size: [aten.randn(size, 7)],
    "folded": lambda size: [aten.randn(size, 7)],
    "scaled": lambda size: [aten.randn(size, 7)],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sizes")


def compiled(folder: Path, name: str) -> Path:
    path = folder / f"{name}.atenc"
    if not path.exists():
        command = [sys.executable, "-c", MODELS, name, str(path)]
        said = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
        assert said.returncode == 0, said.stderr
    return path


def description(path: Path) -> dict[str, Any]:
    content = path.read_bytes()
    (described,) = struct.unpack_from("<Q", content, 16)
    found: dict[str, Any] = json.loads(content[ahead.HEADER.size : ahead.HEADER.size + described])
    return found


@pytest.mark.parametrize("name", ["image", "attention", "two", "embedded"])
def test_one_file_serves_all_sizes(folder: Path, name: str) -> None:
    path = compiled(folder, name)
    loaded, other = ahead.load(path), ahead.load(path)
    # A program may be exported for sizes from two on.
    sizes = SIZES[description(path)["plans"] == [] :]
    for size in sizes:
        given = SHAPES[name](size)
        found = loaded.flat_call(given)
        assert loaded._program is None, f"it was captured for {size}"
        expected = other.program.flat_call(given)
        assert len(found) == len(expected)
        for one, wanted in zip(found, expected, strict=True):
            assert one.shape == wanted.shape
            assert one.stride() == wanted.stride()
            aten.testing.assert_close(one, wanted, rtol=1e-4, atol=1e-5)
    # Sizes again, whose programs are there now.
    for size in reversed(sizes):
        assert loaded.flat_call(SHAPES[name](size))[0].dim() > 1
    assert loaded._program is None


@pytest.mark.parametrize("name", ["half", "folded", "scaled"])
def test_what_is_another_kernel_for_each_size_is_captured(folder: Path, name: str) -> None:
    path = compiled(folder, name)
    assert description(path)["sizes"] == []
    loaded = ahead.load(path)
    for size in (4, 7, 16):
        given = SHAPES[name](size)
        expected = loaded.program.flat_call(given)
        aten.testing.assert_close(loaded.flat_call(given)[0], expected[0], rtol=1e-4, atol=1e-5)


def test_indices_are_looked_at_for_all_sizes(folder: Path) -> None:
    loaded = ahead.load(compiled(folder, "embedded"))
    for size in (2, 5, 16):
        ids, others = SHAPES["embedded"](size)
        for bad in (size, -1, 1 << 40):
            wrong = ids.clone()
            wrong[-1, 0] = bad
            with pytest.raises(IndexError, match=f"index {bad} is out of bounds"):
                loaded.flat_call([wrong, others])
        loaded.flat_call([ids, others])
    assert loaded._program is None


def test_numbers_of_elements_that_lead_out_of_a_table_are_refused(
    folder: Path, tmp_path: Path
) -> None:
    path = compiled(folder, "embedded")
    content, whole = path.read_bytes(), description(path)
    groups = whole["sizes"][0]["plan"]["groups"]
    launches = [one for group in groups for one in group["launches"] if one["elements"]]
    assert any(isinstance(number, dict) for one in launches for number in one["numbers"])
    changed = tmp_path / "changed.atenc"
    for launch in launches:
        for key in ("numbers", "elements"):
            kept = launch[key]
            spoilt = [[], [1 << 20] * len(kept), [*kept, 0], kept[:-1]]
            for launch[key] in spoilt:
                changed.write_bytes(_with_description(content, whole))
                with pytest.raises(ArchiveError, match="damaged"):
                    ahead.load(changed)
            launch[key] = kept
    changed.write_bytes(_with_description(content, whole))
    ahead.load(changed)


def test_inputs_whose_sizes_differ_are_no_program_of_one_size(folder: Path) -> None:
    loaded = ahead.load(compiled(folder, "two"))
    for given in (
        [aten.randn(5, 7), 3, aten.randn(6, 7)],
        [aten.randn(5, 7), 4, aten.randn(5, 7)],
        [aten.randn(5, 8), 3, aten.randn(5, 8)],
        [aten.randn(7, 5).t(), 3, aten.randn(5, 7)],
        [aten.randn(()), 3, aten.randn(())],
        [3, aten.randn(5, 7), aten.randn(5, 7)],
        [aten.randn(5, 7).double(), 3, aten.randn(5, 7)],
        [],
    ):
        assert all(plan(given) is None for plan in loaded._plans)


def test_changed_polynomials_do_no_harm(folder: Path, tmp_path: Path) -> None:
    path = compiled(folder, "image")
    content, whole = path.read_bytes(), description(path)
    text = json.dumps(whole["sizes"])
    places = [place for place in range(len(text)) if text.startswith('{"size": [', place)]
    assert len(places) > 5
    drawn = random.Random(0)
    changed = tmp_path / "changed.atenc"
    refused = 0
    for _ in range(150):
        place = drawn.choice(places)
        end = text.index("]", place)
        numbers = [drawn.choice([0, 1, 3, -1, 64, 1 << 30, 1 << 47, 1 << 70]) for _ in range(2)]
        made = f'{text[:place]}{{"size": {numbers}{text[end + 1 :]}'
        changed.write_bytes(_with_description(content, {**whole, "sizes": json.loads(made)}))
        try:
            loaded = ahead.load(changed)
            for size in (2, 3, 40):
                loaded.flat_call(SHAPES["image"](size))
        except (ArchiveError, RuntimeError, ValueError, TypeError, IndexError):
            refused += 1
    assert refused > 50


def test_odd_descriptions_of_sizes_are_refused_or_read(folder: Path, tmp_path: Path) -> None:
    path = compiled(folder, "image")
    content, whole = path.read_bytes(), description(path)
    (written,) = whole["sizes"]
    changed = tmp_path / "changed.atenc"
    for name in written:
        for odd in (None, -1, 2**70, 1.5, "x", [], {}, True, [0], [0, -1], {"size": [0, 1]}):
            made = {**whole, "sizes": [{**written, name: odd}]}
            changed.write_bytes(_with_description(content, made))
            if name == "most" and odd in (None, -1, 2**70):
                ahead.load(changed).flat_call(SHAPES["image"](5))
                continue
            with pytest.raises(ArchiveError):
                ahead.load(changed)


def test_polynomials() -> None:
    sizes = (5, 7, 11, 16, 23, 211)
    for coefficients in ([], [3], [0, 1], [-7, 64], [1, -2, 3], [0, 0, 5]):
        values = [at_size({"size": coefficients}, size) for size in sizes]
        assert _interpolated(values, sizes) == coefficients
    for function in (
        lambda size: size // 2,
        lambda size: size % 2,
        lambda size: size**3,
        lambda size: min(size, 100),
        lambda size: size * (size - 1) // 2,
    ):
        with pytest.raises(UnwritableProgramError):
            _interpolated([function(size) for size in sizes], sizes)


@pytest.mark.parametrize("coefficients", [[1.5], ["1"], [1 << 60], [0, 0, 0, 1], 7, None, [True]])
def test_polynomials_that_are_none(coefficients: Any) -> None:
    with pytest.raises(ValueError):
        at_size({"size": coefficients}, 3)

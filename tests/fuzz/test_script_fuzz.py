"""Files of scripted programs under damage: a program or a documented error, and nothing is run."""

from __future__ import annotations

import contextlib
import io
import json
import random
import zipfile
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import aten
from aten import nn
from aten.export import ExportError

bounded = settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


class Program(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        self.register_buffer("seen", aten.zeros(1))
        self.scale = 2.0

    def forward(self, x: aten.Tensor, n: int = 2) -> aten.Tensor:
        self.seen += 1
        for i in range(n):
            x = aten.cat([self.layer(x), x * i]) if i > 0 else x.relu() + self.scale
        parts = [row * 2 for row in x if row.numel() > 0]
        if len(parts) == 0:
            raise ValueError(f"none of {n}")
        return aten.stack(parts)


def script_file() -> bytes:
    buffer = io.BytesIO()
    aten.jit.script(Program()).save(buffer)
    return buffer.getvalue()


DATA = script_file()
with zipfile.ZipFile(io.BytesIO(DATA)) as _archive:
    TEXT = json.loads(_archive.read("script.json"))


def read(data: bytes) -> None:
    with contextlib.suppress(ExportError):
        made = aten.jit.load(io.BytesIO(data))
        compile(made.code, "<script>", "exec")


def with_text(value: Any) -> bytes:
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(DATA)) as source,
        zipfile.ZipFile(buffer, "w") as target,
    ):
        for name in source.namelist():
            text = json.dumps(value).encode() if name == "script.json" else source.read(name)
            target.writestr(name, text)
    return buffer.getvalue()


@bounded
@given(st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), min_size=1, max_size=8))
def test_changed_bytes(changes: list[tuple[int, int]]) -> None:
    damaged = bytearray(DATA)
    for position, value in changes:
        damaged[position % len(damaged)] = value
    read(bytes(damaged))


@bounded
@given(st.integers(0, len(DATA)))
def test_cut_short(length: int) -> None:
    read(DATA[:length])


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container in a JSON value with every key of it."""
    found = []
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in items if isinstance(value, (dict, list)) else ():
        found.append((value, key))
        if isinstance(one, (dict, list)):
            found += places(one)
    return found


REPLACEMENTS: list[Any] = [
    *(None, True, -1, 1 << 70, 1.5, "", "x", "__class__", "aten.load", "aten.from_file", "open"),
    *([], {}, ["call_function", 1, "Any", "eval", [], [], []], [["local", 1, "Any", "x"]]),
    *({"tensor": "t9"}, {"function": "os.system"}, {"list": [{"list": []}]}, {"dtype": "no"}),
]


@pytest.mark.parametrize("seed", range(8))
def test_changed_terms(seed: int) -> None:
    drawn = random.Random(seed)
    for _ in range(120):
        value = json.loads(json.dumps(TEXT))
        for _ in range(drawn.randint(1, 3)):
            owner, key = drawn.choice(places(value))
            if isinstance(owner, list) and key >= len(owner):
                continue
            if isinstance(owner, dict) and key not in owner:
                continue
            owner[key] = drawn.choice(REPLACEMENTS)
        read(with_text(value))


HOSTILE = [
    ["call_function", 1, "Any", "aten.load", [], [], []],
    ["call_function", 1, "Any", "aten.from_file", [], [], []],
    ["call_function", 1, "Any", "aten.utils.cpp_extension.load", [], [], []],
    ["call_function", 1, "Any", "eval", [], [], []],
    ["call_function", 1, "Any", "getattr", [], [], []],
    ["call_function", 1, "Any", "math.__loader__", [], [], []],
    ["attribute", 1, "Any", ["local", 1, "Any", "x"], "__class__"],
    ["attribute", 1, "Any", ["local", 1, "Any", "x"], "numpy"],
    ["call_scripted", 1, "Any", "missing", [], [], []],
    ["binary", 1, "Any", "import", ["local", 1, "Any", "x"], ["local", 1, "Any", "x"]],
    ["return", 1, "Any", ["local", 1, "Any", "x"]],
]


@pytest.mark.parametrize("term", HOSTILE, ids=lambda one: f"{one[0]} {one[3]}"[:40])
def test_hostile_terms_are_refused_before_anything_runs(term: list[Any]) -> None:
    value = json.loads(json.dumps(TEXT))
    value["modules"][value["module"]]["methods"][0]["body"] = [["return", 1, "Any", term]]
    with pytest.raises(aten.export.FormatError):
        aten.jit.load(io.BytesIO(with_text(value)))


@pytest.mark.parametrize("name", ["__init__", "numpy", "map_", "format", "__reduce__", "append"])
def test_hostile_methods_are_refused_when_they_are_called(name: str) -> None:
    value = json.loads(json.dumps(TEXT))
    call = ["call_method", 1, "Any", ["local", 1, "Any", "x"], name, [], [], []]
    value["modules"][value["module"]]["methods"][0]["body"] = [["return", 1, "Any", call]]
    program = aten.jit.load(io.BytesIO(with_text(value)))
    with pytest.raises(RuntimeError, match="in scripted functions"):
        program(aten.ones(1))


@pytest.mark.parametrize("name", ["_parameters", "_methods", "load_state_dict", "__class__"])
def test_members_are_what_modules_hold(name: str) -> None:
    value = json.loads(json.dumps(TEXT))
    term = ["member", 1, "Any", ["self", 1, "Module"], name]
    value["modules"][value["module"]]["methods"][0]["body"] = [["return", 1, "Any", term]]
    program = aten.jit.load(io.BytesIO(with_text(value)))
    with pytest.raises(AttributeError, match="holds nothing"):
        program(aten.ones(1))


def test_deep_terms() -> None:
    value = json.loads(json.dumps(TEXT))
    term: list[Any] = ["local", 1, "Any", "x"]
    for _ in range(400):
        term = ["unary", 1, "Any", "-", term]
    value["modules"][value["module"]]["methods"][0]["body"] = [["return", 1, "Any", term]]
    read(with_text(value))

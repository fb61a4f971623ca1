"""The reader under damage: whatever the bytes, the outcome is a program or a documented error."""

from __future__ import annotations

import contextlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aten.export import ExportError, load, save

DATA = Path(__file__).parent.parent / "data" / "programs"
KINDS = (DATA / "kinds.pt2").read_bytes()
CACHE = (DATA / "static_kv_cache_decode.core.pt2").read_bytes()

bounded = settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


def read(data: bytes, *, verify: bool) -> None:
    with contextlib.suppress(ExportError):
        program = load(io.BytesIO(data), verify=verify)
        compile(str(program.graph), "<graph>", "exec")
        # What could be read can be written, or the error says why not.
        save(program, io.BytesIO())


@bounded
@given(
    st.sampled_from([KINDS, CACHE]),
    st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), min_size=1, max_size=8),
    st.booleans(),
)
def test_changed_bytes(data: bytes, changes: list[tuple[int, int]], verify: bool) -> None:
    damaged = bytearray(data)
    for position, value in changes:
        damaged[position % len(damaged)] = value
    read(bytes(damaged), verify=verify)


@bounded
@given(
    st.integers(0, 4000),
    st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 255)), max_size=6),
)
def test_changed_directory(start: int, changes: list[tuple[int, int]]) -> None:
    tail = bytearray(KINDS[-4000:])
    for position, value in changes:
        tail[position % len(tail)] = value
    read(KINDS[:-4000] + bytes(tail[: len(tail) - start % 7]), verify=False)


@bounded
@given(st.integers(0, len(KINDS)))
def test_cut_short(length: int) -> None:
    read(KINDS[:length], verify=False)


def with_json(member: str, value: object) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(KINDS)) as source, zipfile.ZipFile(buffer, "w") as target:
        for name in source.namelist():
            is_member = name.endswith(member)
            target.writestr(name, json.dumps(value).encode() if is_member else source.read(name))
    return buffer.getvalue()


MODEL = json.loads(zipfile.ZipFile(io.BytesIO(KINDS)).read("kinds/models/model.json"))
WEIGHTS_NAME = "data/weights/model_weights_config.json"
WEIGHTS = json.loads(zipfile.ZipFile(io.BytesIO(KINDS)).read(f"kinds/{WEIGHTS_NAME}"))


def places_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    if isinstance(value, dict):
        for key, item in value.items():
            found += places_in(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += places_in(item, (*path, index))
    return found


def replaced(value: Any, path: tuple[Any, ...], new: object, *, drop: bool) -> Any:
    if not path:
        return new
    key, *rest = path
    copy = dict(value) if isinstance(value, dict) else list(value)
    if drop and not rest:
        del copy[key]
    else:
        copy[key] = replaced(value[key], tuple(rest), new, drop=drop)
    return copy


ODD_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.sampled_from(["", "x", "as_int", "p_weight", "__import__('os')", "x\nimport os", "Add("]),
    st.sampled_from(
        [[], {}, [[]], {"as_int": -1}, {"as_tensor": {"name": "x"}}, {"as_none": True}]
    ),
)


@bounded
@given(st.sampled_from(places_in(MODEL)), ODD_VALUES, st.booleans())
def test_odd_values_in_the_program(path: tuple[Any, ...], new: object, drop: bool) -> None:
    read(with_json("models/model.json", replaced(MODEL, path, new, drop=drop)), verify=False)


@bounded
@given(st.sampled_from(places_in(WEIGHTS)), ODD_VALUES, st.booleans())
def test_odd_values_in_the_weights(path: tuple[Any, ...], new: object, drop: bool) -> None:
    read(with_json(WEIGHTS_NAME, replaced(WEIGHTS, path, new, drop=drop)), verify=False)


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_json_nested_without_end(opening: str) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        target.writestr("x/archive_format", "pt2")
        target.writestr("x/models/model.json", opening * 100_000)
    with pytest.raises(ExportError, match="not valid JSON"):
        load(buffer_at_start(buffer))


def buffer_at_start(buffer: io.BytesIO) -> io.BytesIO:
    buffer.seek(0)
    return buffer

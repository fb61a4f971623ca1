"""Every overload between guard pages, in memory filled in two ways: a sample of `tools/sweep.py`.

Of few dtypes, so that few kernels are compiled. Also whether the sweep finds what it is for.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from guarded_calls import (
    DifferingError,
    call_twice,
    chosen_operators,
    parsed,
    states,
    try_operator,
)
from operator_calls import operators

import aten
from aten._core.memory import allocator
from aten.conformance.calls import Chooser, Combination
from aten.conformance.stories import STORIES

TOOL = Path(__file__).parents[2] / "tools" / "sweep.py"


def _sweep(*arguments: str) -> str:
    run = subprocess.run(
        [sys.executable, TOOL, "--jobs", "2", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    return run.stdout


def test_every_overload_once() -> None:
    count = len(operators())
    said = _sweep("--calls", str(count), "--dtypes", "float32", "int64", "bool")
    succeeded = re.search(r"calls, (\d+) succeeded", said)
    assert succeeded is not None, said
    assert int(succeeded[1]) > 0.8 * count, said


def test_the_guard_is_set_by_a_variable_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATEN_MEMORY_GUARD", "end")
    said = _sweep("add", "mm", "sort", "--calls", "60")
    assert re.search(r" 0 faults, 0 differing fills, 0 crashes, 0 hangs", said), said


def test_a_result_that_nobody_wrote_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("guarded_calls.UNINITIALIZED", {"none": "so that empty is compared"})
    op = chosen_operators(["empty_like"])[0]
    with pytest.raises(DifferingError, match="two fills"):
        _ = [try_operator(op, str(number), Chooser()) for number in range(20)]


def test_a_crash_names_the_call_and_the_call_can_be_repeated() -> None:
    code = f"""
import sys
sys.path[:0] = [{str(TOOL.parent)!r}, {str(Path(__file__).parent)!r}]
import ctypes, guarded_calls, sweep
def wild(*arguments):
    arguments[3](f"add.Tensor|0|float32|small|{{arguments[1]}}.0")
    ctypes.string_at(0)
guarded_calls.try_operator = wild
sys.argv = ["sweep.py", "add", "--calls", "2", "--jobs", "1"]
sys.exit(sweep.main())
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert run.returncode == 1, run.stderr
    assert "call 0, add.Tensor|0|float32|small|0.0, ended the process: status 11" in run.stdout
    assert "2 crashes" in run.stdout
    name = "add.Tensor|0|float32|small|0.0"
    assert call_twice(*parsed(name), name)


def test_a_combination_and_a_seed_repeat_a_call() -> None:
    (op,) = chosen_operators(["add.Tensor"])
    place = next(number for number, story in enumerate(STORIES) if story.rank == 2)
    name = f"add.Tensor|{place}|float32|general|7.1"
    assert parsed(name) == (op, Combination(place, "float32", "general"), "7.1")
    before = allocator.set_guard("", 0)
    assert call_twice(*parsed(name), name)
    assert allocator.set_guard(*before) == ("", 0), "the guard is taken back"


def test_views_that_cannot_be_computed_are_compared_in_memory() -> None:
    x = aten.ones(2, dtype=aten.complex64)
    for value in (x, x.conj(), x.imag, x.conj().imag, aten.ops.aten._neg_view(x.conj())):
        *kinds, content = states(value, True)
        assert content in (b"\0\0\x80?\0\0\0\0" * 2, b"\0\0\0\0" * 2), kinds
    assert list(states(aten.ops.aten._conj(x.real), True))[1:] == [(False, True), b"\0\0\x80?" * 2]
    eighths = aten.ones(2).to(aten.float8_e4m3fn)
    assert list(states(aten.ops.aten._neg_view(eighths), True))[1:] == [(True, False), b"88"]


@pytest.mark.parametrize("count", [0, 1])
def test_indices_in_no_bag_are_in_bag_zero(count: int) -> None:
    before = allocator.set_guard("end", 0xA5)
    try:
        offsets = aten.zeros(count, dtype=aten.int64)
        indices = aten.zeros(3 * count, dtype=aten.int64)
        given = (aten.ones(2, 3), indices, offsets, False, 2, False, None, bool(count))
        _, bags, _, _ = aten.ops.aten._embedding_bag(*given)
        assert bags.tolist() == [0] * 3 * count
    finally:
        allocator.set_guard(*before)

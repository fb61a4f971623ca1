"""Requests for memory that are refused: a sample of `tools/failing_allocations.py`, and by hand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from failing_calls import fail_operator
from guarded_calls import chosen_operators, states

import aten
from aten._core.memory import allocator, storage
from aten.conformance.calls import Chooser

TOOL = Path(__file__).parents[2] / "tools" / "failing_allocations.py"


def _refuse(*arguments: str) -> int:
    """How many requests were refused."""
    run = subprocess.run(
        [sys.executable, TOOL, "--jobs", "2", "--dtypes", "float32", "int64", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    refusals = re.search(r"calls, (\d+) refusals", run.stdout)
    assert refusals is not None, run.stdout
    return int(refusals[1])


def test_blocks_of_tensors() -> None:
    # Steps through the overloads, so that every kind of them is met.
    assert _refuse("--calls", "240", "--step", "8") > 200


def test_scratch_of_kernels() -> None:
    assert _refuse("--scratch", "--calls", "24", "--names", "sort", "conv2d", "median", "cat") > 8


def test_objects_of_the_interpreter() -> None:
    pytest.importorskip("_testcapi", reason="this Python was built without its test modules")
    assert _refuse("--interpreter", "--calls", "60", "--step", "20") > 200


@pytest.mark.parametrize("include_self", [False, True])
@pytest.mark.parametrize("name", ["index_reduce_", "scatter_reduce_"])
# By a compiled call, which asks for memory twice, and by operators, which do more often.
@pytest.mark.parametrize(("element", "fewest"), [(aten.float32, 2), (aten.bfloat16, 3)])
def test_folds_of_several_steps_are_whole_or_not_at_all(
    element: aten.dtype, fewest: int, name: str, include_self: bool
) -> None:
    index = aten.tensor([0, 2, 2]) if name == "index_reduce_" else aten.tensor([[0, 1, 2]])
    source = aten.ones(3, 4) if name == "index_reduce_" else aten.ones(1, 3)
    source, x = source.to(element), aten.arange(12.0, dtype=element).reshape(3, 4)
    expected = x.tolist()
    refused = 0
    for place in range(1, 40):
        allocator.fail_after(place)
        try:
            getattr(x, name)(0, index, source, "mean", include_self=include_self)
        except RuntimeError:
            assert x.tolist() == expected
            refused += 1
        else:
            break
    allocator.fail_after(0)
    assert refused >= fewest
    assert x.tolist() != expected


def test_several_outputs_are_written_all_or_none() -> None:
    """The second one shares its memory, and there is none for a copy of it."""
    x = aten.arange(30_000.0)
    values, indices = aten.zeros(30_000), aten.zeros(30_000, dtype=aten.int64)
    other = indices.clone()
    assert storage.shares_block(other.untyped_storage())
    before = list(states((values, indices), True))
    for place in range(1, 20):
        other = indices.clone()
        allocator.fail_after(place)
        try:
            aten.ops.aten.mode.values(x.reshape(1, -1), 0, values=values, indices=indices)
        except RuntimeError:
            assert list(states((values, indices), True)) == before
        else:
            break
    allocator.fail_after(0)
    assert place > 1
    assert values.tolist() == x.tolist()
    assert other.tolist() == [0] * 30_000


@pytest.mark.parametrize(
    "call",
    [
        lambda x, y: aten.ops.aten.mm.out(x, x, out=y),
        lambda x, y: y.addmm_(x, x),
        lambda x, y: aten.ops.aten.instance_norm(
            x.reshape(1, 200, 200), None, None, y[0], y[1], True, 0.1, 1e-5, False
        ),
    ],
)
def test_operands_that_share_memory_are_as_they_were(call: Any) -> None:
    x = aten.arange(40_000.0).reshape(200, 200) / 40_000 - 0.5
    refused = 0
    for place in range(1, 60):
        y = x.clone()
        allocator.fail_after(place)
        try:
            call(x, y)
        except RuntimeError:
            allocator.fail_after(0)
            assert bool((x == y).all())
            refused += 1
        else:
            break
    allocator.fail_after(0)
    assert refused > 0
    assert not bool((x == y).all())


@pytest.mark.parametrize(
    "call",
    [
        lambda x, mean, var: aten.ops.aten.native_batch_norm(
            x, None, None, mean, var, True, 0.1, 1e-5
        ),
        lambda x, mean, var: aten.ops.aten.native_batch_norm.out(
            x,
            None,
            None,
            mean,
            var,
            True,
            0.1,
            1e-5,
            out=aten.empty(0),
            save_mean=aten.empty(0),
            save_invstd=aten.empty(0),
        ),
        lambda x, first, noise: aten.ops.aten.rrelu_with_noise_(first, noise, training=True),
    ],
)
def test_two_operands_are_written_both_or_neither(call: Any) -> None:
    """Each shows the memory of another tensor, and is to get memory of its own."""
    x = aten.arange(40.0).reshape(5, 8) - 20
    before = storage.set_least_shared(1)
    sources = [aten.full((8,), -1.0), aten.full((8,), 2.0)]
    refused = 0
    for place in range(1, 60):
        operands = [source.clone() for source in sources]
        allocator.fail_after(place)
        try:
            call(x, *operands)
        except RuntimeError:
            assert [one.tolist() for one in operands] == [[-1.0] * 8, [2.0] * 8]
            refused += 1
        else:
            break
    allocator.fail_after(0)
    storage.set_least_shared(before)
    assert refused > 2
    assert all(bool((one != source).any()) for one, source in zip(operands, sources, strict=True))


@pytest.mark.parametrize(
    "call",
    [
        lambda x, out: aten.ops.aten.mm.out(x, x, out=out),
        lambda x, out: aten.ops.aten.mv.out(x, x[0], out=out),
        lambda x, out: aten.ops.aten.addmm.out(x, x, x, out=out),
    ],
)
def test_an_output_of_a_failed_product_has_the_size_it_had(call: Any) -> None:
    x = aten.ones(20, 20, dtype=aten.bfloat16)[:, ::2][:10]
    refused = 0
    for place in range(1, 20):
        out = aten.empty(0, dtype=aten.bfloat16)
        allocator.fail_after(place)
        try:
            call(x, out)
        except RuntimeError:
            assert tuple(out.shape) == (0,)
            refused += 1
        else:
            break
    allocator.fail_after(0)
    assert refused > 1


def test_a_wrong_result_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """By an operator that is said to survive a refusal, though it does not."""
    (op,) = chosen_operators(["neg"])[:1]
    monkeypatch.setattr("failing_calls._tells_of_memory", lambda kind, text: False)
    with pytest.raises(AssertionError, match="request 1: raised RuntimeError: not enough memory"):
        fail_operator(op, "0", Chooser(("float32",)))


def test_limited_address_space() -> None:
    code = """
import resource, aten
x = aten.ones(1 << 20)
x + x, x.sort(), x.reshape(1024, 1024) @ x.reshape(1024, 1024), x.cumsum(0)
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + (40 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
held, refused = [], 0
calls = [lambda: x + 1, lambda: x.sort()[0], lambda: x.cumsum(0), lambda: aten.cat([x, x]),
         lambda: x.reshape(1024, 1024) @ x.reshape(1024, 1024), lambda: x.clone().mul_(2)]
for number in range(60):
    try:
        held.append(calls[number % len(calls)]())
    except (RuntimeError, MemoryError) as error:
        assert isinstance(error, MemoryError) or "memory" in str(error), error
        refused += 1
assert 0 < len(held) < 60 and refused, (len(held), refused)
held.clear()
aten.memory.empty_cache()
assert float((x + x).sum()) == 2 << 20
print("done")
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert run.stdout.strip() == "done", run.stderr

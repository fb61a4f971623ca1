"""What a profile costs: a call before one, after one, and in one, beside torch's."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from timing import Result

ROUNDS = 15
CALLS = 20_000
CALLS_RECORDED = 2_000
# Recording a call is to take no longer than this, in nanoseconds.
LIMIT = 1000
# What a profile has left behind would make the call after it slower than the one before.
LEAST_LEFT = 0.9


def nanoseconds(lib: Any, calls: int) -> float:
    """What a call of `a + b` takes."""
    from time import perf_counter_ns

    a = b = lib.ones(4)
    begun = perf_counter_ns()
    for _ in range(calls):
        a + b
    return (perf_counter_ns() - begun) / calls


def recording(**options: Any) -> Callable[[Any], Any]:
    def profile(lib: Any) -> Any:
        return lib.profiler.profile(activities=[lib.profiler.ProfilerActivity.CPU], **options)

    return profile


MODES: dict[str, Callable[[Any], Any]] = {
    "before": lambda _: nullcontext(),
    "in a profile": recording(),
    "after": lambda _: nullcontext(),
    "with shapes": recording(record_shapes=True),
    "with memory": recording(profile_memory=True),
}


def measured() -> dict[str, tuple[list[float], list[float]]]:
    """Nanoseconds of a call in each mode, ours and torch's, all modes in turn."""
    import torch

    import aten

    found: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in MODES}
    for _ in range(ROUNDS):
        for name, mode in MODES.items():
            calls = CALLS if isinstance(mode(aten), nullcontext) else CALLS_RECORDED
            for lib, times in zip((aten, torch), found[name], strict=True):
                with mode(lib):
                    nanoseconds(lib, calls // 10)
                    times.append(nanoseconds(lib, calls))
    return found


def run() -> list[Result]:
    found = measured()
    before, after = found["before"], found["after"]

    def result(name: str, mode: str, **bounds: Any) -> Result:
        ours, theirs = found[mode]
        made = Result(name, "ns", statistics.median(ours), statistics.median(theirs), **bounds)
        pairs = zip(ours, theirs, strict=True)
        made.ratio = statistics.median(slow / fast for fast, slow in pairs)
        return made

    left = result("a + b after a profile, time before ÷ after", "after", least_ratio=LEAST_LEFT)
    left.torch = statistics.median(before[0])
    left.ratio = statistics.median(
        early / late for early, late in zip(before[0], after[0], strict=True)
    )
    return [
        result("a + b before any profile", "before", limit=200, headline=False),
        left,
        recorded("a + b in a profile, more than without", found, "in a profile", limit=LIMIT),
        recorded("the same with shapes", found, "with shapes", headline=False),
        recorded("the same with memory", found, "with memory", headline=False),
    ]


def recorded(
    name: str, found: dict[str, tuple[list[float], list[float]]], mode: str, **bounds: Any
) -> Result:
    """How much longer a call takes while a profile records it."""
    extra = [
        statistics.median(slow - fast for slow, fast in zip(during, before, strict=True))
        for during, before in zip(found[mode], found["before"], strict=True)
    ]
    return Result(name, "ns", extra[0], extra[1], ratio=extra[1] / extra[0], **bounds)

"""What a profile costs: a call before any, after some, and in one, beside torch's."""

from __future__ import annotations

import statistics
from contextlib import nullcontext
from time import perf_counter_ns
from typing import Any

from timing import Result

ROUNDS = 15
CALLS = 20_000
CALLS_RECORDED = 2_000
# Recording a call is to take no longer than this, in nanoseconds.
LIMIT = 1000
# What a profile had left behind would make the calls after it slower than those before.
LEAST_LEFT = 0.9
RECORDED: dict[str, dict[str, bool]] = {
    "a + b in a profile, more than without": {},
    "the same with shapes": {"record_shapes": True},
    "the same with memory": {"profile_memory": True},
}


def nanoseconds(lib: Any, calls: int) -> float:
    """What a call of `a + b` takes."""
    a = b = lib.ones(4)
    begun = perf_counter_ns()
    for _ in range(calls):
        a + b
    return (perf_counter_ns() - begun) / calls


def rounds(lib: Any, options: dict[str, bool] | None = None) -> list[float]:
    """Nanoseconds of a call in each round, in a profile with these options or in none."""
    calls = CALLS if options is None else CALLS_RECORDED
    times = []
    for _ in range(ROUNDS):
        with nullcontext() if options is None else profile(lib, options):
            nanoseconds(lib, calls // 10)
            times.append(nanoseconds(lib, calls))
    return times


def profile(lib: Any, options: dict[str, bool]) -> Any:
    return lib.profiler.profile(activities=[lib.profiler.ProfilerActivity.CPU], **options)


def run() -> list[Result]:
    import torch

    import aten

    libraries = (aten, torch)
    before = [rounds(lib) for lib in libraries]
    recorded = {
        name: [rounds(lib, options) for lib in libraries] for name, options in RECORDED.items()
    }
    after = rounds(aten)
    results = [Result("a + b before any profile", "ns", min(before[0]), min(before[1]))]
    name = f"a + b after {ROUNDS * len(RECORDED)} profiles, time before ÷ after"
    ratio = min(before[0]) / min(after)
    results.append(Result(name, "ns", min(after), ratio=ratio, least_ratio=LEAST_LEFT))
    for name, times in recorded.items():
        ours, theirs = (
            statistics.median(during) - statistics.median(without)
            for during, without in zip(times, before, strict=True)
        )
        results.append(Result(name, "ns", ours, theirs, limit=LIMIT, headline=not RECORDED[name]))
    return results

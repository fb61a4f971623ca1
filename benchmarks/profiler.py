"""What a profile costs: a call before any, after some, and in one."""

from __future__ import annotations

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


def rounds(options: dict[str, bool] | None = None) -> list[float]:
    """Nanoseconds of a call in each round, in a profile with these options or in none."""
    import aten

    calls = CALLS if options is None else CALLS_RECORDED
    times = []
    for _ in range(ROUNDS):
        with nullcontext() if options is None else aten.profiler.profile(**options):
            nanoseconds(aten, calls // 10)
            times.append(nanoseconds(aten, calls))
    return times


def run() -> list[Result]:
    before = rounds()
    recorded = {name: rounds(options) for name, options in RECORDED.items()}
    after = rounds()
    name = f"a + b after {ROUNDS * len(RECORDED)} profiles, time before ÷ after"
    ratio = min(before) / min(after)
    results = [
        Result("a + b before any profile", "ns", min(before)),
        Result(name, "ns", min(after), ratio=ratio, least_ratio=LEAST_LEFT),
    ]
    for name, times in recorded.items():
        extra = min(times) - min(before)
        results.append(Result(name, "ns", extra, limit=LIMIT, headline=not RECORDED[name]))
    return results

"""Measuring side by side: both libraries in turn, in one run, so that noise meets both alike."""

from __future__ import annotations

import statistics
import sys
import time
import timeit
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

ROUNDS = 25
SECONDS_PER_ROUND = 0.002
# Both sides' threads go on spinning for milliseconds after a call, on the processors that the other
# side is then timed on. Before each side's turn all of them have gone to sleep.
PAUSE = 0.01


@dataclass
class Result:
    """One number. `limit` bounds our value from above, `least_ratio` torch's value over ours from
    below; a number with neither is there to be known. `problem` says why there is no number."""

    name: str
    unit: str
    aten: float | None = None
    torch: float | None = None
    ratio: float | None = None
    limit: float | None = None
    least_ratio: float | None = None
    problem: str = ""

    @property
    def met(self) -> bool:
        """Whether the number is there and keeps its bounds."""
        if self.problem:
            return False
        if self.limit is not None and (self.aten is None or self.aten > self.limit):
            return False
        return self.least_ratio is None or (
            self.ratio is not None and self.ratio >= self.least_ratio
        )

    @property
    def target(self) -> str:
        """The bounds in words."""
        bounds = []
        if self.limit is not None:
            bounds.append(f"≤ {self.limit:g} {self.unit}".rstrip())
        if self.least_ratio is not None:
            bounds.append(f"≥ {self.least_ratio:g}×")
        return ", ".join(bounds)

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "met": self.met}


@dataclass
class Case:
    """A statement to time, in a namespace that `names(library)` gives; `lib` is the library."""

    name: str
    statement: str
    names: Callable[[Any], dict[str, Any]]
    limit: float | None = None
    least_ratio: float | None = None


def measure(cases: Iterable[Case], unit: str, scale: float, check: bool = True) -> list[Result]:
    """Time every case with both libraries; seconds times `scale` are `unit`."""
    import torch

    import aten

    results = []
    for case in cases:
        result = Result(case.name, unit, limit=case.limit, least_ratio=case.least_ratio)
        results.append(result)
        try:
            ours = {"lib": aten, **case.names(aten)}
            theirs = {"lib": torch, **case.names(torch)}
            if check:
                _require_agreement(case, ours, theirs)
            _time_in_turn(result, case.statement, ours, theirs, scale)
        except Exception as error:
            result.problem = f"{type(error).__name__}: {error}".splitlines()[0]
    return results


def _require_agreement(case: Case, ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """A fast wrong answer is none. Long sums may differ in the last bits of what they add up."""
    import numpy

    found = numpy.asarray(eval(case.statement, dict(ours)))
    expected = numpy.asarray(eval(case.statement, dict(theirs)))
    bound = 1e-5 * max(1.0, float(abs(expected).max(initial=0)))
    numpy.testing.assert_allclose(found, expected, rtol=1e-4, atol=bound)


def _time_in_turn(
    result: Result, statement: str, ours: dict[str, Any], theirs: dict[str, Any], scale: float
) -> None:
    timers = [timeit.Timer(statement, globals=names) for names in (ours, theirs)]
    numbers = [_calls_per_round(timer) for timer in timers]
    pairs = []
    for _ in range(ROUNDS):
        pair = []
        for timer, number in zip(timers, numbers, strict=True):
            time.sleep(PAUSE)
            pair.append(timer.timeit(number) / number)
        pairs.append(pair)
    result.aten, result.torch = (
        scale * statistics.median(column) for column in zip(*pairs, strict=True)
    )
    result.ratio = statistics.median(theirs / ours for ours, theirs in pairs)


def _calls_per_round(timer: timeit.Timer) -> int:
    timer.timeit(3)
    once = min(timer.timeit(3) / 3 for _ in range(3))
    return max(1, int(SECONDS_PER_ROUND / once))


def show(results: Iterable[Result], file: Any = sys.stdout) -> None:
    """Print results as a table."""
    for result in results:
        if result.problem:
            print(f"  {result.name:44} FAILED  {result.problem}", file=file)
            continue
        verdict = "" if not result.target else ("ok" if result.met else "MISSED")
        print(
            f"  {result.name:44} {number(result.aten):>9} {result.unit:3}"
            f"  torch {number(result.torch):>9}  ratio {number(result.ratio):>7}"
            f"  {result.target:20} {verdict}".rstrip(),
            file=file,
        )


def number(value: float | None) -> str:
    """Three significant digits, or a dash."""
    if value is None:
        return "–"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"

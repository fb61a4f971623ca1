"""Measuring side by side: all libraries in turn, in one run, so that noise meets all alike."""

from __future__ import annotations

import math
import statistics
import sys
import time
import timeit
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from operands import Operand, namespace

# All cases are gone through so many times: somebody else's work that takes a second then meets a
# third of a case's rounds at most, which does not move their median.
PASSES = 3
ROUNDS_PER_PASS = 5
SECONDS_PER_ROUND = 0.002
# The threads of each library go on spinning for milliseconds after a call, on the processors that
# the next one is then timed on. Before each turn all of them have gone to sleep.
PAUSE = 0.01
# No case of the suite may be slower than this, whatever its group's mean.
LEAST_RATIO = 0.9


@dataclass
class Result:
    """One number. `limit` bounds our value from above, `least_ratio` torch's value over ours from
    below; a number with neither is there to be known. `problem` says why there is no number.
    Headlines go into the README."""

    name: str
    unit: str
    aten: float | None = None
    torch: float | None = None
    numpy: float | None = None
    ratio: float | None = None
    limit: float | None = None
    least_ratio: float | None = None
    problem: str = ""
    group: str = ""
    headline: bool = True

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


@dataclass(frozen=True)
class Case:
    """A statement to time, with each library as `lib`.

    `numpy` is the statement for NumPy where it has the operation: None for nothing, "" for the
    same words. `setup` runs once before. `checked` is false where a second call gives something
    else than the first, `recorded` true where torch is to record for gradients. `group` puts the
    case into a part of its group with a mean of its own.
    """

    name: str
    statement: str
    operands: dict[str, Operand] = field(default_factory=dict)
    setup: str = ""
    numpy: str | None = None
    numpy_setup: str | None = None
    limit: float | None = None
    least_ratio: float | None = LEAST_RATIO
    checked: bool = True
    recorded: bool = False
    group: str = ""
    unit: str = "µs"
    headline: bool = False


# A statement, and the names it may use.
Side = tuple[str, dict[str, Any]]

SCALES = {"ns": 1e9, "µs": 1e6, "ms": 1e3, "s": 1.0}


def measure(cases: Iterable[Case]) -> list[Result]:
    """Time every case with all libraries that have it."""
    measurements = [Measurement(case) for case in cases]
    for _ in range(PASSES):
        for measurement in measurements:
            measurement.go_on()
    return [measurement.result() for measurement in measurements]


@dataclass
class Measurement:
    """The rounds of a case so far: seconds of a call of ours and of torch's, and NumPy's."""

    case: Case
    rounds: list[list[float]] = field(default_factory=list)
    alone: list[list[float]] = field(default_factory=list)
    problem: str = ""

    def go_on(self) -> None:
        """A pass more, unless something went wrong."""
        if self.problem:
            return
        try:
            self._go_on()
        except Exception as error:
            self.problem = f"{type(error).__name__}: {error}".splitlines()[0]

    def _go_on(self) -> None:
        import torch

        import aten

        case = self.case
        sides = [
            (case.statement, namespace(lib, case.operands, case.setup)) for lib in (aten, torch)
        ]
        with torch.set_grad_enabled(case.recorded):
            if case.checked and not self.rounds:
                _require_agreement(*sides)
            self.rounds += _time_in_turn(sides)
        if case.numpy is not None:
            # Afterwards, since the threads of its OpenBLAS spin for longer than the pause.
            self.alone += _time_in_turn([_numpy_side(case)])

    def result(self) -> Result:
        case = self.case
        result = Result(
            case.name,
            case.unit,
            limit=case.limit,
            least_ratio=case.least_ratio,
            group=case.group,
            headline=case.headline,
            problem=self.problem,
        )
        if self.problem:
            return result
        scale = SCALES[case.unit]
        result.aten, result.torch = (
            scale * statistics.median(column) for column in zip(*self.rounds, strict=True)
        )
        result.ratio = statistics.median(theirs / ours for ours, theirs in self.rounds)
        if self.alone:
            result.numpy = scale * statistics.median(time for (time,) in self.alone)
        return result


def _numpy_side(case: Case) -> Side:
    import numpy

    setup = case.setup if case.numpy_setup is None else case.numpy_setup
    return case.numpy or case.statement, namespace(numpy, case.operands, setup)


def _require_agreement(ours: Side, theirs: Side) -> None:
    """A fast wrong answer is none. Long sums may differ in the last bits of what they add up."""
    import numpy

    found, expected = (_arrays(eval(statement, dict(names))) for statement, names in (ours, theirs))
    for (one, tolerance), (other, _) in zip(found, expected, strict=True):
        if tolerance and one.size:
            bound = tolerance / 10 * max(1.0, float(numpy.nanmax(numpy.abs(other), initial=0)))
            numpy.testing.assert_allclose(one, other, rtol=tolerance, atol=bound)
        else:
            numpy.testing.assert_array_equal(one, other)


def _arrays(value: Any) -> list[tuple[Any, float]]:
    """What a statement gave, as arrays, each with the relative difference it may have."""
    import numpy

    if isinstance(value, tuple | list):
        return [pair for item in value for pair in _arrays(item)]
    if str(getattr(value, "dtype", "")).endswith("bfloat16"):
        return [(numpy.asarray(value.float()), 2.0**-7)]
    array = numpy.asarray(value)
    return [(array, 1e-4 if array.dtype.kind in "fc" else 0.0)]


def _time_in_turn(sides: Sequence[Side]) -> list[list[float]]:
    """Seconds of a call, for each round one number of each side."""
    timers = [timeit.Timer(statement, globals=names) for statement, names in sides]
    numbers = [_calls_per_round(timer) for timer in timers]
    rounds = []
    for _ in range(ROUNDS_PER_PASS):
        times = []
        for timer, number in zip(timers, numbers, strict=True):
            time.sleep(PAUSE)
            times.append(timer.timeit(number) / number)
        rounds.append(times)
    return rounds


def _calls_per_round(timer: timeit.Timer) -> int:
    timer.timeit(2)
    once = min(timer.timeit(2) / 2 for _ in range(3))
    return max(1, int(SECONDS_PER_ROUND / once))


def geometric_mean(name: str, results: Sequence[Result], least_ratio: float) -> Result:
    """The mean of the ratios; a case without a ratio leaves the mean without one."""
    mean = Result(name, "", least_ratio=least_ratio)
    missing = [result.name for result in results if result.ratio is None]
    if missing or not results:
        mean.problem = f"no ratio for {', '.join(missing) or 'any case'}"
        return mean
    mean.ratio = math.exp(statistics.fmean(math.log(result.ratio or 1) for result in results))
    return mean


def show(results: Iterable[Result], file: Any = sys.stdout) -> None:
    """Print results as a table."""
    for result in results:
        if result.problem:
            print(f"  {result.name:52} FAILED  {result.problem}", file=file)
            continue
        verdict = "" if not result.target else ("ok" if result.met else "MISSED")
        print(
            f"  {result.name:52} {number(result.aten):>9} {result.unit:3}"
            f"  torch {number(result.torch):>9}  numpy {number(result.numpy):>9}"
            f"  ratio {number(result.ratio):>7}  {result.target:16} {verdict}".rstrip(),
            file=file,
        )


def number(value: float | None) -> str:
    """Three significant digits, or a dash."""
    if value is None:
        return "–"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"

"""Measuring side by side: all libraries in turn, in one run, so that noise meets all alike.

Each has a process of its own (`workers.py`).
"""

from __future__ import annotations

import math
import statistics
import sys
import timeit
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from operands import Operand, namespace
from workers import Worker, WorkerError, working

# All cases are gone through so many times: somebody else's work that takes a second then meets a
# third of a case's rounds at most, which does not move their median.
PASSES = 3
ROUNDS_PER_PASS = 5
SECONDS_PER_ROUND = 0.002
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
    else than the first, `recorded` true where gradients are to be recorded; `inference` has the
    libraries run it in their inference mode, in which torch keeps no track of views. `group` puts
    the case into a part of its group with a mean of its own.
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
    inference: bool = False
    group: str = ""
    unit: str = "µs"
    headline: bool = False


SCALES = {"ns": 1e9, "µs": 1e6, "ms": 1e3, "s": 1.0}


def measure(cases: Iterable[Case]) -> list[Result]:
    """Time every case with all libraries that have it."""
    measurements = [Measurement(case) for case in cases]
    with working("timing", ("aten", "torch", "numpy")) as workers:
        for _ in range(PASSES):
            for measurement in measurements:
                measurement.go_on(workers)
    return [measurement.result() for measurement in measurements]


@dataclass
class Measurement:
    """The rounds of a case so far: seconds of a call of ours, of torch's, and of NumPy's."""

    case: Case
    rounds: list[list[float]] = field(default_factory=list)
    problem: str = ""

    def go_on(self, workers: Sequence[Worker]) -> None:
        """A pass more, unless something went wrong."""
        if self.problem:
            return
        asked = workers if self.case.numpy is not None else workers[:2]
        try:
            self._go_on(asked)
        except (WorkerError, AssertionError) as error:
            self.problem = str(error).strip().splitlines()[0]

    def _go_on(self, workers: Sequence[Worker]) -> None:
        for worker in workers:
            worker.ask("prepare", self.case)
        if self.case.checked and not self.rounds:
            require_agreement(*(worker.ask("arrays") for worker in workers[:2]))
        for _ in range(ROUNDS_PER_PASS):
            self.rounds.append([worker.ask("time") for worker in workers])
        for worker in workers:
            worker.ask("forget")

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
        result.aten, result.torch, *others = (
            scale * statistics.median(column) for column in zip(*self.rounds, strict=True)
        )
        result.ratio = statistics.median(theirs / ours for ours, theirs, *_ in self.rounds)
        result.numpy = others[0] if others else None
        return result


def require_agreement(ours: Sequence[Any], theirs: Sequence[Any]) -> None:
    """A fast wrong answer is none. Long sums may differ in the last bits of what they add up."""
    import numpy

    for (one, tolerance), (other, _) in zip(ours, theirs, strict=True):
        if tolerance and one.size:
            bound = tolerance / 10 * max(1.0, float(numpy.nanmax(numpy.abs(other), initial=0)))
            numpy.testing.assert_allclose(one, other, rtol=tolerance, atol=bound)
        else:
            numpy.testing.assert_array_equal(one, other)


# In the process of a library


class _Prepared:
    """A case as the library of this process runs it."""

    def __init__(self, lib: Any, case: Case) -> None:
        self.case = case
        setup, statement = case.setup, case.statement
        if lib.__name__ == "numpy":
            setup = case.setup if case.numpy_setup is None else case.numpy_setup
            statement = case.numpy or case.statement
        self.statement = statement
        with _mode(lib, case):
            self.names = namespace(lib, case.operands, setup)
            self.timer = timeit.Timer(statement, globals=self.names)
            self.number = 0

    def arrays(self, lib: Any) -> list[tuple[Any, float]]:
        with _mode(lib, self.case):
            return _arrays(eval(self.statement, dict(self.names)))

    def seconds(self, lib: Any) -> float:
        """Seconds of a call."""
        with _mode(lib, self.case):
            if not self.number:
                self.number = _calls_per_round(self.timer)
            return self.timer.timeit(self.number) / self.number


_current: list[_Prepared] = []


def answer(lib: Any, what: str, case: Case | None = None) -> Any:
    """What the measuring process asks for: of a case it names first, arrays or seconds."""
    if what == "forget":
        return _current.clear()
    if what == "prepare":
        assert case is not None
        _current[:] = [_Prepared(lib, case)]
        return None
    return _current[0].arrays(lib) if what == "arrays" else _current[0].seconds(lib)


@contextmanager
def _mode(lib: Any, case: Case) -> Iterator[None]:
    if lib.__name__ == "numpy":
        yield
        return
    mode = lib.inference_mode() if case.inference else lib.set_grad_enabled(case.recorded)
    with mode:
        yield


def _arrays(value: Any) -> list[tuple[Any, float]]:
    """What a statement gave, as arrays, each with the relative difference it may have."""
    import numpy

    if isinstance(value, tuple | list):
        return [pair for item in value for pair in _arrays(item)]
    if str(getattr(value, "dtype", "")).endswith(("bfloat16", "float16")):
        return [(numpy.array(value.float()), 2.0**-7)]
    array = numpy.array(value)
    return [(array, 1e-4 if array.dtype.kind in "fc" else 0.0)]


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

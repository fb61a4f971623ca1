"""Models at true size with random weights, eager and compiled, beside torch and two runtimes.

    pip install 'aten[bench]' && python benchmarks/run.py models
    python benchmarks/models.py [NAME ...] [--threads N] [--torch-compile] [--rounds N]

Each model of `architectures.py` is exported once by torch into a folder (`BENCHMARK_MODELS`, or one
that goes with the process) as a .pt2 program and as an ONNX file, and run by each library in a
process of its own, float32, the idle ones stopped: aten eager and compiled, torch eager, and, where
that is asked for, compiled, ONNX Runtime, OpenVINO. All answers must agree with torch's. The time
from starting a process to its first output and the most memory that it used stand below: compiled,
with what an earlier process kept; the same in the first process of all, whose cache is empty; and
eagerly, with an empty cache, too. Beside them stands how long a model's operations take at the
processor's measured peak (`processor_peak.py`): what no library undercuts but by algorithms that do
with fewer, as Winograd's of 3×3 windows. That numbers come from memory is not in it: the weights
for a single token take far longer to read.
"""

from __future__ import annotations

import argparse
import compileall
import importlib.util
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from processor_peak import operations_per_second
from timing import Case, Result, geometric_mean, show
from workers import Worker, WorkerError

SECONDS_PER_ROUND = 0.1
# Processes whose starts are measured, of the libraries that rows compare them of.
STARTS = 3
# Of outputs, relative to their largest: float32 in other orders through a hundred layers.
TOLERANCE = 2e-3


@dataclass(frozen=True)
class Settings:
    """How models are measured."""

    threads: int = 2
    torch_compile: bool = False
    rounds: int = 9


# What is measured: what rows call it, the library, and whether it compiles.
EAGER, COMPILED = "aten", "aten compiled"
TORCH, TORCH_COMPILED = "torch", "torch.compile"
SUBJECTS = {
    EAGER: ("aten", False),
    COMPILED: ("aten", True),
    TORCH: ("torch", False),
    TORCH_COMPILED: ("torch", True),
    "ONNX Runtime": ("onnxruntime", True),
    "OpenVINO": ("openvino", True),
}
# How much sooner than torch's the first output is to be there.
LEAST_START = 5.0
# What a row calls the time of a model's operations at the processor's peak.
AT_PEAK = "its operations at the peak"
# By what: the least geometric mean of its times over ours, compiled.
PROMISED = {TORCH: 3.0, TORCH_COMPILED: 2.5, "ONNX Runtime": 1.1, "OpenVINO": 1.0}


def cases() -> list[Case]:
    """One for each model, by name."""
    return [Case(name, "model") for name in _names()]


def run() -> list[Result]:
    return measured(cases())


def measured(chosen: Iterable[Case], settings: Settings = Settings()) -> list[Result]:
    """The models of these cases, and the means over them."""
    names = [case.name for case in chosen]
    kept = os.environ.get("BENCHMARK_MODELS")
    _compile_bytecode()
    peak = operations_per_second(settings.threads)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(kept or made)
        folder.mkdir(exist_ok=True, parents=True)
        results: list[Result] = []
        for name in names:
            found = _one(name, folder / _stem(name), settings, peak)
            show(found)
            results += found
    means = [_mean(f"{EAGER} and {TORCH}", results, 2.2)]
    means += [
        _mean(f"{COMPILED} and {other}", results, least)
        for other, least in PROMISED.items()
        if other != TORCH_COMPILED or settings.torch_compile
    ]
    return [*results, *means]


def _compile_bytecode() -> None:
    """Let the package be as an installation leaves it: starting it compiles no source anew."""
    found = importlib.util.find_spec("aten")
    assert found is not None
    assert found.origin is not None
    compileall.compile_dir(Path(found.origin).parent, quiet=2)


def _mean(pair: str, results: list[Result], least: float) -> Result:
    found = [one for one in results if one.name.endswith(f": {pair}") and not one.problem]
    return geometric_mean(f"models: {pair}, mean", found, least)


def _names() -> list[str]:
    """The models' names, which are read without importing torch."""
    code = "import architectures; print(*architectures.ARCHITECTURES, sep='\\n')"
    command = [sys.executable, "-c", code]
    asked = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=Path(__file__).parent
    )
    return asked.stdout.splitlines()


def _stem(name: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in name)


def _one(name: str, stem: Path, settings: Settings, peak: float) -> list[Result]:
    """The rows of a model; `peak` in operations a second."""
    try:
        if not stem.with_suffix(".npz").exists():
            command = [sys.executable, __file__, "--export", name, str(stem)]
            subprocess.run(command, check=True, capture_output=True, text=True)
        measurement = Measurement(name, stem, settings, peak)
        measurement.run()
    except subprocess.CalledProcessError as error:
        reason = (error.stderr.strip().splitlines() or ["export failed"])[-1]
        return [Result(name, "ms", problem=reason)]
    except WorkerError as error:
        return [Result(name, "ms", problem=str(error))]
    return measurement.results()


class Measurement:
    """A model run by all libraries.

    Attributes:
        problems: what is wrong with a library that is there to be compared.
        seconds: of calls, by subject, round by round.
        starts: seconds from starting a process to its first output, the median of a few.
        cold: the same for the first process that compiles the model, whose cache is empty.
        first_calls: seconds of the first call, once the program is loaded.
        memory: the most bytes that a process had.
        operations: those of a call, a multiplication and an addition being two.
    """

    def __init__(self, name: str, stem: Path, settings: Settings, peak: float) -> None:
        self.name = name
        self.stem = stem
        self.settings = settings
        self.peak = peak
        self.operations = 0
        self.problems: dict[str, str] = {}
        self.seconds: dict[str, list[float]] = {}
        self.starts: dict[str, float] = {}
        self.cold = 0.0
        self.first_calls: dict[str, float] = {}
        self.memory: dict[str, float] = {}

    def run(self) -> None:
        """Raises WorkerError where aten or torch cannot run the model, or differ."""
        with tempfile.TemporaryDirectory() as folder:
            self._run({"ATEN_CACHE_DIR": folder})

    def _run(self, variables: dict[str, str]) -> None:
        workers: dict[str, Worker] = {}
        try:
            outputs = {}
            for subject, (library, compiles) in SUBJECTS.items():
                if subject == TORCH_COMPILED and not self.settings.torch_compile:
                    continue
                question = ("load", str(self.stem), compiles, self.settings.threads)
                if subject == COMPILED:
                    self.cold = _start(library, question, variables)
                start = time.perf_counter()
                workers[subject] = worker = Worker("models", library, variables)
                try:
                    self.first_calls[subject] = worker.ask(*question)
                    starts = [time.perf_counter() - start]
                    if subject in (COMPILED, TORCH):
                        starts += [_start(library, question, variables) for _ in range(STARTS - 1)]
                    self.starts[subject] = statistics.median(starts)
                    outputs[subject] = worker.ask("output")
                except WorkerError as error:
                    if library in ("aten", "torch"):
                        raise
                    self.problems[subject] = str(error)
            self._compare(outputs)
            running = [one for one in workers if one not in self.problems]
            self.seconds = {subject: [] for subject in running}
            for _ in range(self.settings.rounds):
                for subject in running:
                    self.seconds[subject].append(workers[subject].ask("time"))
            self.memory = {subject: workers[subject].ask("memory") for subject in running}
            self.operations = workers[EAGER].ask("operations")
        finally:
            for worker in workers.values():
                worker.end()

    def _compare(self, outputs: dict[str, Any]) -> None:
        import numpy

        expected = outputs[TORCH]
        bound = TOLERANCE * float(numpy.abs(expected).max())
        for subject, found in outputs.items():
            difference = float(numpy.abs(found - expected).max())
            if difference <= bound:
                continue
            problem = f"{subject} differs from torch by {difference:g}"
            if SUBJECTS[subject][0] in ("aten", "torch"):
                raise WorkerError(problem)
            self.problems[subject] = problem

    def results(self) -> list[Result]:
        pairs = [(EAGER, TORCH), (COMPILED, TORCH)]
        pairs += [(COMPILED, one) for one in SUBJECTS if one not in (EAGER, COMPILED, TORCH)]
        found = []
        for ours, theirs in pairs:
            row = Result(f"{self.name}: {ours} and {theirs}", "ms", headline=False)
            row.problem = self.problems.get(theirs, "")
            if theirs in self.seconds:
                mine, other = self.seconds[ours], self.seconds[theirs]
                row.aten, row.torch = 1e3 * statistics.median(mine), 1e3 * statistics.median(other)
                row.ratio = statistics.median(o / m for o, m in zip(other, mine, strict=True))
            if row.problem or row.ratio is not None:
                found.append(row)
        found.append(self._at_peak())
        found.append(self._row("start to first output", self.starts, TORCH, "s"))
        found[-1].least_ratio = LEAST_START
        for what, seconds in (
            ("start with an empty cache", self.cold),
            ("eager start with an empty cache", self.starts[EAGER]),
        ):
            row = Result(f"{self.name}: {what}", "s", headline=False)
            row.aten, row.torch = seconds, self.starts[TORCH]
            row.ratio = row.torch / row.aten
            found.append(row)
        if TORCH_COMPILED in self.first_calls:
            found.append(self._row("first call, compiled", self.first_calls, TORCH_COMPILED, "s"))
        found.append(self._row("peak memory", self.memory, TORCH, "MB", 1e-6))
        return found

    def _at_peak(self) -> Result:
        seconds, other = self.operations / self.peak, statistics.median(self.seconds[TORCH])
        row = Result(f"{self.name}: {AT_PEAK} and {TORCH}", "ms", headline=False)
        row.aten, row.torch, row.ratio = 1e3 * seconds, 1e3 * other, other / seconds
        return row

    def _row(
        self, what: str, numbers: dict[str, float], other: str, unit: str, scale: float = 1
    ) -> Result:
        row = Result(f"{self.name}: {what}", unit, headline=False)
        row.aten, row.torch = scale * numbers[COMPILED], scale * numbers[other]
        row.ratio = row.torch / row.aten
        return row


def _start(library: str, question: tuple[Any, ...], variables: dict[str, str]) -> float:
    """Seconds from starting a process of a library to its first answer; it ends then."""
    start = time.perf_counter()
    worker = Worker("models", library, variables)
    try:
        worker.ask(*question)
        return time.perf_counter() - start
    finally:
        worker.end()


# In the process of a library

_loaded: list[Callable[[], Any]] = []


def answer(lib: Any, what: str, *given: Any) -> Any:
    """What the measuring process asks for: to load a model, its first output, a time, the most
    memory so far, or the operations of a call. Loading gives the seconds of the first call."""
    if what == "load":
        warnings.simplefilter("ignore")
        load = {"aten": _program, "torch": _program, "onnxruntime": _session}
        stem, compiles, threads = given
        call = load.get(lib.__name__, _compiled)(lib, Path(stem), compiles, threads)
        start = time.perf_counter()
        call()
        first = time.perf_counter() - start
        _loaded[:] = [call]
        return first
    if what == "memory":
        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (call,) = _loaded
    if what == "output":
        return call()
    if what == "operations":
        with lib.profiler.profile(with_flops=True) as profiled:
            call()
        return sum(one.flops or 0 for one in profiled.events() if one.cpu_parent is None)
    # What is done once more after the first call, in any library, is no part of a round.
    once = min(_seconds(call, 1) for _ in range(2))
    return _seconds(call, max(1, int(SECONDS_PER_ROUND / once)))


def _seconds(call: Callable[[], Any], number: int) -> float:
    """Of one of so many calls."""
    start = time.perf_counter()
    for _ in range(number):
        call()
    return (time.perf_counter() - start) / number


def _inputs(stem: Path) -> dict[str, Any]:
    """Arrays by their places: "0", or "1.3" for the fourth of a list that is the second."""
    import numpy

    with numpy.load(stem.with_suffix(".npz")) as file:
        return dict(file)


def _program(lib: Any, stem: Path, compiles: bool, threads: int) -> Callable[[], Any]:
    """The exported program."""
    import numpy

    lib.set_num_threads(threads)
    module = lib.export.load(str(stem.with_suffix(".pt2"))).module()
    if compiles:
        module = lib.compile(module)
    given: dict[str, Any] = {}
    for place, value in _inputs(stem).items():
        first, inner, _ = place.partition(".")
        tensor = lib.from_numpy(value)
        if inner:
            given.setdefault(first, []).append(tensor)
        else:
            given[first] = tensor

    def call() -> Any:
        with lib.inference_mode():
            return numpy.asarray(_first(module(*given.values())))

    return call


def _first(made: Any) -> Any:
    while not hasattr(made, "shape"):
        made = next(iter(made.values())) if isinstance(made, dict) else made[0]
    return made


def _session(lib: Any, stem: Path, compiles: bool, threads: int) -> Callable[[], Any]:
    options = lib.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    path = str(stem.with_suffix(".onnx"))
    session = lib.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    values = list(_inputs(stem).values())
    named = {one.name: value for one, value in zip(session.get_inputs(), values, strict=True)}
    return lambda: session.run(None, named)[0]


def _compiled(lib: Any, stem: Path, compiles: bool, threads: int) -> Callable[[], Any]:
    settings = {
        "INFERENCE_NUM_THREADS": threads,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
    }
    model = lib.Core().compile_model(str(stem.with_suffix(".onnx")), "CPU", settings)
    given = list(_inputs(stem).values())
    return lambda: model(given)[0]


# In a process that exports


def export(name: str, stem: Path) -> None:
    """Write a model's program, its ONNX file where torch can make one, and inputs."""
    import architectures
    import numpy
    import torch

    warnings.simplefilter("ignore")
    batch = 3 if name == "Detector" else 1
    with torch.no_grad():
        model, inputs = architectures.built(name, "true"), architectures.given(name, "true", batch)
        torch.export.save(torch.export.export(model, inputs), str(stem.with_suffix(".pt2")))
        try:
            path = str(stem.with_suffix(".onnx"))
            torch.onnx.export(model, inputs, path, dynamo=True, verbose=False)
        except Exception as error:
            print(f"{name}: no ONNX file: {type(error).__name__}", file=sys.stderr)
    named = {}
    for place, one in enumerate(inputs):
        parts = enumerate(one) if isinstance(one, list) else [(None, one)]
        for inner, tensor in parts:
            named[str(place) if inner is None else f"{place}.{inner}"] = tensor.numpy()
    numpy.savez(stem.with_suffix(".npz"), **named)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("names", nargs="*", help="models, all of them without")
    parser.add_argument("--threads", type=int, default=Settings.threads)
    parser.add_argument("--rounds", type=int, default=Settings.rounds)
    parser.add_argument(
        "--torch-compile", action="store_true", help="beside torch.compile, which takes minutes"
    )
    parser.add_argument("--export", nargs=2, metavar=("NAME", "STEM"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.export:
        export(options.export[0], Path(options.export[1]))
        return 0
    settings = Settings(options.threads, options.torch_compile, options.rounds)
    chosen = [one for one in cases() if not options.names or one.name in options.names]
    found = measured(chosen, settings)
    print("means")
    show(one for one in found if one.name.startswith("models: "))
    return 0 if found and all(one.met for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())

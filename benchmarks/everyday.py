"""Everyday programs (examples/everyday/), each with `P = aten` and with `P = torch`.

A process for each library, and only one of them runs at a time: the other is stopped, its threads
too. They take turns, so that noise meets both.

    python benchmarks/everyday.py LIBRARY    # a worker: paths of programs in, seconds of a call out
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import time
import types
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "everyday"
ROUNDS = 9
SECONDS_PER_ROUND = 0.02
IMPORT = "import aten as P\n"


class Worker:
    """A process with one of the libraries, stopped unless it has something to do."""

    def __init__(self, library: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__, library],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self.answer()
        self.process.send_signal(signal.SIGSTOP)

    def answer(self) -> str:
        """The next line that the process says."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def seconds(self, path: Path) -> float:
        """Seconds of a call of the program, now; ValueError with its error where it has one."""
        assert self.process.stdin is not None
        self.process.send_signal(signal.SIGCONT)
        try:
            print(path, file=self.process.stdin)
            return float(self.answer())
        finally:
            self.process.send_signal(signal.SIGSTOP)

    def end(self) -> None:
        """Let the process go."""
        self.process.kill()
        self.process.wait()


def run() -> list[Any]:
    from timing import Result, geometric_mean

    workers = [Worker(library) for library in ("aten", "torch")]
    try:
        results = [measured(path, workers) for path in sorted(FOLDER.rglob("*.py"))]
    finally:
        for worker in workers:
            worker.end()
    mean: Result = geometric_mean(f"everyday: mean of {len(results)}", results, 1.5)
    return [*results, mean]


def measured(path: Path, workers: list[Worker]) -> Any:
    """One program with both libraries, in turn."""
    from timing import Result

    result = Result(
        str(path.relative_to(FOLDER).with_suffix("")), "µs", least_ratio=1.0, headline=False
    )
    rounds = []
    try:
        for _ in range(ROUNDS):
            rounds.append([worker.seconds(path) for worker in workers])
    except ValueError as error:
        result.problem = str(error)
        return result
    result.aten, result.torch = (1e6 * statistics.median(one) for one in zip(*rounds, strict=True))
    result.ratio = statistics.median(theirs / ours for ours, theirs in rounds)
    return result


def serve(library: str) -> None:
    """Answer paths of programs with the seconds of a call, until nobody asks any more."""
    programs: dict[str, tuple[Any, int]] = {}
    __import__(library)
    print("ready", flush=True)
    for line in sys.stdin:
        path = line.strip()
        try:
            if path not in programs:
                programs[path] = prepared(path, library)
            call, number = programs[path]
            start = time.perf_counter()
            for _ in range(number):
                call()
            print((time.perf_counter() - start) / number, flush=True)
        except Exception as error:
            print(f"{type(error).__name__}: {error}".splitlines()[0], flush=True)


def prepared(path: str, library: str) -> tuple[Any, int]:
    """The program as a call without arguments, and how many calls make a round."""
    source = Path(path).read_text().replace(IMPORT, f"import {library} as P\n")
    program = types.ModuleType("program")
    exec(compile(source, path, "exec"), vars(program))
    operands = program.prepare()

    def call() -> None:
        program.run(*operands)

    for _ in range(3):
        call()
    start = time.perf_counter()
    call()
    return call, max(1, int(SECONDS_PER_ROUND / (time.perf_counter() - start)))


if __name__ == "__main__":
    os.chdir(FOLDER)
    serve(sys.argv[1])

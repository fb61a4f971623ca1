"""Calls of every overload of which each request for memory is refused once.

    python tools/failing_allocations.py [--names NAME …] [--calls N] [--jobs N] [--scratch]
    python tools/failing_allocations.py --interpreter [--names NAME …] [--calls N]
    python tools/failing_allocations.py [--scratch] --repeat 'NAME|STORY|DTYPE|VALUES|SEED'

Refused are blocks of tensors; with `--scratch` what kernels take from the C library for themselves;
with `--interpreter` objects of Python, where an operator does not ask NumPy for anything. A call
that is refused memory raises RuntimeError or MemoryError and says so; operands are what they were,
the next call is right, and no memory is lost; or it does without, and its result is right. A number
is one call that its overload takes (overloads take turns, those named or all of them); faults are
printed with what `--repeat` takes, and make the exit status 1.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from workers import ROOT, Worker, add_options, run

SHIM = ROOT / "tools" / "failing_scratch.c"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--names", nargs="*", default=[], help="operators or overloads")
    parser.add_argument("--step", type=int, default=1, help="take every so many-th overload")
    parser.add_argument("--scratch", action="store_true", help="refuse kernels' scratch memory")
    parser.add_argument("--interpreter", action="store_true", help="refuse Python's objects")
    parser.add_argument("--repeat", help="one call, as it was printed")
    parser.add_argument("--dtypes", nargs="*", help="dtypes of most operands; default: all")
    add_options(parser, calls=4000, seconds=120)
    options = parser.parse_args()
    if options.scratch and "libfailing_scratch" not in os.environ.get("LD_PRELOAD", ""):
        return _with_shim()
    sys.path.insert(0, str(ROOT / "tests" / "fuzz"))
    if options.repeat:
        return _repeat(options.repeat, options.scratch)
    started = time.monotonic()
    make = FailingObjects if options.interpreter else FailingCalls
    counts = run(make, options, options)
    listed = ", ".join(f"{counts[name]} {name}" for name in FailingCalls.counted)
    print(f"{listed}, in {time.monotonic() - started:.0f} s")
    return int(any(counts[name] for name in FAULTS))


FAULTS = ("faults", "crashes", "hangs")


def _with_shim() -> int:
    """This command again, in a process whose requests can be refused."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "libfailing_scratch.so"
        compiler = os.environ.get("CC", "cc").split()
        command = [*compiler, "-O1", "-shared", "-fPIC", "-o", str(library), str(SHIM), "-ldl"]
        subprocess.run(command, check=True)
        environment = os.environ | {"LD_PRELOAD": str(library)}
        return subprocess.run([sys.executable, *sys.argv], env=environment).returncode


class Scratch:
    """What the preloaded library counts and refuses."""

    def __init__(self) -> None:
        library = ctypes.CDLL(None)
        self.requests = library.aten_scratch_requests
        self.refuse = library.aten_refuse_scratch
        for function in (self.requests, self.refuse):
            function.restype = ctypes.c_long
        self.refuse.argtypes = [ctypes.c_long]


def _source(scratch: bool) -> Any:
    from failing_calls import Blocks

    return Scratch() if scratch else Blocks


class FailingCalls(Worker):
    """Numbers of calls that go round the overloads."""

    counted = ("calls", "refusals", "survived", "calls without requests", *FAULTS)

    def __init__(self, start: int, end: int, seconds: float, options: argparse.Namespace) -> None:
        self._options = options
        super().__init__(start, end, seconds)

    def prepare(self) -> None:
        from guarded_calls import chosen_operators

        from aten.conformance.calls import DTYPES, Chooser

        self._operators: list[Any] = chosen_operators(self._options.names)[:: self._options.step]
        self._chooser = Chooser(tuple(self._options.dtypes or DTYPES))
        self._source = _source(self._options.scratch)
        self._met: set[str] = set()

    def call(self, number: int) -> None:
        from failing_calls import fail_operator

        op = self._operators[number % len(self._operators)]
        try:
            refusals, survived = fail_operator(
                op, str(number), self._chooser, self.say, self._source
            )
        except AssertionError as fault:
            self.note("faults", str(fault)[:600])
            return
        self.count("calls" if refusals else "calls without requests")
        self.count("refusals", refusals)
        self.count("survived", survived)
        if refusals:
            self._met.add(op.qualified_name)

    def finish(self) -> None:
        print(f"{len(self._met)} overloads asked for memory", flush=True)


class FailingObjects(FailingCalls):
    """The same, of which the interpreter's own requests are refused."""

    def prepare(self) -> None:
        super().prepare()
        from failing_calls import OWN_KINDS

        self._operators = [op for op in self._operators if op.entry.kind in OWN_KINDS]

    def call(self, number: int) -> None:
        from failing_calls import fail_interpreter

        op = self._operators[number % len(self._operators)]
        try:
            refusals = fail_interpreter(op, str(number), self._chooser, self.say)
        except AssertionError as fault:
            self.note("faults", str(fault)[:600])
            return
        self.count("calls" if refusals else "calls without requests")
        self.count("refusals", refusals)
        if refusals:
            self._met.add(op.qualified_name)


def _repeat(name: str, scratch: bool) -> int:
    from failing_calls import repeat
    from guarded_calls import described, parsed

    print(described(*parsed(name)), flush=True)
    print(repeat(name, _source(scratch)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

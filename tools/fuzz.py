"""Random calls of every registered operator, in processes of their own.

    python tools/fuzz.py [--reentrant] [--calls N] [--first SEED] [--jobs N]

With `--reentrant`, arguments run code that changes the operands in the middle of the call.
Calls are numbered from the first seed on; a number repeats its call. A crash, a hang, an exception
that no call may raise, or operands that a failed call changed are counted and printed with their
number; the exit status is 1 if there were any.
"""

from __future__ import annotations

import argparse
import itertools
import mmap
import os
import random
import resource
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "fuzz"))

# So that requests of terabytes are refused by the system where it would promise them.
_ADDRESS_SPACE = 6 << 30
_WORD = 8


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60, help="until a call counts as hung")
    parser.add_argument("--reentrant", action="store_true", help="arguments change operands")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    bounds = [
        options.first + options.calls * job // options.jobs for job in range(options.jobs + 1)
    ]
    make_call = _reentrant_call if options.reentrant else _random_call
    workers = [
        Worker(start, end, options.seconds, make_call) for start, end in itertools.pairwise(bounds)
    ]
    started = time.monotonic()
    while any(worker.alive for worker in workers):
        time.sleep(0.2)
        for worker in workers:
            worker.look()
    for worker in workers:
        counts.update(worker.counts())
    listed = ", ".join(f"{counts[name]} {name}" for name in COUNTED)
    print(f"{options.calls} calls in {time.monotonic() - started:.0f} s: {listed}")
    return int(any(counts[name] for name in COUNTED[2:]))


def _random_call(source: random.Random, known: list[Any]) -> bool:
    from operator_calls import Calls, call

    op = source.choice(known)
    return call(op, *Calls(source).arguments(op))


def _reentrant_call(source: random.Random, known: list[Any]) -> bool:
    from reentrant_calls import reentrant_call

    return reentrant_call(source, known)


COUNTED = ("succeeded", "refused", "faults", "crashes", "hangs")


class Worker:
    """A range of calls, made in one process after another where one of them dies."""

    def __init__(
        self,
        start: int,
        end: int,
        seconds: float,
        make_call: Callable[[random.Random, list[Any]], bool],
    ) -> None:
        self._end = end
        self._make_call = make_call
        self._seconds = seconds
        # The number of the call in progress and the outcomes so far, shared with the process.
        self._memory = mmap.mmap(-1, _WORD * (1 + len(COUNTED)))
        self._launch(start)

    def _launch(self, start: int) -> None:
        self._set(0, start)
        self._seen, self._since = start, time.monotonic()
        self._process = os.fork() if start < self._end else 0
        if start < self._end and not self._process:
            self._run(start)
            os._exit(0)
        self.alive = self._process != 0

    def counts(self) -> dict[str, int]:
        return {name: self._get(place) for place, name in enumerate(COUNTED, 1)}

    def look(self) -> None:
        """Note what became of the process, and start another where one has died."""
        if not self.alive:
            return
        ended, status = os.waitpid(self._process, os.WNOHANG)
        number = self._get(0)
        if ended and status == 0:
            self.alive = False
        elif ended:
            self._note("crashes", f"call {number} ended the process: status {status}")
            self._launch(number + 1)
        elif number != self._seen:
            self._seen, self._since = number, time.monotonic()
        elif time.monotonic() - self._since > self._seconds:
            os.kill(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)
            self._note("hangs", f"call {number} took more than {self._seconds:.0f} s")
            self._launch(number + 1)

    def _run(self, start: int) -> None:
        resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
        warnings.simplefilter("ignore")
        from operator_calls import operators

        known = operators()
        for number in range(start, self._end):
            self._set(0, number)
            self._one(known, number)

    def _one(self, known: list[Any], number: int) -> None:
        try:
            succeeded = self._make_call(random.Random(number), known)
        except AssertionError as fault:
            self._note("faults", f"call {number}: {str(fault)[:200]}")
            return
        self._count("succeeded" if succeeded else "refused")

    def _note(self, outcome: str, text: str) -> None:
        self._count(outcome)
        print(text, flush=True)

    def _count(self, outcome: str) -> None:
        place = COUNTED.index(outcome) + 1
        self._set(place, self._get(place) + 1)

    def _get(self, place: int) -> int:
        return int.from_bytes(self._memory[place * _WORD : (place + 1) * _WORD], "little")

    def _set(self, place: int, value: int) -> None:
        self._memory[place * _WORD : (place + 1) * _WORD] = value.to_bytes(_WORD, "little")


if __name__ == "__main__":
    raise SystemExit(main())

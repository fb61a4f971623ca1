"""Calls made in processes of their own, which may crash and hang: what `fuzz.py`, `sweep.py` and
`failing_allocations.py` share.
"""

from __future__ import annotations

import argparse
import faulthandler
import itertools
import mmap
import os
import resource
import signal
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]

# What a process may map beside what it begins with, so that requests of terabytes are refused by
# the system where it would promise them. Sanitizers need memory of their own, and time for a page.
ADDRESS_SPACE = 6 << 30
_SANITIZED_SPACE = 2 << 30
_WORD = 8
_SAYING = 512


def add_options(parser: argparse.ArgumentParser, calls: int, seconds: float) -> None:
    """What every tool of this kind can be told."""
    parser.add_argument("--calls", type=int, default=calls)
    parser.add_argument("--first", type=int, default=0, help="number of the first call")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--seconds", type=float, default=seconds, help="until a call counts as hung"
    )


def run(make: type[Worker], options: argparse.Namespace, *details: object) -> Counter[str]:
    """Make the calls, each job its part of them, and count the outcomes."""
    first, last = options.first, options.first + options.calls
    bounds = [first + (last - first) * job // options.jobs for job in range(options.jobs + 1)]
    workers = [
        make(start, end, options.seconds, *details) for start, end in itertools.pairwise(bounds)
    ]
    while any(worker.alive for worker in workers):
        time.sleep(0.2)
        for worker in workers:
            worker.look()
    counts: Counter[str] = Counter()
    for worker in workers:
        counts.update(worker.counts())
    return counts


class Worker:
    """A range of calls, made in one process after another where one of them dies.

    A subclass says what it counts, prepares in the process, and makes a call.
    """

    counted: tuple[str, ...] = ("crashes", "hangs")
    _stops = False

    def __init__(self, start: int, end: int, seconds: float) -> None:
        self._end = end
        self._seconds = seconds
        # The number of the call in progress, the outcomes so far and what was said of the call
        # last, shared with the process.
        self._memory = mmap.mmap(-1, _WORD * (1 + len(self.counted)) + _SAYING)
        self._launch(start)

    def prepare(self) -> None:
        """What the process does before its first call."""

    def call(self, number: int) -> None:
        raise NotImplementedError

    def finish(self) -> None:
        """What the process does after its last call."""

    def stop(self) -> None:
        """Make no more calls than the present one."""
        self._stops = True

    def count(self, outcome: str, times: int = 1) -> None:
        place = self.counted.index(outcome) + 1
        self._set(place, self._get(place) + times)

    def note(self, outcome: str, text: str) -> None:
        self.count(outcome)
        print(text, flush=True)

    def say(self, text: str) -> None:
        """What to print should the process die of what it does next."""
        written = text.encode()[: _SAYING - 1]
        self._memory[-_SAYING:] = written.ljust(_SAYING, b"\0")

    def counts(self) -> dict[str, int]:
        return {name: self._get(place) for place, name in enumerate(self.counted, 1)}

    def look(self) -> None:
        """Note what became of the process, and start another where one has died."""
        if not self.alive:
            return
        ended, status = os.waitpid(self._process, os.WNOHANG)
        number = self._get(0)
        if ended and status == 0:
            self.alive = False
        elif ended:
            self.note("crashes", f"{self._said(number)} ended the process: status {status}")
            self._launch(number + 1)
        elif number != self._seen:
            self._seen, self._since = number, time.monotonic()
        elif time.monotonic() - self._since > self._seconds:
            self._show_stacks()
            os.kill(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)
            self.note("hangs", f"{self._said(number)} took more than {self._seconds:.0f} s")
            self._launch(number + 1)

    def _show_stacks(self) -> None:
        """Have the process write to stderr what each of its threads is doing."""
        os.kill(self._process, signal.SIGUSR1)
        time.sleep(1)

    def _said(self, number: int) -> str:
        said = self._memory[-_SAYING:].rstrip(b"\0").decode(errors="replace")
        return f"call {number}" + (f", {said}," if said else "")

    def _launch(self, start: int) -> None:
        self._set(0, start)
        self.say("")
        self._seen, self._since = start, time.monotonic()
        self._process = os.fork() if start < self._end else 0
        if start < self._end and not self._process:
            self._run(start)
            os._exit(0)
        self.alive = self._process != 0

    def _run(self, start: int) -> None:
        bound_memory()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        warnings.simplefilter("ignore")
        faulthandler.register(signal.SIGUSR1)
        sys.path.insert(0, str(ROOT / "tests" / "fuzz"))
        self.prepare()
        for number in range(start, self._end):
            self._set(0, number)
            self.call(number)
            if self._stops:
                break
        self.finish()

    def _get(self, place: int) -> int:
        return int.from_bytes(self._memory[place * _WORD : (place + 1) * _WORD], "little")

    def _set(self, place: int, value: int) -> None:
        self._memory[place * _WORD : (place + 1) * _WORD] = value.to_bytes(_WORD, "little")


def bound_memory(sanitized_space: int = _SANITIZED_SPACE) -> None:
    """Have the system refuse memory to this process beyond a bound, of its own under a sanitizer.

    Source: proc(5), "/proc/pid/statm".
    """
    sanitized = "san.so" in os.environ.get("LD_PRELOAD", "")
    # What is there counts: sanitizers have reserved terabytes.
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    bound = mapped + (sanitized_space if sanitized else ADDRESS_SPACE)
    resource.setrlimit(resource.RLIMIT_AS, (bound, bound))

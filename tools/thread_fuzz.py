"""Calls of operators in a crowd of threads that change their operands, and forks under load.

    python tools/thread_fuzz.py [NAME …] [--calls N] [--first N] [--jobs N] [--minutes M]
    python tools/thread_fuzz.py --apart [--calls N]
    python tools/thread_fuzz.py --forks N

Overloads of NAME (all of them by default) take turns, each call several times, while two threads
write to its operands, resize and replace them. A crash, a hang, an exception that no call may
raise, or an operand left with elements outside of its storage is printed and counted; the exit
status is 1 if there were any. With `--minutes`, the calls go on that long. With `--apart`, the
threads share nothing they write to: the thread sanitizer, under which to run them, tells of nothing
then that was meant.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings

from workers import ROOT, Worker, add_options, bound_memory, run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="operators or overloads; default: all")
    parser.add_argument("--minutes", type=float, help="how long, whatever the number of calls")
    parser.add_argument("--apart", action="store_true", help="threads that share nothing")
    parser.add_argument("--forks", type=int, help="forks under load in the place of calls")
    add_options(parser, calls=20_000, seconds=120)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tests" / "fuzz"))
    if options.forks:
        return _fork(options.forks, options.first)
    if options.apart:
        return _call_apart(options.calls, options.first)
    if options.minutes:
        options.calls = 1 << 40
    started = time.monotonic()
    end = started + options.minutes * 60 if options.minutes else None
    counts = run(CrowdedCalls, options, options.names, end)
    listed = ", ".join(f"{counts[name]} {name}" for name in CrowdedCalls.counted)
    print(f"{listed} in {time.monotonic() - started:.0f} s")
    return int(any(counts[name] for name in FAULTS))


def _call_apart(calls: int, seed: int) -> int:
    import calls_apart

    # The sanitizer of threads keeps several words for each one of ours, and every kernel.
    bound_memory(12 << 30)
    warnings.simplefilter("ignore")
    started = time.monotonic()
    counts = calls_apart.make_calls(calls // calls_apart.THREADS, seed)
    listed = ", ".join(f"{count} {name}" for name, count in counts.items())
    print(f"{listed} in {time.monotonic() - started:.0f} s")
    return 0


def _fork(forks: int, seed: int) -> int:
    import forks_under_load

    started = time.monotonic()
    outcomes = forks_under_load.run(forks, seed)
    listed = ", ".join(f"{count} {name}" for name, count in outcomes.items())
    print(f"{forks} forks under load in {time.monotonic() - started:.0f} s: {listed}")
    return int(outcomes["right"] != forks)


FAULTS = ("faults", "crashes", "hangs")


class CrowdedCalls(Worker):
    """Numbers of calls that go round the overloads, each made several times in a crowd."""

    counted = ("calls", "succeeded", "changes", *FAULTS)

    def __init__(
        self, start: int, last: int, seconds: float, names: list[str], end: float | None
    ) -> None:
        self._names, self._until = names, end
        super().__init__(start, last, seconds)

    def prepare(self) -> None:
        from crowded_calls import crowded

        self._context = crowded(str(self._names), self._names)
        self._crowded = self._context.__enter__()
        self._seen_changes = 0

    def call(self, number: int) -> None:
        if self._until is not None and time.monotonic() > self._until:
            self.stop()
            return
        self.say(str(self._crowded.operator(number)))
        try:
            succeeded, made = self._crowded.call(number)
        except AssertionError as fault:
            self.note("faults", f"call {number}: {str(fault)[:300]}")
            return
        self.count("calls", made)
        self.count("succeeded", succeeded)
        changes = self._crowded.changes
        self.count("changes", changes - self._seen_changes)
        self._seen_changes = changes

    def finish(self) -> None:
        self._context.__exit__(None, None, None)


if __name__ == "__main__":
    raise SystemExit(main())

"""Calls of every overload between guard pages, each made twice in memory filled otherwise.

    python tools/sweep.py [NAME …] [--calls N] [--first N] [--jobs N]
    python tools/sweep.py --repeat 'NAME|STORY|DTYPE|VALUES|SEED'

Operands are of 1 to 70 elements a side, of any dtype, with odd offsets and steps, flush with a page
that cannot be touched: at their end in one call, at their start in the other. A wild access ends
the process; results and operands of the two calls are compared bit for bit. What happened is
counted and printed with what `--repeat` takes; the exit status is 1 if there was any fault.

Overloads of NAME ("add", "add.out"; all of them by default) take turns. One number is up to six
tries until the overload takes its arguments; `calls` counts these tries, each made twice.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from workers import ROOT, Worker, add_options, run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="operators or overloads; default: all")
    parser.add_argument("--dtypes", nargs="*", help="dtypes of most operands; default: all")
    parser.add_argument("--repeat", help="one call, as it was printed")
    add_options(parser, calls=250_000, seconds=120)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tests" / "fuzz"))
    if options.repeat:
        return _repeat(options.repeat)
    started = time.monotonic()
    counts = run(GuardedCalls, options, options.names, options.dtypes)
    seconds = time.monotonic() - started
    listed = ", ".join(f"{counts[name]} {name}" for name in GuardedCalls.counted)
    print(
        f"{listed}; each made twice, in {seconds:.0f} s, {counts['calls'] / seconds:.0f} a second"
    )
    return int(any(counts[name] for name in FAULTS))


FAULTS = ("faults", "differing fills", "crashes", "hangs")


class GuardedCalls(Worker):
    """Numbers of calls that go round the overloads."""

    counted = ("calls", "succeeded", "without success", *FAULTS)

    def __init__(
        self, start: int, end: int, seconds: float, names: list[str], dtypes: list[str] | None
    ) -> None:
        self._names, self._dtypes = names, dtypes
        super().__init__(start, end, seconds)

    def prepare(self) -> None:
        from guarded_calls import chosen_operators

        from aten.conformance.calls import DTYPES, Chooser

        self._operators: list[Any] = chosen_operators(self._names)
        self._chooser = Chooser(tuple(self._dtypes or DTYPES))
        self._successes: dict[str, int] = {}

    def call(self, number: int) -> None:
        from guarded_calls import DifferingError, try_operator

        from aten.conformance.calls import table_name

        op = self._operators[number % len(self._operators)]
        try:
            succeeded = try_operator(op, str(number), self._chooser, self._begin)
        except DifferingError as fault:
            self.note("differing fills", str(fault)[:600])
            return
        except AssertionError as fault:
            self.note("faults", str(fault)[:600])
            return
        name = table_name(op)
        self._successes[name] = self._successes.get(name, 0) + succeeded
        self.count("succeeded" if succeeded else "without success")

    def _begin(self, name: str) -> None:
        self.count("calls")
        self.say(name)

    def finish(self) -> None:
        never = sorted(name for name, count in self._successes.items() if not count)
        print(f"{len(self._successes)} overloads, of which {len(never)} never succeeded:")
        print(" ".join(never), flush=True)


def _repeat(name: str) -> int:
    from guarded_calls import call_twice, described, parsed

    op, chosen, seed = parsed(name)
    print(described(op, chosen, seed), flush=True)
    print("succeeded" if call_twice(op, chosen, seed, name) else "refused")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Random calls of every registered operator, in processes of their own.

    python tools/fuzz.py [--calls N] [--first SEED] [--jobs N]

Calls are numbered from the first seed on; a number repeats its call. A crash, a hang, an exception
that no call may raise, or operands that a failed call changed are counted and printed with their
number; the exit status is 1 if there were any.
"""

from __future__ import annotations

import argparse
import random
import time
from typing import Any

from workers import Worker, add_options, run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add_options(parser, calls=1_000_000, seconds=60)
    options = parser.parse_args()
    started = time.monotonic()
    counts = run(RandomCalls, options)
    listed = ", ".join(f"{counts[name]} {name}" for name in RandomCalls.counted)
    print(f"{options.calls} calls in {time.monotonic() - started:.0f} s: {listed}")
    return int(any(counts[name] for name in RandomCalls.counted[2:]))


class RandomCalls(Worker):
    """Calls with operands of any layout, and numbers from edge to edge."""

    counted = ("succeeded", "refused", "faults", "crashes", "hangs")
    _operators: list[Any]

    def prepare(self) -> None:
        from operator_calls import operators

        self._operators = operators()

    def call(self, number: int) -> None:
        from operator_calls import Calls, call

        source = random.Random(number)
        op = source.choice(self._operators)
        try:
            succeeded = call(op, *Calls(source).arguments(op))
        except AssertionError as fault:
            self.note("faults", f"call {number}: {str(fault)[:200]}")
            return
        self.count("succeeded" if succeeded else "refused")


if __name__ == "__main__":
    raise SystemExit(main())

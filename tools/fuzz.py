"""Random calls of every registered operator, in processes of their own.

    python tools/fuzz.py [--reentrant | --gradients] [--variations N]
                         [--calls N] [--first SEED] [--jobs N]

Calls are numbered from the first seed on; a number repeats its call. A crash, a hang, an exception
that no call may raise, or operands that a failed call changed are counted and printed with their
number; the exit status is 1 if there were any. With `--reentrant`, arguments, hooks and finalizers
change operands in the middle of the calls. With `--gradients`, operands require gradients,
successful calls are gone back through, and every second call is made in modes and transformations,
one around another. With `--variations`, so many numbers in a row share
operator, dtypes, numbers and flags, and differ in shapes, layouts and elements: most of them need
no kernel that is not there, which matters where compiling is slow, as under a sanitizer.
"""

from __future__ import annotations

import argparse
import random
import time
from typing import Any

from workers import Worker, add_options, run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--reentrant", action="store_true", help="arguments change operands")
    parser.add_argument("--gradients", action="store_true", help="operands require gradients")
    parser.add_argument("--variations", type=int, default=1, help="calls of the same kinds")
    add_options(parser, calls=1_000_000, seconds=60)
    options = parser.parse_args()
    started = time.monotonic()
    make = RandomCalls
    if options.reentrant or options.gradients:
        make = ReentrantCalls if options.reentrant else RecordedCalls
    counts = run(make, options, options.variations)
    listed = ", ".join(f"{counts[name]} {name}" for name in RandomCalls.counted)
    print(f"{options.calls} calls in {time.monotonic() - started:.0f} s: {listed}")
    return int(any(counts[name] for name in RandomCalls.counted[2:]))


class RandomCalls(Worker):
    """Calls with operands of any layout, and numbers from edge to edge."""

    counted = ("succeeded", "refused", "faults", "crashes", "hangs")
    _operators: list[Any]

    def __init__(self, start: int, end: int, seconds: float, variations: int) -> None:
        self._variations = variations
        super().__init__(start, end, seconds)

    def prepare(self) -> None:
        from operator_calls import operators

        self._operators = operators()

    def call_one(self, number: int) -> bool:
        """Whether a call succeeds. Raises AssertionError for a fault."""
        from operator_calls import Calls, call

        source, kinds = self._sources(number)
        op = kinds.choice(self._operators)
        return call(op, *Calls(source, kinds).arguments(op))

    def _sources(self, number: int) -> tuple[random.Random, random.Random]:
        """What a call is drawn from, and what decides which kernels it needs."""
        source = random.Random(number)
        if self._variations == 1:
            return source, source
        return source, random.Random(f"kinds {number // self._variations}")

    def call(self, number: int) -> None:
        try:
            succeeded = self.call_one(number)
        except AssertionError as fault:
            self.note("faults", f"call {number}: {str(fault)[:200]}")
            return
        self.count("succeeded" if succeeded else "refused")


class RecordedCalls(RandomCalls):
    """Calls with operands that require gradients, and the way back from them."""

    def call_one(self, number: int) -> bool:
        from operator_calls import Calls, call_recorded
        from transformed_calls import transformed_call

        source, kinds = self._sources(number)
        op = kinds.choice(self._operators)
        make = transformed_call if number % 2 else call_recorded
        return make(op, *Calls(source, kinds).arguments(op), source)


class ReentrantCalls(RandomCalls):
    """Calls in the middle of which other code runs, and changes what they work on."""

    def call_one(self, number: int) -> bool:
        from reentrant_calls import reentrant_call

        return reentrant_call(random.Random(number), self._operators)


if __name__ == "__main__":
    raise SystemExit(main())

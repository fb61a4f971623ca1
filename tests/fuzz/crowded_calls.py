"""Calls of operators whose operands other threads write to, resize and replace meanwhile.

A race on values gives some value, a change of sizes some exception or some result: never a fault.
Freed memory cannot be touched, so a call that reads on in what another thread let go of dies.
"""

from __future__ import annotations

import gc
import math
import random
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from guarded_calls import chosen_operators, guarded
from operator_calls import ALLOWED

import aten
from aten.conformance import stories as call_stories
from aten.conformance.calls import Chooser, ValidCalls

# How often a call is made while its operands change.
REPEATS = 6
CHANGERS = 2
# Seconds between two looks of the interpreter at other threads.
SWITCHING = 2e-5
# The largest sizes by number of letters of a story, for operands that kernels walk without the
# interpreter lock; and of a vector alone.
LARGE = (1, 700, 500, 70, 22, 11, 8, 6)
LONG = (1, 400_000)
# The most elements up to which an operand is doubled: again and again, and a matrix would come to a
# size at which its singular values take minutes.
MOST_ELEMENTS = 1 << 20
_WILD = (-1, 0, 1, 7, 1 << 20, 1 << 40, -(1 << 40), (1 << 62) + 3)


def _write(x: Any, source: random.Random) -> None:
    if x.dtype.is_floating_point or x.dtype.is_complex:
        x.fill_(source.choice((0.0, 1.5, -3.0, float("nan"), float("inf"))))
    elif x.dtype is aten.bool:
        x.fill_(source.random() < 0.5)
    else:
        bounds = aten.iinfo(x.dtype)
        x.fill_(max(min(source.choice(_WILD), bounds.max), bounds.min))


def _write_some(x: Any, source: random.Random) -> None:
    _write(x.view(-1)[source.randrange(5) :: source.randint(1, 5)], source)


def _resize(x: Any, source: random.Random) -> None:
    factor = source.choice((0, 1, 1, 2))
    sizes = [factor * size + source.choice((0, 0, 1)) for size in x.shape]
    if math.prod(sizes) <= MOST_ELEMENTS:
        x.resize_(sizes)


def _reshape(x: Any, source: random.Random) -> None:
    x.resize_([source.choice((0, 1, 3, 50)) for _ in range(source.randint(0, 4))])


def _replace(x: Any, source: random.Random) -> None:
    sizes = [source.choice((0, 1, 2, size)) for size in x.shape]
    x.set_(aten.empty(sizes, dtype=x.dtype))


def _shrink(x: Any, source: random.Random) -> None:
    x.data = aten.zeros(source.choice((0, 1, 2)), dtype=x.dtype)


def _share(x: Any, source: random.Random) -> None:
    """A copy that is put off, and has to be made before the next write."""
    x.clone().add_(1)


def _turn(x: Any, source: random.Random) -> None:
    x.transpose_(0, -1)


def _collect(x: Any, source: random.Random) -> None:
    gc.collect(0)


def _take_threads(x: Any, source: random.Random) -> None:
    aten.set_num_threads(source.randint(1, 3))


CHANGES: tuple[Callable[[Any, random.Random], None], ...] = (
    *(_write, _write, _write_some, _write_some, _resize, _resize, _reshape, _replace, _replace),
    *(_shrink, _share, _turn, _collect, _take_threads),
)


class Crowd:
    """Threads that change the tensors of whatever call is being made."""

    def __init__(self, seed: str) -> None:
        self.targets: list[Any] = []
        self.changes = 0
        self._stop = threading.Event()
        # Held by a thread from when it looks at the targets until it has changed one.
        self._busy = [threading.Lock() for _ in range(CHANGERS)]
        self._threads = [
            threading.Thread(target=self._change, args=(random.Random(f"{seed} {number}"), busy))
            for number, busy in enumerate(self._busy)
        ]

    def __enter__(self) -> Crowd:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def settle(self) -> None:
        """Let go of all targets, and wait until nobody changes one any more."""
        self.targets = []
        for busy in self._busy:
            with busy:
                pass

    def _change(self, source: random.Random, busy: threading.Lock) -> None:
        while not self._stop.is_set():
            with busy:
                targets = self.targets
                if targets:
                    self._change_one(source.choice(targets), source)
            if not targets:
                self._stop.wait(0.0005)

    def _change_one(self, target: Any, source: random.Random) -> None:
        try:
            source.choice(CHANGES)(target, source)
        except ALLOWED:
            return
        self.changes += 1


def _tensors(values: Any) -> Iterator[Any]:
    if isinstance(values, aten.Tensor):
        yield values
    elif isinstance(values, (list, tuple)):
        for one in values:
            yield from _tensors(one)


def lies_inside(x: Any) -> bool:
    """Whether every element of a tensor is one of its storage."""
    if x.numel() == 0:
        return True
    last = sum((size - 1) * step for size, step in zip(x.shape, x.stride(), strict=True))
    return bool((x.storage_offset() + last + 1) * x.itemsize <= len(x.untyped_storage()))


class Crowded:
    """Makes calls in a crowd, one after the other."""

    def __init__(self, crowd: Crowd, names: list[str]) -> None:
        self._crowd = crowd
        self._operators = chosen_operators(names)
        self._chooser = Chooser()
        self._small = call_stories._MOST

    @property
    def changes(self) -> int:
        """Changes that other threads made so far."""
        return self._crowd.changes

    def operator(self, number: int) -> Any:
        """What a call of that number calls."""
        return self._operators[number % len(self._operators)]

    def call(self, number: int) -> tuple[int, int]:
        """How many of the repeats of a call succeeded, and how many were made.

        Raises AssertionError for an exception that no call may raise, and for an operand that is
        left with elements outside of its storage.
        """
        op = self.operator(number)
        source = random.Random(number)
        chosen = self._chooser.choose(op, source)
        sizes = LONG if call_stories.STORIES[chosen.story].rank == 1 else LARGE
        call_stories._MOST = sizes if source.random() < 0.4 else self._small
        positional, keywords = ValidCalls(op, chosen, str(number)).arguments()
        operands = list(_tensors([positional, list(keywords.values())]))
        succeeded = 0
        for repeat in range(REPEATS):
            self._crowd.targets = operands if repeat else []
            try:
                op(*positional, **keywords)
            except Exception as error:
                if not isinstance(error, ALLOWED) or isinstance(error, RecursionError):
                    raise AssertionError(f"{op} raised {type(error).__name__}: {error}") from error
                continue
            succeeded += 1
        self._chooser.note(op, chosen, succeeded > 0)
        self._crowd.settle()
        outside = [place for place, one in enumerate(operands) if not lies_inside(one)]
        assert not outside, f"{op}: operands {outside} reach out of their storages"
        return succeeded, REPEATS


@contextmanager
def crowded(seed: str, names: list[str]) -> Iterator[Crowded]:
    """Calls among threads, with freed memory out of reach."""
    before = sys.getswitchinterval()
    threads = aten.get_num_threads()
    sys.setswitchinterval(SWITCHING)
    try:
        with guarded("end", 0xA5), warnings.catch_warnings(), Crowd(seed) as crowd:
            warnings.simplefilter("ignore")
            yield Crowded(crowd, names)
    finally:
        sys.setswitchinterval(before)
        aten.set_num_threads(threads)

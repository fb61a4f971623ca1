"""Calls of threads that write to nothing another one knows: a build with the thread sanitizer tells
of no access then that nobody meant.

They share tensors that are only read, with copies of these that are put off, the pool, the
allocator, the tables that operators are registered in and kernels that nobody has compiled yet.
"""

from __future__ import annotations

import random
import sys
import threading
from typing import Any

from operator_calls import ALLOWED, Calls, operators

import aten

THREADS = 4
# Seconds between two looks of the interpreter at other threads.
SWITCHING = 2e-5
# Enough for the pool's threads to have a part each.
_LARGE = 1 << 17


def make_calls(calls: int, first: int = 0) -> dict[str, int]:
    """How many calls succeeded and were refused, of `calls` in each of the threads."""
    shared = [
        aten.rand(_LARGE),
        aten.rand(64, 96).t(),
        aten.arange(_LARGE).flip(0),
        aten.rand(300, 300) > 0.5,
    ]
    everything = operators()
    counts = [{"succeeded": 0, "refused": 0} for _ in range(THREADS)]
    failures: list[BaseException] = []

    def make(thread: int) -> None:
        try:
            for number in range(first, first + calls):
                source = random.Random(f"{thread} {number}")
                if number % 4 == 0:
                    _use_together(source, shared)
                if number % 16 == 0:
                    _register(f"apart{thread}", number)
                counts[thread][_outcome(source, everything)] += 1
        except BaseException as failure:
            failures.append(failure)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCHING)
    try:
        threads = [threading.Thread(target=make, args=(number,)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    if failures:
        raise failures[0]
    return {name: sum(one[name] for one in counts) for name in counts[0]}


def _outcome(source: random.Random, everything: list[Any]) -> str:
    op = source.choice(everything)
    positional, keywords = Calls(source).arguments(op)
    try:
        op(*positional, **keywords)
    except ALLOWED:
        return "refused"
    return "succeeded"


def _use_together(source: random.Random, shared: list[aten.Tensor]) -> None:
    """Calls large enough for the pool, of operands that other threads read as well."""
    x, matrix, indices, mask = shared
    own = x.clone().add_(source.random())
    aten.sort(own)
    own.view(-1)[indices].sum()
    aten.where(mask, 1.0, 0.0).cumsum(0).amax(1)
    (matrix.contiguous() @ matrix.t()).softmax(1)
    own.index_add_(0, indices, x)


def _register(namespace: str, number: int) -> None:
    """An operator that comes, is called and goes while others look at the tables."""
    with aten.library.Library(namespace, "FRAGMENT") as library:
        library.define(f"twice{number}(Tensor x) -> Tensor")
        library.impl(f"twice{number}", lambda x: x + x, "CompositeExplicitAutograd")
        result = getattr(getattr(aten.ops, namespace), f"twice{number}")(aten.ones(3))
        assert result.tolist() == [2.0, 2.0, 2.0]

"""Calls on memory that another process changes meanwhile.

The values of an argument lie in memory that two processes share. One calls an operator over and
over; the other turns good values into wild ones and back, as fast as it can: between the moment at
which an operator checks them and that at which it uses them, too, whoever holds the interpreter's
lock.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import mmap
import os
import resource
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
from operator_calls import ALLOWED

import aten

Array = Any
Check = Callable[[Any], bool]

SECONDS = 0.15
# A call that takes so long hangs.
PATIENCE = 20
_PAGE = mmap.PAGESIZE


@dataclass
class Values:
    """What an operator is given: the good array, and others that take its place."""

    good: Array
    wild: list[Array]


@dataclass
class Recipe:
    """A call for an argument that changes; `holds` tells of its result what is so in any case."""

    values: Values
    call: Callable[[aten.Tensor], Any]
    holds: Check | None = None


_C = ctypes.CDLL(None, use_errno=True)


@functools.cache
def table(*shape: int, element: str = "float32", start: float = 0.5) -> aten.Tensor:
    """A tensor that ends where a page begins that cannot be touched, as one before it."""
    count = int(numpy.prod(shape, dtype=numpy.int64))
    size = numpy.dtype(element).itemsize * count
    pages = -(-size // _PAGE)
    memory = mmap.mmap(-1, (pages + 2) * _PAGE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for guard in (address, address + (pages + 1) * _PAGE):
        if _C.mprotect(ctypes.c_void_p(guard), ctypes.c_size_t(_PAGE), 0):
            raise OSError(ctypes.get_errno(), "mprotect")
    offset = (pages + 1) * _PAGE - size
    array = numpy.frombuffer(memory, element, count, offset).reshape(shape)
    array[...] = start
    return aten.from_numpy(array)


def _shared_copy(like: Array) -> Array:
    """Memory that child processes share, as an array."""
    memory = mmap.mmap(-1, max(like.nbytes, 1))
    return numpy.frombuffer(memory, like.dtype, like.size).reshape(like.shape)


def _change(changing: Array, values: Values, going: Array, parent: int) -> None:
    """Turn good values into wild ones and back until the parent is gone."""
    while not going[0]:
        time.sleep(0.001)
    while os.getppid() == parent:
        for _ in range(16):
            for wild in values.wild:
                changing[...] = values.good
                changing[...] = wild


def _limit_memory() -> None:
    """Requests of gigabytes are refused, on machines that would promise them, too."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (pages * _PAGE + (1 << 30), hard))


def _compile(recipe: Recipe, operand: aten.Tensor, changing: Array) -> None:
    """Go all ways once: good values are taken; what comes of wild ones, other tests say."""
    recipe.call(operand)
    for wild in recipe.values.wild:
        changing[...] = wild
        with contextlib.suppress(*ALLOWED):
            recipe.call(operand)
    changing[...] = recipe.values.good


def _race(recipe: Recipe) -> dict[str, Any]:
    """Call while the values change. What was raised, and what held not."""
    changing, going = _shared_copy(recipe.values.good), _shared_copy(numpy.zeros(1, numpy.uint8))
    changing[...] = recipe.values.good
    parent = os.getpid()
    changer = os.fork()
    if changer == 0:
        _change(changing, recipe.values, going, parent)
        os._exit(0)
    raised: Counter[str] = Counter()
    calls = wrong = 0
    try:
        operand = aten.from_numpy(changing)
        _compile(recipe, operand, changing)
        going[0] = 1
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            calls += 1
            try:
                made = recipe.call(operand)
                wrong += recipe.holds is not None and not recipe.holds(made)
            except ALLOWED as error:
                raised[type(error).__name__] += 1
    except Exception as error:
        raised[f"refused: {type(error).__name__}: {error}"] += 1
    finally:
        os.kill(changer, signal.SIGKILL)
        os.waitpid(changer, 0)
    return {"calls": calls, "wrong": wrong, "raised": dict(raised)}


def outcomes(every: Mapping[str, Recipe], names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """What became of each recipe, each in a process of its own."""
    for name in names:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            signal.alarm(PATIENCE)
            _limit_memory()
            with os.fdopen(writing, "w") as report:
                json.dump(_race(every[name]), report)
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as report:
            found = report.read()
        status = os.waitpid(child, 0)[1]
        yield {"name": name, "status": os.waitstatus_to_exitcode(status)} | json.loads(
            found or "{}"
        )

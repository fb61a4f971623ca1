"""Calls between guard pages, made twice: flush with the end and the start, in memory that is filled
with other bytes. What differs was read from memory that nobody wrote.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from operator_calls import ALLOWED, operators
from tensor_bits import as_bits

import aten
from aten import registry
from aten._core.memory import allocator
from aten.conformance.calls import Chooser, Combination, ValidCalls, table_name

FILLS = ((0x00, 0xFF), (0x01, 0x7F), (0x00, 0xA5), (0x3F, 0xC0))
# Combinations that are tried until the overload takes one.
TRIES = 8

# Operators whose results may be whatever memory held, by the beginnings of their names, and why.
# What they leave in memory is not compared; sizes, strides and dtypes are.
UNINITIALIZED = {
    "empty": "fresh memory is what they are for",
    "new_empty": "fresh memory is what they are for",
    "resize": "elements beyond the old ones are nobody's",
    "_resize": "elements beyond the old ones are nobody's",
    "set": "the tensor shows a storage of another size",
}


class DifferingError(AssertionError):
    """Two fills of memory give two results."""


def chosen_operators(names: list[str]) -> list[Any]:
    """All overloads, or those that `names` name: operators ("add") and overloads ("add.out")."""
    found = [op for op in operators() if not names or op.name in names or table_name(op) in names]
    if not found:
        raise LookupError(f"no operator is named {' or '.join(names)}")
    return found


def parsed(name: str) -> tuple[Any, Combination, str]:
    """What a call's name says: overload, combination and seed."""
    operator, story, dtype, values, seed = name.split("|")
    return registry.operator(f"aten::{operator}"), Combination(int(story), dtype, values), seed


def is_compared(op: Any) -> bool:
    """Whether elements of results and operands are promised."""
    return not op.name.startswith(tuple(UNINITIALIZED))


@contextmanager
def guarded(place: str, fill: int) -> Iterator[None]:
    before = allocator.set_guard(place, fill)
    try:
        yield
    finally:
        allocator.set_guard(*before)


def try_operator(
    op: Any, seed: str, chooser: Chooser, tell: Callable[[str], None] = lambda text: None
) -> bool:
    """Calls of `op` until one succeeds; whether one did. Raises AssertionError for a fault.

    `tell` gets what repeats a call, before it is made.
    """
    source = random.Random(seed)
    for attempt in range(TRIES):
        chosen = chooser.choose(op, source)
        name = f"{table_name(op)}|{chosen.story}|{chosen.dtype}|{chosen.values}|{seed}.{attempt}"
        tell(name)
        succeeded = call_twice(op, chosen, f"{seed}.{attempt}", name)
        chooser.note(op, chosen, succeeded)
        if succeeded:
            return True
    return False


# What another dtype is told of memory that ends flush with a page: it begins wherever its size has
# it begin, while ordinary blocks, and those at a page's start, are aligned for every dtype.
UNALIGNED = "unaligned"
# What a process has left of the memory it is allowed is another amount each time.
NO_MEMORY = "MemoryError"


def call_twice(op: Any, chosen: Combination, seed: str, name: str) -> bool:
    """Whether the call succeeds. Raises AssertionError where its outcomes differ."""
    fills = random.Random(seed).choice(FILLS)
    outcomes = []
    for place, fill in zip(("end", "start"), fills, strict=True):
        with guarded(place, fill), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcomes.append(_outcome(op, chosen, seed, name))
    (raised, first), (again, second) = outcomes
    if not {UNALIGNED, NO_MEMORY}.isdisjoint((raised, again)):
        return False
    if raised != again:
        raise DifferingError(f"{name}: raised {raised}, then {again}")
    if first != second:
        raise DifferingError(f"{name}: two fills of memory give two results")
    return raised is None


def _outcome(op: Any, chosen: Combination, seed: str, name: str) -> tuple[Any, list[Any]]:
    positional, keywords = ValidCalls(op, chosen, seed).arguments()
    aten.manual_seed(0)
    raised, result = None, None
    try:
        result = op(*positional, **keywords)
    except Exception as error:
        if not isinstance(error, ALLOWED) or isinstance(error, RecursionError):
            raised = f"{type(error).__name__}: {error}"
            raise AssertionError(f"{name} raised {raised}") from error
        raised = (
            UNALIGNED if "address that is not a multiple" in str(error) else type(error).__name__
        )
    try:
        return raised, list(states((result, positional, keywords), is_compared(op)))
    except MemoryError:  # for looking at a result that the call had memory for
        return NO_MEMORY, []


def states(value: Any, is_compared: bool) -> Iterator[Any]:
    """Geometry, and elements bit for bit, of every tensor; other values as they are."""
    if isinstance(value, aten.Tensor):
        yield tuple(value.shape), value.stride(), value.dtype.name
        yield value.is_neg(), value.is_conj()
        if is_compared and value.device.type == "cpu" and value.numel():
            yield as_bits(_as_in_memory(value)).tobytes()
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from states(one, is_compared)
    elif isinstance(value, dict):
        yield from states(list(value.values()), is_compared)
    elif is_compared:
        yield repr(value) if isinstance(value, (int, float, complex)) else type(value).__name__


def _as_in_memory(tensor: aten.Tensor) -> aten.Tensor:
    """The elements without the sign and the conjugation that a view of them promises."""
    plain = aten.ops.aten._neg_view(tensor) if tensor.is_neg() else tensor
    return aten.ops.aten._conj(plain) if plain.is_conj() else plain


def described(op: Any, chosen: Combination, seed: str) -> str:
    """The arguments of a call, in words."""
    positional, keywords = ValidCalls(op, chosen, seed).arguments()
    words = [_words(value) for value in positional]
    words += [f"{name}={_words(value)}" for name, value in keywords.items()]
    return f"{table_name(op)}({', '.join(words)})"


def _words(value: Any) -> str:
    if isinstance(value, aten.Tensor):
        layout = f"{list(value.shape)} by {list(value.stride())} from {value.storage_offset()}"
        return f"{value.dtype.name} {layout}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_words(one) for one in value)}]"
    return repr(value)

"""Calls of which every request for memory fails once: an exception, and nothing half done."""

from __future__ import annotations

import gc
import random
import warnings
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from guarded_calls import guarded, is_compared, parsed, states

import aten
from aten import memory
from aten._core.memory import allocator, storage
from aten.conformance.calls import Chooser, Combination, ValidCalls, table_name

TRIES = 10
# Requests of one call that are made to fail: the first ones, and some of the others.
MOST_FAILED = 24
# Calls that take more than that might be short of memory by themselves.
MOST_BYTES = 1 << 28
# Requests of the interpreter in one call that are made to fail, in turn.
MOST_REFUSED = 100
# Kinds of operators that ask NumPy for nothing, which crashes when it is refused memory itself.
OWN_KINDS = frozenset({"pointwise", "reduction", "view", "copy", "factory", "scan"})


class Blocks:
    """The memory of tensors: the allocator refuses a block."""

    @staticmethod
    def requests() -> int:
        return allocator.stats()["allocations"]

    @staticmethod
    def refuse(count: int) -> int:
        """Refuse the `count`-th request from now on; gives what was left to wait for."""
        return allocator.fail_after(count)


def fail_operator(
    op: Any,
    seed: str,
    chooser: Chooser,
    tell: Callable[[str], None] = lambda text: None,
    source: Any = Blocks,
) -> tuple[int, int]:
    """How many requests of a call of `op` were refused, and how many refusals it survived.

    Raises AssertionError for a fault. `tell` gets what repeats the call.
    """
    draw = random.Random(seed)
    for attempt in range(TRIES):
        chosen = chooser.choose(op, draw)
        name = f"{table_name(op)}|{chosen.story}|{chosen.dtype}|{chosen.values}|{seed}.{attempt}"
        tell(name)
        with guarded("end", 0xA5), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = _fail_each(op, chosen, f"{seed}.{attempt}", name, source)
        chooser.note(op, chosen, found is not None)
        if found is not None:
            return found
    return 0, 0


def fail_interpreter(
    op: Any, seed: str, chooser: Chooser, tell: Callable[[str], None] = lambda text: None
) -> int:
    """How many of the interpreter's own requests were refused in a call of `op`.

    Such a call raises MemoryError. What it has written by then stays written: objects are made
    after that, too. Raises AssertionError for a fault.
    """
    import _testcapi

    source = random.Random(seed)
    for attempt in range(TRIES):
        chosen = chooser.choose(op, source)
        name = f"{table_name(op)}|{chosen.story}|{chosen.dtype}|{chosen.values}|{seed}.{attempt}"
        try:
            for _ in range(2):
                arguments = ValidCalls(op, chosen, f"{seed}.{attempt}").arguments()
                expected = _outcome(op, _called(op, *arguments), arguments)
        except Exception:
            chooser.note(op, chosen, False)
            continue
        chooser.note(op, chosen, True)
        for place in range(MOST_REFUSED):
            arguments = ValidCalls(op, chosen, f"{seed}.{attempt}").arguments()
            operands = list(states(arguments, True))
            tell(f"{name}, request {place}")
            aten.manual_seed(0)
            try:
                _testcapi.set_nomemory(place, place + 1)
                op(*arguments[0], **arguments[1])
            except MemoryError:
                _testcapi.remove_mem_hooks()
            except Exception as error:
                _testcapi.remove_mem_hooks()
                told = f"{type(error).__name__}: {error}"
                raise AssertionError(f"{name}, request {place}: raised {told}") from error
            else:
                _testcapi.remove_mem_hooks()
                return place
            if not any(one.is_write for one in op._schema.arguments):
                assert list(states(arguments, True)) == operands, f"{name}: operands have changed"
            arguments = ValidCalls(op, chosen, f"{seed}.{attempt}").arguments()
            again = _outcome(op, _called(op, *arguments), arguments)
            assert again == expected, f"{name}, request {place}: the next call is wrong"
        return MOST_REFUSED
    return 0


def repeat(name: str, source: Any = Blocks) -> tuple[int, int] | None:
    with guarded("end", 0xA5):
        return _fail_each(*parsed(name), name, source)


def _fail_each(
    op: Any, chosen: Combination, seed: str, name: str, source: Any
) -> tuple[int, int] | None:
    """Refusals, and those survived; None where the call is not one that the operator takes."""
    before = storage.set_least_shared(1)
    try:
        # Once for the code, and for what is kept from then on.
        memory.reset_peak()
        held = _held_by(_called(op, *_Operands(op, chosen, seed).arguments))
    except Exception:
        return None
    else:
        if max(held, memory.stats()["peak_bytes"]) > MOST_BYTES:
            return None
        return _fail_every(op, chosen, seed, name, source)
    finally:
        storage.set_least_shared(before)


def _fail_every(op: Any, chosen: Combination, seed: str, name: str, source: Any) -> tuple[int, int]:
    operands = _Operands(op, chosen, seed)
    before = source.requests()
    result = _called(op, *operands.arguments)
    requests = source.requests() - before
    expected = operands.outcome(result)
    del result, operands
    places = list(range(1, requests + 1))
    if requests > MOST_FAILED:
        half = MOST_FAILED // 2
        places = places[:half] + random.Random(seed).sample(places[half:], half)
    survived = sum(_fail_one(op, chosen, seed, name, source, place, expected) for place in places)
    return len(places), survived


class _Operands:
    """The arguments of a call; of every second one in memory that copies of them show, too, so
    that it has to be copied before the call writes there."""

    def __init__(self, op: Any, chosen: Combination, seed: str) -> None:
        self._op = op
        self.arguments = ValidCalls(op, chosen, seed).arguments()
        # Read from copies: who reads by way of NumPy ends the sharing.
        self.states = list(states(_copied(self.arguments), True))
        shares = random.Random(seed).random() < 0.5
        self._others = _copied(self.arguments) if shares else None

    def states_now(self) -> list[Any]:
        return list(states(_copied(self.arguments), True))

    def outcome(self, result: Any) -> list[Any]:
        return list(states((result, self.arguments), is_compared(self._op)))


def _copied(value: Any) -> Any:
    if isinstance(value, aten.Tensor):
        return deepcopy(value) if value.numel() else value
    if isinstance(value, (list, tuple)):
        return [_copied(one) for one in value]
    if isinstance(value, dict):
        return {name: _copied(one) for name, one in value.items()}
    return value


def _fail_one(
    op: Any,
    chosen: Combination,
    seed: str,
    name: str,
    source: Any,
    place: int,
    expected: list[Any],
) -> bool:
    """Whether the call succeeds though its request number `place` is refused."""
    held = memory.stats()["allocated_bytes"]
    operands = _Operands(op, chosen, seed)
    name = f"{name}, request {place}"
    result, raised = None, None
    source.refuse(place)
    try:
        result = _called(op, *operands.arguments)
    except Exception as error:
        raised = type(error), str(error)
    finally:
        source.refuse(0)
    if raised is None:
        assert operands.outcome(result) == expected, f"{name}: a wrong result"
        return True
    assert _tells_of_memory(*raised), f"{name}: raised {raised[0].__name__}: {raised[1]}"
    assert operands.states_now() == operands.states, f"{name}: operands have changed"
    again = _called(op, *operands.arguments)
    assert operands.outcome(again) == expected, f"{name}: the next call is wrong"
    del again, operands
    if memory.stats()["allocated_bytes"] > held:
        gc.collect()
    lost = memory.stats()["allocated_bytes"] - held
    assert lost <= 0, f"{name}: {lost} bytes are lost"
    return False


def _held_by(value: Any) -> int:
    """Bytes of results, which NumPy may have made: the allocator does not count these."""
    if isinstance(value, aten.Tensor):
        return value.numel() * value.itemsize
    return sum(_held_by(one) for one in value) if isinstance(value, (list, tuple)) else 0


def _tells_of_memory(kind: type[Exception], text: str) -> bool:
    return issubclass(kind, MemoryError) or (kind is RuntimeError and "memory" in text)


def _called(op: Any, positional: list[Any], keywords: dict[str, Any]) -> Any:
    aten.manual_seed(0)
    return op(*positional, **keywords)


def _outcome(op: Any, result: Any, arguments: Any) -> list[Any]:
    return list(states((result, arguments), is_compared(op)))

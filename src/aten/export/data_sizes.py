"""Sizes that data choose: while a program is traced, numbers are drawn for them.

An operator whose result is as large as data say (`nonzero`, `unique`) gives a fake result of a
size drawn for that trace, the same one for the same operands. Across traces it is one more size
that differs, `u0`, `u1`, ... in the order of the calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from random import Random
from typing import Any, NamedTuple

from aten._core.base.device import device
from aten._core.base.keys import ExcludeDispatchKeyGuard
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.tensor.tensor import Tensor
from aten.backends.modes import KEYS_OF_MODES
from aten.export.solving import LARGE, SPAN
from aten.graph.pytree import map_tensors
from aten.ops.unknown_sizes import saying
from aten.registry import ops

_META = device("meta")

ORDINARY, SMALLEST, LARGEST = "ordinary", "smallest", "largest"


class DataSize(NamedTuple):
    """A size in one trace that data choose.

    Attributes:
        name: the symbol.
        counted: what is counted, `nonzero` say.
        value: what was drawn.
        least, most: what it may be for any data; None where there is no limit.
    """

    name: str
    counted: str
    value: int
    least: int
    most: int | None

    def __str__(self) -> str:
        return f"{self.name} ({self.counted})"


class Draws:
    """The sizes of one trace that data choose.

    Args:
        seed: other seeds draw other numbers.
        kind: whether numbers are drawn, or are the smallest of at least 2, or the largest.
        given: numbers by the symbols' names, in the place of drawn ones.
        beyond: symbols whose numbers may be larger than data allow.

    Attributes:
        found: what was drawn, in order.
    """

    def __init__(
        self,
        seed: int,
        kind: str = ORDINARY,
        given: Mapping[str, int] | None = None,
        beyond: frozenset[str] = frozenset(),
    ) -> None:
        self.found: list[DataSize] = []
        self._kind = kind
        self._given = given or {}
        self._beyond = beyond
        self._random = Random(seed)
        # By what it is of. Storages are kept, so that no other one gets the identity.
        self._known: dict[Any, DataSize] = {}
        self._kept: list[Any] = []
        self._same: dict[int, int] = {}

    def __str__(self) -> str:
        return ", ".join(f"{one} = {one.value}" for one in self.found)

    @property
    def point(self) -> dict[str, int]:
        return {one.name: one.value for one in self.found}

    def in_force(self) -> AbstractContextManager[None]:
        """Lets operators on this thread take their sizes from here."""
        return saying(self)

    def size(self, name: str, operands: Sequence[object], least: int, most: int | None) -> int:
        """The number for what is counted of these operands."""
        key = name, *map(self._identity, operands)
        known = self._known.get(key)
        if known is None:
            symbol = f"u{len(self.found)}"
            value = self._drawn(symbol, least, None if symbol in self._beyond else most)
            known = self._known[key] = DataSize(symbol, name, value, least, most)
            self.found.append(known)
        return known.value

    def same(self, one: Tensor, other: Tensor) -> None:
        """Lets tensors with memory of their own have the same elements."""
        self._same[self._storage(one)] = self._storage(other)

    def _drawn(self, symbol: str, least: int, most: int | None) -> int:
        lowest = max(least, 2)
        highest = lowest + SPAN if most is None else max(lowest, min(most, lowest + SPAN))
        value = self._random.randint(lowest, highest)
        if self._kind == SMALLEST:
            value = lowest
        elif self._kind == LARGEST:
            large = LARGE - len(self.found) - 1
            value = max(lowest, large if most is None else min(most, large))
        value = max(self._given.get(symbol, value), least)
        return value if most is None else min(value, most)

    def _identity(self, operand: object) -> Any:
        if not isinstance(operand, Tensor):
            return operand
        where = operand.storage_offset(), tuple(operand.shape), operand.stride()
        return self._storage(operand), *where, operand.dtype.name

    def _storage(self, tensor: Tensor) -> int:
        storage = tensor.untyped_storage()
        self._kept.append(storage)
        return self._same.get(id(storage), id(storage))


def is_sized_by_data(op: OpOverload, args: Any, kwargs: Any) -> bool:
    """Whether data choose the size of what an operator gives for arguments like these."""
    if "dynamic_output_shape" not in op.entry.tags:
        return False
    draws = Draws(0)
    with ExcludeDispatchKeyGuard(KEYS_OF_MODES), draws.in_force():
        given, named = map_tensors(_without_data, (args, kwargs))
        op(*given, **named)
    return bool(draws.found)


def _without_data(tensor: Tensor) -> Tensor:
    made: Tensor = ops.aten.empty_strided(
        tensor.shape, tensor.stride(), dtype=tensor.dtype, device=_META
    )
    return made


def refused() -> AbstractContextManager[None]:
    """Lets no operator on this thread give a result whose size data choose."""
    return saying(None)

"""A call of an operator with rows of a batch among its operands."""

from __future__ import annotations

from copy import copy
from functools import cache
from typing import Any

from aten._core.base.keys import DispatchKey, DispatchKeySet
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.tensor.tensor import Tensor
from aten.graph.pytree import rebuilt
from aten.registry import ops
from aten.transforms.batching.wrapping import Level, batched, known_of, level_of, repeated
from aten.transforms.functional_forms import written_names

# A key by which composites are served by what they call.
COMPOSITE = DispatchKeySet(DispatchKey.__members__["AutogradCPU"])


def is_composite(op: OpOverload) -> bool:
    """Whether the operator is what it calls, on every device."""
    return bool(op.registrations.kernels.get(DispatchKey.__members__["CompositeImplicitAutograd"]))


@cache
def argument_names(op: OpOverload) -> tuple[str, ...]:
    """The operator's arguments, in the order of its schema."""
    return tuple(argument.name for argument in op._schema.arguments)


@cache
def writes(op: OpOverload) -> bool:
    """Whether the operator writes to its first argument."""
    arguments = op._schema.arguments
    return bool(arguments) and arguments[0].is_write and not arguments[0].is_out


@cache
def has_out(op: OpOverload) -> bool:
    """Whether the operator writes to an out= argument."""
    return any(argument.is_out for argument in op._schema.arguments)


def called(op: OpOverload, given: dict[str, Any]) -> Any:
    """The operator's results for arguments by name; names that it has not are left out."""
    args, kwargs = arranged(op, given)
    return op(*args, **kwargs)


def arranged(op: OpOverload, given: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Arguments by position and by keyword, of those by name."""
    args, kwargs = [], {}
    for argument in op._schema.arguments:
        if argument.name not in given:
            continue
        if argument.keyword_only:
            kwargs[argument.name] = given[argument.name]
        else:
            args.append(given[argument.name])
    return args, kwargs


class Call:
    """What an operator was called with, and how many rows the batch of its highest level has.

    `given` has the arguments by name, with their defaults. With `among`, a level,
    no operand need be a row.

    Raises RuntimeError where no operand is a row that is known of.
    """

    __slots__ = ("given", "level", "op", "size")

    def __init__(
        self,
        op: OpOverload,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        among: Level | None = None,
    ) -> None:
        self.op = op
        self.level = max(level_of(args), level_of(tuple(kwargs.values())))
        if among is not None:
            self.level = among.number
        if self.level == 0:
            raise RuntimeError(
                f"{op.name}: a row of a batch under vmap was made a tensor of another class, or a "
                f"parameter, which no row can be"
            )
        self.given: dict[str, Any] = {
            argument.name: argument.default
            for argument in op._schema.arguments[len(args) :]
            if argument.has_default
        }
        self.given.update(zip(argument_names(op), args, strict=False))
        self.given.update(kwargs)
        self.size = self._size(tuple(self.given.values())) if among is None else among.size

    def _size(self, values: Any) -> int:
        for value in values:
            if isinstance(value, (list, tuple)):
                found = self._size(value)
                if found >= 0:
                    return found
            elif self.has(value):
                return int(self.inner(value).shape[0])
        return -1

    def has(self, value: Any) -> bool:
        """Whether a value is a row of this level."""
        known = known_of(value)
        return known is not None and known.level == self.level

    def has_any(self, value: Any) -> bool:
        """Whether a value, or one of a list, is a row of this level."""
        return level_of(value) == self.level

    def inner(self, value: Any) -> Any:
        """The batch that a row is of; other values as they are, lists of them alike."""
        if isinstance(value, (list, tuple)):
            return rebuilt(value, [self.inner(one) for one in value])
        known = known_of(value)
        return known.value if known is not None and known.level == self.level else value

    def front(self, value: Any) -> Any:
        """As `inner`, and other tensors repeated for every row."""
        if isinstance(value, (list, tuple)):
            return rebuilt(value, [self.front(one) for one in value])
        if not isinstance(value, Tensor):
            return value
        return self.inner(value) if self.has(value) else repeated(value, self.size)

    def tensors(self) -> list[str]:
        """The names of the arguments that are tensors."""
        return [name for name, value in self.given.items() if isinstance(value, Tensor)]

    def run(self, op: OpOverload | None = None, /, **changed: Any) -> Any:
        """The results as rows, of the operator, or of `op`, with the batches for operands."""
        given = {**{name: self.inner(one) for name, one in self.given.items()}, **changed}
        return self.rows(called(self.op if op is None else op, given))

    def rows(self, results: Any) -> Any:
        """Results as rows; the first operand where it was written to."""
        if writes(self.op) and isinstance(results, Tensor):
            return self.given[argument_names(self.op)[0]]
        if isinstance(results, (list, tuple)):
            return rebuilt(results, [self.rows(one) for one in results])
        return batched(results, self.level) if isinstance(results, Tensor) else results

    def raise_unless_writable(self) -> None:
        """Raises RuntimeError where a tensor is to be written to that all rows have in common."""
        for name in self._written():
            target = self.given.get(name)
            targets = target if isinstance(target, (list, tuple)) else [target]
            if not all(one is None or self.has(one) for one in targets):
                raise RuntimeError(
                    f"{self.op.name}: under vmap {name} is the same for every row, and other "
                    f"operands are not, so their results cannot be written to it; make {name} a "
                    f"row first, or call the operator that does not write"
                )

    def _written(self) -> tuple[str, ...]:
        """The names of the arguments that are written to, but for out=."""
        # Statistics are written to in training only.
        if has_out(self.op) or not self.given.get("training", True):
            return ()
        return written_names(self.op)


def one_by_one(call: Call) -> Any:
    """The operator for each row, and the results stacked: right for every operator."""
    call.raise_unless_writable()
    results = [of_row(call, row) for row in range(call.size)]
    if not results:
        return _of_no_rows(call)
    if writes(call.op):
        return call.given[argument_names(call.op)[0]]
    return call.rows(_stacked(results, call.op))


def of_row(call: Call, row: int) -> Any:
    """What the operator gives for one of the rows."""

    def picked(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return rebuilt(value, [picked(one) for one in value])
        return ops.aten.select(call.inner(value), 0, row) if call.has(value) else value

    return called(call.op, {name: picked(value) for name, value in call.given.items()})


def _stacked(results: list[Any], op: OpOverload) -> Any:
    first = results[0]
    if isinstance(first, Tensor):
        if any(one.shape != first.shape for one in results):
            raise RuntimeError(
                f"{op.name}: under vmap the sizes of the result depend on the data of each row: "
                f"rows of different sizes have no batch"
            )
        return ops.aten.stack(results, 0)
    if isinstance(first, (list, tuple)):
        columns = [_stacked(list(column), op) for column in zip(*results, strict=True)]
        return rebuilt(first, columns)
    if first is None:
        return None
    raise RuntimeError(
        f"{op.name}: under vmap the result would be a number for each row, and a Python value has "
        f"one only"
    )


def _of_no_rows(call: Call) -> Any:
    """Results for a batch without rows, of the sizes that one of zeros would give."""
    zeros = {
        name: batched(ops.aten.new_zeros(call.inner(value), [1, *value.shape]), call.level)
        if call.has(value)
        else value
        for name, value in call.given.items()
    }
    if writes(call.op):
        return call.given[argument_names(call.op)[0]]
    one = copy(call)
    one.size, one.given = 1, zeros
    return call.rows(_emptied(of_row(one, 0)))


def _emptied(result: Any) -> Any:
    if isinstance(result, (list, tuple)):
        return rebuilt(result, [_emptied(one) for one in result])
    return ops.aten.new_empty(result, [0, *result.shape]) if isinstance(result, Tensor) else result

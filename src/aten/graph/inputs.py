"""Checks what a program is called with, before anything runs, and binds its dynamic sizes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.graph.errors import InputError
from aten.graph.ir import TensorMeta
from aten.graph.signature import ConstantArgument, InputSpec
from aten.graph.symbolic import (
    Expression,
    Number,
    SymbolicError,
    ValueRange,
    constant,
    parse,
    solve,
)

_SIZE_PATH = re.compile(r"(.+)\.size\(\)\[(\d+)\]")


class InputChecker:
    """The user inputs of one program: how many, and what each must be.

    Args:
        specs: the user inputs in signature order.
        records: what is recorded of each: a TensorMeta, an Expression, or a plain value.
        ranges: the sizes each symbol may take.
        guards: conditions between sizes, spelled with the inputs' paths.
        paths: how the guards spell each input.
    """

    def __init__(
        self,
        specs: Sequence[InputSpec],
        records: Sequence[Any],
        ranges: Mapping[str, ValueRange],
        guards: Sequence[str],
        paths: Sequence[str],
    ) -> None:
        self.specs = specs
        self.records = records
        self.ranges = ranges
        self.paths = paths
        self.guards = [parse(text) for text in guards]
        self.free = [not isinstance(spec.arg, ConstantArgument) for spec in specs]

    def complete(self, inputs: Sequence[Any]) -> list[Any]:
        """The inputs with the constant ones filled in, if the caller left those out."""
        if len(inputs) == len(self.specs):
            return list(inputs)
        if len(inputs) != sum(self.free):
            names = ", ".join(
                spec.arg.name for spec, free in zip(self.specs, self.free, strict=True) if free
            )
            raise InputError(
                f"the program takes {sum(self.free)} inputs ({names}), got {len(inputs)}"
            )
        given = iter(inputs)
        return [
            next(given) if free else getattr(spec.arg, "value", None)
            for spec, free in zip(self.specs, self.free, strict=True)
        ]

    def check(self, inputs: Sequence[Any]) -> dict[str, Number]:
        """The sizes of the program's symbols for these inputs. Raises InputError if they misfit."""
        bindings: dict[str, Number] = {}
        pending: list[tuple[int, int, Expression, int]] = []
        for position, value in enumerate(inputs):
            record = self.records[position]
            if isinstance(record, TensorMeta):
                self.check_tensor(position, value, record)
                self.bind(position, value, record, bindings, pending)
            elif isinstance(record, Expression):
                self.check_number(position, value)
                if record.is_symbol:
                    bindings.setdefault(record.head, value)
            else:
                self.check_constant(position, value)
        self.check_expressions(inputs, bindings, pending)
        self.check_ranges(inputs, bindings)
        self.check_guards(inputs)
        return bindings

    def mismatch(self, position: int, value: Any, reason: str) -> InputError:
        spec, record = self.specs[position], self.records[position]
        given = describe_tensor(value) if isinstance(value, Tensor) else repr(value)
        return InputError(
            f"input {spec.arg.name!r} ({position + 1} of {len(self.specs)}): {reason}: "
            f"expected {self.expected(record)}, got {given}"
        )

    def expected(self, record: Any) -> str:
        """What is recorded, with the range of every symbol in it."""
        if not isinstance(record, TensorMeta):
            return str(record)
        symbols = {
            name: self.ranges[name]
            for size in record.shape
            if isinstance(size, Expression)
            for name in size.symbols()
            if name in self.ranges
        }
        limits = " and ".join(f"{name} {limit}" for name, limit in symbols.items())
        return f"{record} with {limits}" if limits else str(record)

    def check_tensor(self, position: int, value: Any, record: TensorMeta) -> None:
        if not isinstance(value, Tensor):
            raise self.mismatch(position, value, f"a {type(value).__name__} is no tensor")
        if value.dtype != record.dtype:
            raise self.mismatch(position, value, "the dtype differs")
        if value.dim() != len(record.shape):
            raise self.mismatch(position, value, "the number of dimensions differs")
        if value.device.type != record.device.type:
            raise self.mismatch(
                position, value, f"it is on {value.device}, the program runs on {record.device}"
            )

    def check_kinds(self, inputs: Sequence[Any]) -> None:
        """Tensors are where tensors were, and numbers that are part of the program are these.

        Raises InputError.
        """
        for position, value in enumerate(inputs):
            record = self.records[position]
            if isinstance(record, TensorMeta):
                if not isinstance(value, Tensor):
                    raise self.mismatch(position, value, f"a {type(value).__name__} is no tensor")
            elif not isinstance(record, Expression):
                self.check_constant(position, value)

    def check_number(self, position: int, value: Any) -> None:
        if not isinstance(value, (int, float)):
            raise self.mismatch(position, value, f"a {type(value).__name__} is no number")

    def check_constant(self, position: int, value: Any) -> None:
        expected = self.records[position]
        if type(value) is not type(expected) or value != expected:
            raise self.mismatch(
                position, value, "this value was fixed when the program was exported"
            )

    def bind(
        self,
        position: int,
        value: Tensor,
        record: TensorMeta,
        bindings: dict[str, Number],
        pending: list[tuple[int, int, Expression, int]],
    ) -> None:
        for dim, (size, given) in enumerate(zip(record.shape, value.shape, strict=True)):
            if isinstance(size, int):
                if size != given:
                    raise self.mismatch(position, value, f"dimension {dim} differs")
            elif size.is_symbol and size.head not in bindings:
                bindings[size.head] = given
            else:
                pending.append((position, dim, size, given))

    def check_expressions(
        self,
        inputs: Sequence[Any],
        bindings: dict[str, Number],
        pending: list[tuple[int, int, Expression, int]],
    ) -> None:
        for position, dim, size, given in pending:
            try:
                solved = solve(size, given, bindings)
                if solved is not None:
                    bindings[solved[0]] = solved[1]
                value = size.evaluate(bindings)
            except SymbolicError as error:
                raise self.mismatch(
                    position, inputs[position], f"dimension {dim}: {error}"
                ) from None
            if value != given:
                reason = f"dimension {dim} must be {size}, here {value}"
                raise self.mismatch(position, inputs[position], reason)

    def check_ranges(self, inputs: Sequence[Any], bindings: Mapping[str, Number]) -> None:
        """Every bound symbol is in its range.

        A lower bound of 2 only says that 0 and 1 were not treated apart while tracing, so it is no
        limit; torch reads it so, too.
        """
        for name, value in bindings.items():
            allowed = self.ranges.get(name)
            if allowed is None:
                continue
            if allowed.lower == 2:
                allowed = ValueRange(0, allowed.upper)
            if value not in allowed:
                position = self.position_of(name)
                reason = f"{name} is {value}, out of range {allowed}"
                raise self.mismatch(position, inputs[position], reason)

    def position_of(self, symbol: str) -> int:
        for position, record in enumerate(self.records):
            sizes = record.shape if isinstance(record, TensorMeta) else (record,)
            if any(symbol in size.symbols() for size in sizes if isinstance(size, Expression)):
                return position
        return 0

    def conditions(self) -> list[Expression]:
        """The conditions between sizes, in symbols; without those that speak of anything else."""
        by_path = dict(zip(self.paths, self.records, strict=False))
        found = []
        for guard in self.guards:
            sizes: dict[str, Expression] = {}
            for symbol in guard.symbols():
                match = _SIZE_PATH.fullmatch(symbol)
                record = by_path.get(match.group(1)) if match else None
                if not match or not isinstance(record, TensorMeta):
                    continue
                for size in record.shape[int(match.group(2)) :][:1]:
                    sizes[symbol] = size if isinstance(size, Expression) else constant(size)
            if len(sizes) == len(set(guard.symbols())):
                found.append(_with_sizes(guard, sizes))
        return found

    def check_guards(self, inputs: Sequence[Any]) -> None:
        """The conditions between sizes hold. One that speaks of anything else is skipped."""
        by_path = dict(zip(self.paths, inputs, strict=False))
        for guard in self.guards:
            bindings: dict[str, Number] = {}
            for symbol in guard.symbols():
                match = _SIZE_PATH.fullmatch(symbol)
                tensor = by_path.get(match.group(1)) if match else None
                if isinstance(tensor, Tensor) and int(match.group(2)) < tensor.dim():  # type: ignore[union-attr]
                    bindings[symbol] = tensor.size(int(match.group(2)))  # type: ignore[union-attr]
            known = all(symbol in bindings for symbol in guard.symbols())
            if known and not guard.evaluate(bindings):
                sizes = ", ".join(f"{symbol} = {value}" for symbol, value in bindings.items())
                raise InputError(f"the inputs break a condition of the program: {guard} ({sizes})")


def _with_sizes(guard: Expression, sizes: Mapping[str, Expression]) -> Expression:
    """The expression with sizes in the place of its symbols."""
    if guard.is_symbol:
        return sizes[guard.head]
    arguments = tuple(_with_sizes(one, sizes) for one in guard.arguments)
    return Expression(guard.head, guard.value, guard.function, arguments)


def describe_tensor(value: Tensor) -> str:
    """The tensor's dtype and sizes: `float32[3, 8]`."""
    return f"{value.dtype.name}[{', '.join(map(str, value.shape))}]"

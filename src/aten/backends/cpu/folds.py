"""How a fold takes its elements in: parts, types, identities and combinations."""

from __future__ import annotations

from aten._core.base.dtypes import DTYPES, dtype
from aten.backends.cpu.loops import KernelEmitter
from aten.backends.cpu.scalar import literal, register_type
from aten.loops.program import SCANS, Instruction, Program

_WIDE = {"float32": "float64"}


class Folder:
    """How one fold accumulates: its parts, their types, identities and combination."""

    def __init__(self, writer: KernelEmitter, fold: Instruction) -> None:
        self.writer = writer
        self.fold = fold
        self.operation = SCANS.get(fold.operation, fold.operation)
        self.element = fold.dtype
        widens = self.operation in ("sum", "prod") and self.element.name in _WIDE
        self.wide = DTYPES[_WIDE[self.element.name]] if widens else self.element
        self.parts = 2 if self.element.is_complex else 1
        self.in_lanes = has_lanes(writer.program) and not fold.is_scan

    def identity(self, element: dtype) -> list[str]:
        """The value that changes nothing, part by part."""
        value = literal(_identity_number(self.operation, element), element)
        return list(value) if self.parts == 2 else [value]

    def combined(self, element: dtype, left: list[str], right: list[str]) -> list[str]:
        """`left` folded with `right`."""
        if self.operation == "prod" and self.parts == 2:
            instruction = Instruction("mul", (self.fold, self.fold), self.fold.dtype)
            return list(self.writer.instruction(instruction, [tuple(left), tuple(right)]))
        return [
            self._combined_part(element, one, other) for one, other in zip(left, right, strict=True)
        ]

    def _combined_part(self, element: dtype, left: str, right: str) -> str:
        name, kind = self.operation, register_type(element)
        if element.kind in ("float", "complex"):
            if name in ("sum", "prod"):
                lanes = "reassoc " if self.in_lanes else ""
                return self.writer.let(
                    f"f{'add' if name == 'sum' else 'mul'} {lanes}{kind} {left}, {right}"
                )
            function = f"llvm.{'maximum' if name == 'amax' else 'minimum'}.f{_bits(element)}"
            return self.writer.call(function, kind, left, right, flags="nsz ")
        if kind == "i1":
            return self.writer.let(
                f"{'or' if name in ('sum', 'amax') else 'and'} i1 {left}, {right}"
            )
        if name in ("sum", "prod"):
            return self.writer.let(f"{'add' if name == 'sum' else 'mul'} {kind} {left}, {right}")
        if name == "xor":
            return self.writer.let(f"xor {kind} {left}, {right}")
        sign = "s" if element.kind == "signed" else "u"
        return self.writer.call(f"llvm.{sign}{name[1:]}.{kind}", kind, left, right)

    def widened(self, values: list[str]) -> list[str]:
        """Values of the element type as values of the accumulator's."""
        return (
            [self.writer.convert(value, self.element, self.wide) for value in values]
            if (self.wide is not self.element)
            else values
        )

    def narrowed(self, values: list[str]) -> list[str]:
        """The accumulator's value as the fold's result."""
        return (
            [self.writer.convert(value, self.wide, self.element) for value in values]
            if (self.wide is not self.element)
            else values
        )

    def as_value(self, parts: list[str]) -> object:
        """Parts as the scalar emitter wants them."""
        return tuple(parts) if self.parts == 2 else parts[0]

    def as_parts(self, value: object) -> list[str]:
        """The scalar emitter's value as parts."""
        return list(value) if isinstance(value, tuple) else [str(value)]


def has_lanes(program: Program) -> bool:
    """Whether the elements of a row are neighbours, in the first operand that has them."""
    if program.schedule != "row":
        return False
    moving = (one for one in program.operands if one.space == "full" and one.access != "zero")
    first = next(moving, None)
    return first is None or first.access == "unit"


def _bits(element: dtype) -> int:
    return 8 * element.to_real().itemsize


def _identity_number(fold: str, element: dtype) -> complex | float | int:
    if fold in ("sum", "xor"):
        return 0
    if fold == "prod":
        return 1
    largest = fold == "amin"
    if element.kind == "bool":
        return int(largest)
    if element.kind == "float":
        return float("inf") if largest else float("-inf")
    bits = 8 * element.itemsize
    if element.kind == "unsigned":
        return (1 << bits) - 1 if largest else 0
    return (1 << (bits - 1)) - 1 if largest else -(1 << (bits - 1))

"""How many elements a loop computes at once, and what becomes of those left over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from aten.backends.cpu.jit import session
from aten.backends.cpu.loops import KernelEmitter
from aten.backends.cpu.scalar import calls_library
from aten.loops.program import Instruction, Operand

LANE_TYPES = frozenset({"float16", "bfloat16", "float32", "float64"})
# Up to so many instructions, two groups of lanes side by side, and four: of vectors, and of those
# without many tables, which fill the registers.
_BODY_TWICE, _BODY_FOUR_TIMES = 48, 40
_FEW_TABLES = 3
MOST_GROUPS = 4
# The register whose lanes folds add up in, on every processor: so their bits are the same on all.
FOLDED_BYTES = 64
# A body that has nothing to wait for but its operands.
_SHORT = 14


@dataclass(frozen=True)
class Part:
    """Consecutive elements that one loop computes, and the marks of its accesses and of its end."""

    start: str
    end: str
    mark: str
    tail: str


def lanes_of(
    operands: Iterable[Operand], body: Iterable[Instruction], register: int | None = None
) -> int:
    """How many elements fill a vector register: the vectorizer would look at the widest value.

    `register` is another register's size in bytes than the processor's, which then takes several.

    0, which leaves it to the vectorizer, where the operands are not all floating-point numbers,
    unless there are tables, whose entries are float32; and where a function of the C library is
    called, which there is for single elements only.
    """
    body = list(body)
    if any(map(calls_library, body)):
        return 0
    if any(one.operation == "lookup" for one in body):
        return session().vector_bytes // 4
    moving = [one.dtype for one in operands if one.access != "zero"]
    if any(one.name not in LANE_TYPES for one in moving):
        return 0
    widest = max((max(one.itemsize, 4) for one in moving), default=0)
    return (register or session().vector_bytes) // widest if widest else 0


def groups_of(body: Sequence[Instruction], lanes: int, register: int | None = None) -> int:
    """So many that one group's operations fill the wait for another's."""
    if not lanes:
        return 0
    computed = [one for one in body if one.operation != "constant"]
    size = register or session().vector_bytes
    vectors = sum(max(1, one.dtype.itemsize * lanes // size) for one in computed)
    tables = sum(one.operation == "lookup" for one in computed)
    if vectors <= _BODY_FOUR_TIMES and tables <= _FEW_TABLES:
        return MOST_GROUPS
    return 2 if len(computed) <= _BODY_TWICE else 1


def is_short(body: Sequence[Instruction]) -> bool:
    """Whether there is next to nothing to compute."""
    return sum(one.operation != "constant" for one in body) <= _SHORT


def parts_of(
    writer: KernelEmitter, count: str, lanes: int, groups: int, *, masked: bool | None = None
) -> list[Part]:
    """The loops that `count` elements take.

    What is left of whole groups of vectors takes masked vectors where there are masks: rows of
    images and small tensors are often no longer than that. Beside a long body masks are cheap
    enough for a single loop; stores past the caches have none. Folds say themselves whether masks
    are used, whatever they cost (`masked`): how they are cut decides about their bits.
    """
    if not lanes or not (session().has_masks if masked is None else masked):
        return [Part("0", count, *writer.parallel(lanes, groups))]
    if count.isdecimal() and int(count) % (lanes * groups) == 0:
        return [Part("0", count, *writer.parallel(lanes, groups))]
    if masked:
        return _parts_of_folds(writer, count, lanes, groups)
    if groups == 1 and not writer.program.streams:
        return [Part("0", count, *writer.parallel(lanes, 1, masked=True))]
    border = writer.let(f"and i64 {count}, {-lanes * groups}")
    whole = Part("0", border, *writer.parallel(lanes, groups))
    return [whole, Part(border, count, *writer.parallel(lanes, 1, masked=True))]


def _parts_of_folds(writer: KernelEmitter, count: str, lanes: int, groups: int) -> list[Part]:
    """Whole groups of vectors, whole vectors, and what is left, with masks."""
    made, start = [], "0"
    for size in sorted({groups, 1}, reverse=True):
        border = writer.let(f"and i64 {count}, {-lanes * size}")
        made.append(Part(start, border, *writer.parallel(lanes, size)))
        start = border
    return [*made, Part(start, count, *writer.parallel(lanes, 1, masked=True))]

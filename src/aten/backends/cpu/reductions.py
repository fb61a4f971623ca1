"""LLVM IR for folds: row and column schedules.

The row schedule keeps a row in cache and vectorizes along it; accumulators are registers. The
column schedule serves reductions over outer dimensions: it carries a block of neighbouring kept
points, accumulators on the stack, and vectorizes across them.

Float sums add up to `_CHUNK` elements in float32 lanes, then join a float64 total: rounding grows
with the logarithm of the lanes, not with the length. Rows whose elements are no neighbours have no
lanes: they are added one after the other, `_STEPPED_CHUNK` before each join, in either schedule. So
are rows of few elements, which always are columns (`aten.backends.fold_order`).
So the order depends on a row's own length and step alone, not on the rows beside it.
"""

from __future__ import annotations

from aten._core.base.dtypes import DTYPES, dtype
from aten.backends.cpu.folds import Folder, has_lanes
from aten.backends.cpu.lanes import (
    FOLDED_BYTES,
    Part,
    groups_of,
    is_short,
    lanes_of,
    parts_of,
)
from aten.backends.cpu.loops import KernelEmitter
from aten.backends.cpu.scalar import calls_library, memory_type, register_type
from aten.loops.program import Block, Instruction, Program

_CHUNK = 4096
# Kept points that a column kernel carries at a time.
_COLUMN_BLOCK = 256
# Elements with a step that are added in float32 before they join the float64 totals.
_STEPPED_CHUNK = 64


def _in_lanes(body: list[Instruction]) -> bool:
    """Whether all that is computed has the width of the elements in memory."""
    return not any(one.operation == "position" or one.dtype.is_complex for one in body)


def _is_whole(one: Instruction) -> bool:
    """Whether both parts of complex numbers are needed at once, or a function takes single ones."""
    return calls_library(one) or (one.operation == "prod" and one.dtype.is_complex)


class Schedule:
    """What both schedules share: the reduced sizes and strides, and leaf instructions."""

    def __init__(self, writer: KernelEmitter) -> None:
        self.writer = writer
        self.program: Program = writer.program
        self.rank = writer.program.reduced_rank
        # What `g` points to: the extent, the reduced sizes, then strides operand by operand.
        self.count = writer.word("%g", 0)
        self.sizes = [writer.word("%g", 1 + dim) for dim in range(self.rank)]
        self.strides = {
            operand.name: [
                writer.word("%g", 1 + self.rank * (place + 1) + dim) for dim in range(self.rank)
            ]
            for place, operand in enumerate(self.program.operands)
            if operand.space == "full"
        }
        self.strides.update({buffer.name: ["0"] for buffer in self.program.buffers})

    def extent(self, element: dtype) -> object:
        """The number of elements under one kept point, as `element`."""
        return self.writer.convert(self.count, DTYPES["int64"], element)

    def linear_position(self, indices: list[str]) -> str:
        """The row-major position of the current element among the reduced dimensions."""
        place = indices[0]
        for size, index in zip(self.sizes[1:], indices[1:], strict=True):
            scaled = self.writer.let(f"mul nsw i64 {place}, {size}")
            place = self.writer.let(f"add nsw i64 {scaled}, {index}")
        return place

    def _scan(self, scanner: Folder, before: list[str]) -> list[str]:
        """Take the scan's next value in; gives the new running total."""
        value = scanner.as_parts(self.writer.values[id(scanner.fold.operands[0])])
        after = scanner.combined(scanner.wide, before, scanner.widened(value))
        self.writer.values[id(scanner.fold)] = scanner.as_value(scanner.narrowed(after))
        return after

    def widens(self, block: Block) -> bool:
        """Whether some fold of the block needs a wider total."""
        folds = [instruction for instruction in block.instructions if instruction.is_fold]
        return any(Folder(self.writer, fold).wide is not fold.dtype for fold in folds)


class RowSchedule(Schedule):
    """One kept point at a time; the innermost reduced dimension is the vector loop."""

    def write(self) -> None:
        """The kernel's body."""
        writer, operands = self.writer, self.program.operands
        self.buffers = writer.buffers()
        bases = writer.pointers()
        outer_strides = [writer.word("%s1", place) for place in range(len(operands))]
        inner_strides = [writer.word("%s0", place) for place in range(len(operands))]
        outer = writer.begin_loop("%n1")
        lines = [
            writer.shifted(base, outer.index, stride)
            for base, stride in zip(bases, outer_strides, strict=True)
        ]
        self.write_line(lines, inner_strides)
        writer.end_loop(outer)

    def write_line(self, points: list[str], strides: list[str]) -> None:
        """The `n0` kept points from `points` on."""
        inner = self.writer.begin_loop("%n0")
        self.write_point(self.places(points, inner.index, strides))
        self.writer.end_loop(inner)

    def write_point(self, points: list[str]) -> None:
        """All blocks for one kept point."""
        for block in self.program.blocks:
            self.write_block(block, points)

    def write_block(self, block: Block, points: list[str]) -> None:
        """One block for one kept point."""
        if block.kind == "row":
            self._row(block, points)
        else:
            self._loop(block, points)

    def places(self, points: list[str], index: str, strides: list[str]) -> list[str]:
        """Every operand's address, `index` strides on; then the buffers'."""
        return [
            self.writer.shifted(point, index, stride)
            for point, stride in zip(points, strides, strict=True)
        ] + self.buffers

    def _row(self, block: Block, points: list[str]) -> None:
        for instruction in block.instructions:
            if instruction.operation == "extent":
                self.writer.values[id(instruction)] = self.extent(instruction.dtype)
            elif instruction.memory is not None:
                place = self.writer.position[instruction.memory.name]
                self.writer.access(instruction, points[place], "")
            else:
                self.writer.compute(instruction)

    def _loop(self, block: Block, points: list[str]) -> None:
        """The loops over the reduced dimensions; folds carry wide totals through all of them."""
        writer = self.writer
        folders = [Folder(writer, i) for i in block.instructions if i.is_fold]
        totals = [part for folder in folders for part in folder.identity(folder.wide)]
        kinds = [register_type(f.wide) for f in folders for _ in range(f.parts)]
        opened = []
        moved = list(points)
        indices: list[str] = []
        for dim in range(self.rank - 1):
            loop = writer.begin_loop(self.sizes[dim], carried=list(zip(kinds, totals, strict=True)))
            opened.append(loop)
            indices.append(loop.index)
            totals = loop.carried
            moved = self._moved(moved, loop.index, dim)
        totals = self._innermost(block, folders, totals, moved, indices)
        for loop in reversed(opened):
            writer.end_loop(loop, totals)
            totals = loop.carried
        for folder in folders:
            parts, totals = totals[: folder.parts], totals[folder.parts :]
            writer.values[id(folder.fold)] = folder.as_value(folder.narrowed(parts))

    def _moved(self, points: list[str], index: str, dim: int) -> list[str]:
        return [
            self.writer.shifted(point, index, self.strides[operand.name][dim])
            if operand.space == "full"
            else point
            for operand, point in zip(self.program.operands, points, strict=True)
        ]

    def _innermost(
        self,
        block: Block,
        folders: list[Folder],
        totals: list[str],
        points: list[str],
        indices: list[str],
    ) -> list[str]:
        """The innermost dimension, in chunks where a fold has a wider total."""
        writer = self.writer
        size = self.sizes[-1]
        if not self.widens(block):
            return self._vector_loop(block, folders, totals, points, indices, size, None)
        kinds = [register_type(f.wide) for f in folders for _ in range(f.parts)]
        step = str(_CHUNK if has_lanes(self.program) else _STEPPED_CHUNK)
        chunks = writer.begin_loop(size, step=step, carried=list(zip(kinds, totals, strict=True)))
        left = writer.let(f"sub nsw i64 {size}, {chunks.index}")
        count = writer.call("llvm.smin.i64", "i64", left, step)
        starts = [part for folder in folders for part in folder.identity(folder.element)]
        sums = self._vector_loop(block, folders, starts, points, indices, count, chunks.index)
        joined: list[str] = []
        carried = list(chunks.carried)
        for folder in folders:
            parts, sums = sums[: folder.parts], sums[folder.parts :]
            before, carried = carried[: folder.parts], carried[folder.parts :]
            joined += folder.combined(folder.wide, before, folder.widened(parts))
        writer.end_loop(chunks, joined)
        return chunks.carried

    def _vector_loop(
        self,
        block: Block,
        folders: list[Folder],
        starts: list[str],
        points: list[str],
        indices: list[str],
        count: str,
        offset: str | None,
    ) -> list[str]:
        """The innermost dimension, or a chunk of it from `offset` on; gives the folded parts."""
        writer = self.writer
        self.load_unmoved(block, points)
        scanners = [Folder(writer, i) for i in block.instructions if i.is_scan]
        totals = starts
        for part in [Part("0", count, "", "")] if scanners else self._parts(block, count):
            totals = self._part(block, folders, scanners, totals, points, indices, part, offset)
        return totals

    def _parts(self, block: Block, count: str) -> list[Part]:
        """The loops over a row's elements, which stay with the vectorizer if these are apart."""
        body = block.instructions
        if any(one.operation == "store" and one.offset is not None for one in body):
            # Two elements may go to one place.
            return [Part("0", count, "", "")]
        memory = {one.memory.name: one.memory for one in body if one.memory is not None}
        moving = [one for one in memory.values() if one.access != "zero"]
        together = all(one.access == "unit" for one in moving)
        if any(one.dtype.is_complex for one in moving):
            # Pairs come apart by twos of vectors, for which there are no masks.
            in_pairs = together and not any(map(_is_whole, body))
            size = max(one.dtype.itemsize for one in moving)
            lanes = 2 * FOLDED_BYTES // size if in_pairs else 0
            return parts_of(self.writer, count, lanes, min(lanes, 1), masked=False)
        lanes = lanes_of(moving, body, FOLDED_BYTES) if together and _in_lanes(body) else 0
        groups = groups_of(body, lanes, FOLDED_BYTES)
        return parts_of(self.writer, count, lanes, groups, masked=True)

    def _part(
        self,
        block: Block,
        folders: list[Folder],
        scanners: list[Folder],
        starts: list[str],
        points: list[str],
        indices: list[str],
        part: Part,
        offset: str | None,
    ) -> list[str]:
        writer = self.writer
        kinds = [register_type(f.element) for f in folders for _ in range(f.parts)]
        carried = list(zip(kinds, starts, strict=True))
        for scanner in scanners:
            kind = register_type(scanner.wide)
            carried += [(kind, one) for one in scanner.identity(scanner.wide)]
        loop = writer.begin_loop(part.end, start=part.start, carried=carried)
        index = loop.index
        if offset is not None:
            index = writer.let(f"add nuw nsw i64 {offset}, {loop.index}")
        results: list[str] = []
        totals = list(loop.carried)
        running = totals[len(kinds) :]
        scanned = self.write_element(block, points, index, indices, part.mark, scanners, running)
        for folder in folders:
            before, totals = totals[: folder.parts], totals[folder.parts :]
            value = folder.as_parts(writer.values[id(folder.fold.operands[0])])
            results += folder.combined(folder.element, before, value)
        writer.end_loop(loop, results + scanned, part.tail)
        return loop.carried[: len(kinds)]

    def write_element(
        self,
        block: Block,
        points: list[str],
        index: str,
        indices: list[str],
        mark: str,
        scanners: list[Folder],
        running: list[str],
    ) -> list[str]:
        """What a block does at one element, but for folds; gives the scans' new totals."""
        left, after = list(scanners), list[str]()
        for instruction in block.instructions:
            if instruction.is_scan:
                scanner = left.pop(0)
                before, running = running[: scanner.parts], running[scanner.parts :]
                after += self._scan(scanner, before)
            elif not instruction.is_fold:
                self._element(instruction, points, index, indices, mark)
        return after

    def load_unmoved(self, block: Block, points: list[str]) -> None:
        """Read the operands that the innermost loop stays on once, before it."""
        for instruction in block.instructions:
            memory = instruction.memory
            if memory is not None and _stays(instruction):
                place = self.writer.position[memory.name]
                self.writer.access(instruction, points[place], "")

    def _element(
        self, instruction: Instruction, points: list[str], index: str, indices: list[str], mark: str
    ) -> None:
        writer, memory = self.writer, instruction.memory
        if instruction.operation == "position":
            writer.values[id(instruction)] = self.linear_position([*indices, index])
            return
        if memory is None:
            writer.compute(instruction)
            return
        if _stays(instruction):
            return
        place = writer.position[memory.name]
        stride = self.strides[memory.name][-1]
        writer.access(instruction, writer.element(memory, points[place], index, stride), mark)


def _stays(instruction: Instruction) -> bool:
    """Whether a load gives the same wherever the innermost loop is."""
    memory = instruction.memory
    return (
        instruction.operation == "load"
        and memory is not None
        and memory.access == "zero"
        and instruction.offset is None
    )


def _unmoved(program: Program) -> set[int]:
    """Identities of what is the same across neighbouring points: addresses of rows, above all."""
    found: set[int] = set()
    for block in program.blocks:
        for one in block.instructions:
            is_leaf = one.operation in ("constant", "number") or _stays(one)
            is_computed = one.memory is None and one.operands and not (one.is_fold or one.is_scan)
            if is_leaf or (is_computed and all(id(of) in found for of in one.operands)):
                found.add(id(one))
    return found


class ColumnSchedule(Schedule):
    """A block of neighbouring kept points at a time; the vector loop runs across them.

    Every row value and accumulator is an array on the stack with one element per point.
    """

    def write(self) -> None:
        """The kernel's body."""
        writer, operands = self.writer, self.program.operands
        self.arrays: dict[int, list[str]] = {}
        self.wide_arrays: dict[int, list[str]] = {}
        self.unmoved = _unmoved(self.program) if self.program.indexed else set()
        self._allocate()
        bases = writer.pointers()
        outer_strides = [writer.word("%s1", place) for place in range(len(operands))]
        step = writer.step if self._worth_gathering() else writer.word
        self.inner_strides = [step("%s0", place) for place in range(len(operands))]
        outer = writer.begin_loop("%n1")
        lines = [
            writer.shifted(base, outer.index, stride)
            for base, stride in zip(bases, outer_strides, strict=True)
        ]
        blocks = writer.begin_loop("%n0", step=str(_COLUMN_BLOCK))
        left = writer.let(f"sub nsw i64 %n0, {blocks.index}")
        self.width = writer.call("llvm.smin.i64", "i64", left, str(_COLUMN_BLOCK))
        points = [
            writer.shifted(line, blocks.index, stride)
            for line, stride in zip(lines, self.inner_strides, strict=True)
        ]
        for block in self.program.blocks:
            if block.kind == "row":
                self._across(block.instructions, points, [])
            else:
                self._loop(block, points)
        writer.end_loop(blocks)
        writer.end_loop(outer)

    def _worth_gathering(self) -> bool:
        """Whether vectors are worth it where neighbouring points lie apart.

        Processors gather no elements of one or two bytes: these are brought one by one, which only
        much to compute is worth.
        """
        apart = [one for one in self.program.operands if one.access == "any"]
        return all(one.dtype.itemsize >= 4 for one in apart) or not all(
            is_short(block.instructions) for block in self.program.blocks
        )

    def _allocate(self) -> None:
        for block in self.program.blocks:
            for instruction in block.instructions:
                if instruction.is_scan:
                    self.wide_arrays[id(instruction)] = self._array(
                        Folder(self.writer, instruction).wide
                    )
                row_value = (
                    block.kind == "row"
                    and instruction.has_result
                    and id(instruction) not in self.unmoved
                )
                if not (row_value or instruction.is_fold) or instruction.operation == "constant":
                    continue
                self.arrays[id(instruction)] = self._array(instruction.dtype)
                if instruction.is_fold:
                    folder = Folder(self.writer, instruction)
                    if folder.wide is not folder.element:
                        self.wide_arrays[id(instruction)] = self._array(folder.wide)

    def _array(self, element: dtype) -> list[str]:
        kind = memory_type(element)
        parts = 2 if element.is_complex else 1
        return [
            self.writer.let(f"alloca [{_COLUMN_BLOCK} x {kind}], align 64") for _ in range(parts)
        ]

    def _slots(self, arrays: list[str], element: dtype, index: str) -> list[str]:
        kind = memory_type(element)
        return [
            self.writer.let(f"getelementptr inbounds {kind}, ptr {array}, i64 {index}")
            for array in arrays
        ]

    def _read(self, arrays: list[str], element: dtype, index: str, mark: str) -> object:
        part = element.to_real() if element.is_complex else element
        values = [
            self.writer.load(part, slot, mark) for slot in self._slots(arrays, element, index)
        ]
        return tuple(values) if element.is_complex else values[0]

    def _write(
        self, arrays: list[str], element: dtype, index: str, value: object, mark: str
    ) -> None:
        part = element.to_real() if element.is_complex else element
        values = value if isinstance(value, tuple) else (value,)
        for slot, item in zip(self._slots(arrays, element, index), values, strict=True):
            self.writer.store(part, item, slot, mark)

    def _across(
        self, instructions: list[Instruction], points: list[str], indices: list[str]
    ) -> None:
        """One pass across the points: instructions read and write the arrays of row values."""
        for instruction in instructions:
            if id(instruction) in self.unmoved:
                self._element(instruction, points, "0", indices, "")
        # Only what every row goes through is worth more than one loop.
        if indices:
            parts = self._parts_across(instructions)
        else:
            parts = [Part("0", self.width, *self.writer.parallel())]
        for part in parts:
            self._points(instructions, points, indices, part)

    def _parts_across(self, instructions: list[Instruction]) -> list[Part]:
        """The loops over neighbouring points, of which there may be fewer than a vectorizer's own
        choice of lanes; those of other types than floating ones are left to it.

        Whole vectors have no masks: what those store has to be in the cache before it is read.
        """
        memory = {one.memory.name: one.memory for one in instructions if one.memory is not None}
        moving = [one for one in memory.values() if one.access != "zero"]
        lanes = 0
        if all(one.access == "unit" and not one.dtype.is_complex for one in moving):
            lanes = lanes_of(moving, instructions)
        return parts_of(self.writer, self.width, lanes, groups_of(instructions, lanes), masked=True)

    def _points(
        self, instructions: list[Instruction], points: list[str], indices: list[str], part: Part
    ) -> None:
        """Some of the neighbouring points."""
        writer, mark = self.writer, part.mark
        loop = writer.begin_loop(part.end, start=part.start)
        local: set[int] = set()
        for instruction in instructions:
            if id(instruction) in self.unmoved:
                continue
            for operand in instruction.operands:
                if id(operand) in self.arrays and id(operand) not in local:
                    writer.values[id(operand)] = self._read(
                        self.arrays[id(operand)], operand.dtype, loop.index, mark
                    )
                    local.add(id(operand))
            if instruction.is_fold:
                self._accumulate(instruction, loop.index, mark)
                continue
            if instruction.is_scan:
                self._advance(instruction, loop.index, mark)
                local.add(id(instruction))
                continue
            self._element(instruction, points, loop.index, indices, mark)
            local.add(id(instruction))
            if id(instruction) in self.arrays:
                value = writer.values[id(instruction)]
                self._write(
                    self.arrays[id(instruction)], instruction.dtype, loop.index, value, mark
                )
        writer.end_loop(loop, tail=part.tail)

    def _element(
        self, instruction: Instruction, points: list[str], index: str, indices: list[str], mark: str
    ) -> None:
        writer, memory = self.writer, instruction.memory
        if instruction.operation == "extent":
            writer.values[id(instruction)] = self.extent(instruction.dtype)
        elif instruction.operation == "position":
            writer.values[id(instruction)] = self.linear_position(indices)
        elif memory is None:
            writer.compute(instruction)
        else:
            place = writer.position[memory.name]
            address = writer.element(memory, points[place], index, self.inner_strides[place])
            writer.access(instruction, address, mark)

    def _accumulate(self, fold: Instruction, index: str, mark: str) -> None:
        folder = Folder(self.writer, fold)
        arrays = self.arrays[id(fold)]
        before = folder.as_parts(self._read(arrays, fold.dtype, index, mark))
        value = folder.as_parts(self.writer.values[id(fold.operands[0])])
        after = folder.as_value(folder.combined(folder.element, before, value))
        self._write(arrays, fold.dtype, index, after, mark)

    def _advance(self, scan: Instruction, index: str, mark: str) -> None:
        scanner = Folder(self.writer, scan)
        arrays = self.wide_arrays[id(scan)]
        before = scanner.as_parts(self._read(arrays, scanner.wide, index, mark))
        after = scanner.as_value(self._scan(scanner, before))
        self._write(arrays, scanner.wide, index, after, mark)

    def _loop(self, block: Block, points: list[str]) -> None:
        writer = self.writer
        for instruction in block.instructions:
            if instruction.is_scan:
                self._fill_identity(instruction, wide=True)
        folds = [instruction for instruction in block.instructions if instruction.is_fold]
        for fold in folds:
            self._fill_identity(fold, wide=True)
            self._fill_identity(fold, wide=False)
        opened = []
        indices: list[str] = []
        moved = list(points)
        for dim in range(self.rank - 1):
            opened.append(writer.begin_loop(self.sizes[dim]))
            indices.append(opened[-1].index)
            moved = self._moved(moved, opened[-1].index, dim)
        size = self.sizes[-1]
        offset = None
        if self.widens(block):
            opened.append(writer.begin_loop(size, step=str(_STEPPED_CHUNK)))
            offset = opened[-1].index
            left = writer.let(f"sub nsw i64 {size}, {offset}")
            size = writer.call("llvm.smin.i64", "i64", left, str(_STEPPED_CHUNK))
        rows = writer.begin_loop(size)
        index = rows.index
        if offset is not None:
            index = writer.let(f"add nuw nsw i64 {offset}, {rows.index}")
        at = self._moved(moved, index, self.rank - 1)
        self._across(block.instructions, at, [*indices, index])
        writer.end_loop(rows)
        if offset is not None:
            for fold in folds:
                self._join_wide(fold)
        for loop in reversed(opened):
            writer.end_loop(loop)
        if offset is not None:
            for fold in folds:
                self._narrow(fold)

    def _moved(self, points: list[str], index: str, dim: int) -> list[str]:
        return [
            self.writer.shifted(point, index, self.strides[operand.name][dim])
            if operand.space == "full"
            else point
            for operand, point in zip(self.program.operands, points, strict=True)
        ]

    def _fill_identity(self, fold: Instruction, *, wide: bool) -> None:
        folder = Folder(self.writer, fold)
        element = folder.wide if wide else folder.element
        arrays = (self.wide_arrays if wide else self.arrays).get(id(fold))
        if arrays is None:
            return
        mark, tail = self.writer.parallel()
        loop = self.writer.begin_loop(self.width)
        self._write(arrays, element, loop.index, folder.as_value(folder.identity(element)), mark)
        self.writer.end_loop(loop, tail=tail)

    def _join_wide(self, fold: Instruction) -> None:
        """Add what the narrow accumulators hold to the totals, and begin them anew."""
        folder = Folder(self.writer, fold)
        wide = self.wide_arrays.get(id(fold))
        if wide is None:
            return
        mark, tail = self.writer.parallel()
        loop = self.writer.begin_loop(self.width)
        narrow = self.arrays[id(fold)]
        value = folder.as_parts(self._read(narrow, folder.element, loop.index, mark))
        before = folder.as_parts(self._read(wide, folder.wide, loop.index, mark))
        after = folder.combined(folder.wide, before, folder.widened(value))
        self._write(wide, folder.wide, loop.index, folder.as_value(after), mark)
        start = folder.as_value(folder.identity(folder.element))
        self._write(narrow, folder.element, loop.index, start, mark)
        self.writer.end_loop(loop, tail=tail)

    def _narrow(self, fold: Instruction) -> None:
        """The totals as the fold's result."""
        folder = Folder(self.writer, fold)
        wide = self.wide_arrays.get(id(fold))
        if wide is None:
            return
        mark, tail = self.writer.parallel()
        loop = self.writer.begin_loop(self.width)
        total = folder.as_parts(self._read(wide, folder.wide, loop.index, mark))
        value = folder.as_value(folder.narrowed(total))
        self._write(self.arrays[id(fold)], folder.element, loop.index, value, mark)
        self.writer.end_loop(loop, tail=tail)

"""LLVM IR for programs without reduced dimensions: what one element becomes, for all of them.

The simplest map is one loop. Two things make it run over stretches of `_STRETCH` elements instead:

- Values that are seldom needed (`where` with `rare`). A loop tests a stretch first; where the
  conditions hold for none of its elements, a loop without these values computes it, else one with.
  Where nothing has to rest in memory on the usual way, a stretch is a block of a few vectors, which
  are loaded once for both: a test of its own would wait for memory while nothing is computed.
- Operands with a stride known at run time only, when there is much to compute. They are brought
  into a buffer first, and results taken out of one, so that what is between has neighbours only.

Long bodies, and results that go past the caches, are computed in such blocks, too, each of which
asks for the operands of a later one.

Either way an element becomes the same bits.
"""

from __future__ import annotations

from collections.abc import Callable

from aten.backends.cpu.jit import session
from aten.backends.cpu.lanes import (
    LANE_TYPES,
    MOST_GROUPS,
    groups_of,
    is_short,
    lanes_of,
    parts_of,
)
from aten.backends.cpu.loops import KernelEmitter
from aten.backends.cpu.scalar import literal, memory_type, register_type
from aten.backends.cpu.stages import Stage, stages_of
from aten.loops.program import Instruction, Operand

_STRETCH = 512
# A test of more instructions costs about as much as what it saves.
_LONGEST_TEST = 12
# From so many instructions on, elements with a stride are worth a copy.
_WORTH_A_COPY = 10
# Bytes from an operand's block to what is asked for meanwhile.
_AHEAD = 2048
_CACHE_LINE = 64
_FREE = frozenset({"constant", "load", "bitcast"})
# Operands of half types are converted whether there is a test or not.
_UNTESTED = _FREE | {"convert_element_type"}


class Map:
    """Writes the loops of a map."""

    def __init__(self, writer: KernelEmitter) -> None:
        self.writer = writer
        self.operands = writer.program.operands
        (self.block,) = writer.program.blocks
        self.rare = self._testable()
        # An element's bits must not depend on the others of its stretch.
        self.chosen = {id(one) for one in self.rare if one.params["rare"] == "choice"}
        computed = sum(
            one.memory is None and one.operation != "constant" for one in self.block.instructions
        )
        indexed = writer.program.indexed
        self.buffered = [
            one.access == "any"
            and one.dtype.name in LANE_TYPES
            and computed >= _WORTH_A_COPY
            and one.name not in indexed
            for one in self.operands
        ]
        self.accesses = [
            "unit" if held else one.access
            for one, held in zip(self.operands, self.buffered, strict=True)
        ]
        self.strides: list[str] = []
        self.buffers: list[str] = []
        self.resting: list[str] = []
        self.unmoved: dict[int, object] = {}
        self.stages = {
            usual: self._stages(usual) for usual in ((False, True) if self.rare else (False,))
        }

    def _testable(self) -> list[Instruction]:
        """The rare choices whose conditions follow from the operands in a few steps."""
        computed = {id(one) for one in self.block.instructions if one.operation not in _UNTESTED}
        found = [one for one in self.block.instructions if one.params.get("rare")]
        rare = {id(one) for one in found}
        tests = [_closure([one.operands[0]], _all_operands) for one in found]
        return [
            one
            for one, test in zip(found, tests, strict=True)
            if len(test & computed) <= _LONGEST_TEST and not test & rare
        ]

    def write(self) -> None:
        """The body of the function."""
        writer = self.writer
        bases = writer.pointers()
        outer_strides = [writer.word("%s1", place) for place in range(len(self.operands))]
        self.strides = [
            writer.word("%s0", place) if operand.access == "any" else "0"
            for place, operand in enumerate(self.operands)
        ]
        self.buffers = [
            writer.let(f"alloca [{_STRETCH} x {memory_type(one.dtype)}], align 64") if held else ""
            for one, held in zip(self.operands, self.buffered, strict=True)
        ]
        most = max(stage.most_resting for stages in self.stages.values() for stage in stages)
        self.resting = [writer.let(f"alloca [{_STRETCH} x i64], align 64") for _ in range(most)]
        outer = writer.begin_loop("%n1")
        rows = [
            writer.shifted(base, outer.index, stride)
            for base, stride in zip(bases, outer_strides, strict=True)
        ]
        self._load_unmoved(rows)
        if block := self._block():
            self._write_blocks(rows, block)
        elif self.rare or most or any(self.buffered):
            self._write_stretches(rows)
        else:
            self._write_loop("%n0", rows)
        writer.end_loop(outer)
        if writer.program.streams:
            # Whoever is told that the kernel is done must see what went past the caches.
            writer.lines.append("  fence seq_cst")

    def _load_unmoved(self, rows: list[str]) -> None:
        """Read the operands that the innermost loop stays on once, before it."""
        writer = self.writer
        for instruction in self.block.instructions:
            memory = instruction.memory
            if instruction.operation != "load" or memory is None or memory.access != "zero":
                continue
            if instruction.offset is not None:
                continue
            writer.access(instruction, rows[writer.position[memory.name]], "")
        self.unmoved = dict(writer.values)

    # Blocks

    def _write_blocks(self, rows: list[str], block: int) -> None:
        """A few vectors at a time, which are tested and computed in registers.

        Whole blocks have a loop that unrolls to nothing but these vectors; what is left of them,
        and blocks with a rare condition, have masked ones.
        """
        writer = self.writer
        loop = writer.begin_loop("%n0", step=str(block))
        left = writer.let(f"sub nsw i64 %n0, {loop.index}")
        places = [
            writer.element(operand, row, loop.index, stride)
            for operand, row, stride in zip(self.operands, rows, self.strides, strict=True)
        ]
        number = len(writer.lines)
        whole, part, rare, after = (f"{kind}{number}" for kind in "wpra")
        is_whole = writer.let(f"icmp sge i64 {left}, {block}")
        writer.lines.append(f"  br i1 {is_whole}, label %{whole}, label %{part}")
        writer.begin_block(whole)
        self._prefetch(places, block)
        origins = [self._write_block(whole, str(block), MOST_GROUPS, places, rare)]
        writer.lines.append(f"  br label %{after}")
        writer.begin_block(part)
        origins.append(self._write_block(part, left, 1, places, rare))
        writer.lines.append(f"  br label %{after}")
        if self.rare:
            writer.begin_block(rare)
            count = writer.let(f"phi i64 {', '.join(origins)}")
            self._write_loop(count, places)
            writer.lines.append(f"  br label %{after}")
        writer.begin_block(after)
        writer.end_loop(loop)

    def _write_block(
        self, label: str, count: str, groups: int, places: list[str], rare: str
    ) -> str:
        """The usual loop over `count` elements, and before it the test that may jump to `rare`.

        Gives what a phi there has to know of this way to it.
        """
        writer = self.writer
        if self.rare:
            found = self._write_test(count, places, groups, in_registers=True)
        origin = f"[ {count}, %{writer.label} ]"
        if self.rare:
            usual, seldom = f"{label}u", writer.seldom()
            writer.lines.append(f"  br i1 {found}, label %{rare}, label %{usual}{seldom}")
            writer.begin_block(usual)
        self._write_loop(count, places, groups, usual=bool(self.rare))
        return origin

    def _prefetch(self, places: list[str], block: int) -> None:
        """Ask for what a later block reads.

        Processors do so by themselves, but only to the end of a page; while they wait for the next
        one, long bodies leave them no room to look ahead.
        """
        writer = self.writer
        for operand, place in zip(self.operands, places, strict=True):
            if operand.is_output or operand.access != "unit":
                continue
            for line in range(0, block * operand.dtype.itemsize, _CACHE_LINE):
                ahead = writer.let(f"getelementptr i8, ptr {place}, i64 {_AHEAD + line}")
                writer.prefetch(ahead)

    def _block(self) -> int:
        """How many elements a block has; 0 where stretches serve, or a plain loop."""
        if any(self.buffered) or not session().has_masks:
            return 0
        stage, *others = self.stages[bool(self.rare)]
        if others:
            return 0
        bodies = [stage.body, self._tested_body()] if self.rare else [stage.body]
        lanes = [lanes_of(self.operands, body) for body in bodies]
        worth = self.rare or self.writer.program.streams or not is_short(stage.body)
        if not worth or not all(lanes):
            return 0
        return MOST_GROUPS * max(lanes)

    def _tested_body(self) -> list[Instruction]:
        """What tells whether a rare condition holds."""
        needed = _closure([one.operands[0] for one in self.rare], _all_operands)
        return [one for one in self.block.instructions if id(one) in needed]

    # Stretches

    def _write_stretches(self, rows: list[str]) -> None:
        writer = self.writer
        stretches = writer.begin_loop("%n0", step=str(_STRETCH))
        left = writer.let(f"sub nsw i64 %n0, {stretches.index}")
        count = writer.call("llvm.smin.i64", "i64", left, str(_STRETCH))
        starts = [
            writer.element(operand, row, stretches.index, stride)
            for operand, row, stride in zip(self.operands, rows, self.strides, strict=True)
        ]
        places = [
            buffer if held else start
            for buffer, held, start in zip(self.buffers, self.buffered, starts, strict=True)
        ]
        self._copy(count, starts, outputs=False)
        if self.rare:
            self._write_alternatives(count, places)
        else:
            self._write_loop(count, places)
        self._copy(count, starts, outputs=True)
        writer.end_loop(stretches)

    def _copy(self, count: str, starts: list[str], *, outputs: bool) -> None:
        """Bring the operands with strides into their buffers, or take the results out of them."""
        writer = self.writer
        for place, operand in enumerate(self.operands):
            if not self.buffered[place] or operand.is_output != outputs:
                continue
            mark, tail = writer.parallel()
            loop = writer.begin_loop(count)
            moved = writer.shifted(starts[place], loop.index, self.strides[place])
            kind = memory_type(operand.dtype)
            held = writer.let(
                f"getelementptr inbounds {kind}, ptr {self.buffers[place]}, i64 {loop.index}"
            )
            source, target = (held, moved) if outputs else (moved, held)
            align = operand.dtype.itemsize
            value = writer.let(f"load {kind}, ptr {source}, align {align}{mark}")
            writer.lines.append(f"  store {kind} {value}, ptr {target}, align {align}{mark}")
            writer.end_loop(loop, tail=tail)

    def _write_alternatives(self, count: str, places: list[str]) -> None:
        """A loop that tests the rare conditions, and one for either outcome."""
        writer = self.writer
        found = self._write_test(count, places)
        number = len(writer.lines)
        rare, usual, after = f"r{number}", f"u{number}", f"j{number}"
        writer.lines += [f"  br i1 {found}, label %{rare}, label %{usual}", f"{rare}:"]
        writer.label = rare
        self._write_loop(count, places)
        writer.lines += [f"  br label %{after}", f"{usual}:"]
        writer.label = usual
        self._write_loop(count, places, usual=True)
        writer.lines += [f"  br label %{after}", f"{after}:"]
        writer.label = after

    def _write_test(
        self,
        count: str,
        places: list[str],
        groups: int = MOST_GROUPS,
        *,
        in_registers: bool = False,
    ) -> str:
        """Whether a rare condition holds anywhere in the stretch.

        Of comparisons of integers a long loop keeps the largest value, which is one operation less;
        `in_registers`, a few masks are put together sooner than the lanes of a vector.
        """
        writer = self.writer
        body = self._tested_body()
        limits = list(dict.fromkeys(term for one in self.rare for term in _terms(one.operands[0])))
        seen = [("i1", "false", one) if in_registers else _largest_of(one) for one in limits]
        found = [start for _, start, _ in seen]
        for part in parts_of(writer, count, lanes_of(self.operands, body), groups):
            carried = [(kind, before) for (kind, _, _), before in zip(seen, found, strict=True)]
            loop = writer.begin_loop(part.end, start=part.start, carried=carried)
            kept = dict(self.unmoved)
            self._write_body(body, places, loop.index, part.mark, kept)
            larger = [
                self._or_larger(kind, before, str(writer.values[id(watched)]))
                for before, (kind, _, watched) in zip(loop.carried, seen, strict=True)
            ]
            writer.end_loop(loop, larger, part.tail)
            found = loop.carried
        any_found = "false"
        for name, (kind, _, watched), term in zip(found, seen, limits, strict=True):
            if kind != "i1":
                limit = literal(term.operands[1].params["value"], watched.dtype)
                name = writer.let(f"icmp sgt {kind} {name}, {limit}")
            any_found = writer.let(f"or i1 {any_found}, {name}")
        return any_found

    def _or_larger(self, kind: str, before: str, value: str) -> str:
        writer = self.writer
        if kind == "i1":
            return writer.let(f"or i1 {before}, {value}")
        return writer.call(f"llvm.smax.{kind}", kind, before, value)

    # One loop

    def _operands(self, one: Instruction, usual: bool) -> tuple[Instruction, ...]:
        """What is computed for `one`: of a rare choice only the usual value, if `usual`.

        Else the general one, or all it takes to choose.
        """
        if "rare" not in one.params:
            return one.operands
        if usual and one in self.rare:
            return one.operands[2:]
        return one.operands if id(one) in self.chosen else one.operands[1:2]

    def _stages(self, usual: bool) -> list[Stage]:
        """The loops that compute and store."""

        def operands(one: Instruction) -> tuple[Instruction, ...]:
            return self._operands(one, usual)

        stores = [one for one in self.block.instructions if one.operation == "store"]
        needed = _closure(stores, operands)
        body = [one for one in self.block.instructions if id(one) in needed]
        return stages_of(body, operands)

    def _write_loop(
        self,
        count: str,
        places: list[str],
        most_groups: int = MOST_GROUPS,
        *,
        usual: bool = False,
    ) -> None:
        """The loop that computes and stores; or several, one for each stage."""
        writer = self.writer
        if self.rare and not usual:
            most_groups = 1
        for stage in self.stages[usual]:
            lanes = lanes_of(self.operands, stage.body)
            groups = min(groups_of(stage.body, lanes), most_groups)
            for part in parts_of(writer, count, lanes, groups):
                loop = writer.begin_loop(part.end, start=part.start)
                kept = dict(self.unmoved)
                for slot, one in stage.taken:
                    kept[id(one)] = self._rested(slot, one, loop.index, part.mark)
                self._write_body(stage.body, places, loop.index, part.mark, kept, usual=usual)
                for slot, one in stage.left:
                    self._rest(slot, one, loop.index, part.mark)
                writer.end_loop(loop, tail=part.tail)

    def _rest(self, slot: int, one: Instruction, index: str, mark: str) -> None:
        """Leave a value to a later stage."""
        writer, kind = self.writer, register_type(one.dtype)
        value = writer.values[id(one)]
        if kind == "i1":
            kind, value = "i8", writer.let(f"zext i1 {value} to i8")
        place = writer.let(f"getelementptr inbounds {kind}, ptr {self.resting[slot]}, i64 {index}")
        writer.lines.append(f"  store {kind} {value}, ptr {place}{mark}")

    def _rested(self, slot: int, one: Instruction, index: str, mark: str) -> str:
        """The value that an earlier stage left."""
        writer, kind = self.writer, register_type(one.dtype)
        held = "i8" if kind == "i1" else kind
        place = writer.let(f"getelementptr inbounds {held}, ptr {self.resting[slot]}, i64 {index}")
        value = writer.let(f"load {held}, ptr {place}{mark}")
        return writer.let(f"icmp ne i8 {value}, 0") if kind == "i1" else value

    def _write_body(
        self,
        body: list[Instruction],
        places: list[str],
        index: str,
        mark: str,
        kept: dict[int, object],
        *,
        usual: bool = False,
    ) -> None:
        writer = self.writer
        writer.values = kept
        for one in body:
            if one.has_result and id(one) in writer.values:
                continue
            if one.memory is None:
                operands = self._operands(one, usual)
                if len(operands) == 1 and "rare" in one.params:
                    writer.values[id(one)] = writer.values[id(operands[0])]
                elif id(one) in self.chosen:
                    values = [writer.values[id(operand)] for operand in operands]
                    writer.values[id(one)] = writer.where(one.dtype, values)
                else:
                    writer.compute(one)
                continue
            place = writer.position[one.memory.name]
            access = self.accesses[place]
            moving = Operand(one.memory.name, one.dtype, one.memory.space, access)
            address = writer.element(moving, places[place], index, self.strides[place])
            streamed = access == "stream"
            writer.access(one, address, mark + writer.streamed() if streamed else mark)


def _terms(condition: Instruction) -> list[Instruction]:
    """The conditions of which one must hold."""
    if condition.operation != "bitwise_or" or condition.dtype.name != "bool":
        return [condition]
    return [term for operand in condition.operands for term in _terms(operand)]


def _largest_of(condition: Instruction) -> tuple[str, str, Instruction]:
    """What a loop keeps to tell whether `condition` held: a type, its first value, what it sees.

    The largest of the values, where that is all that a comparison of integers needs.
    """
    if condition.operation == "gt" and condition.operands[1].operation == "constant":
        value = condition.operands[0]
        if value.dtype.kind == "signed":
            least = str(-(1 << (8 * value.dtype.itemsize - 1)))
            return register_type(value.dtype), least, value
    return "i1", "false", condition


def _all_operands(one: Instruction) -> tuple[Instruction, ...]:
    return one.operands


def _closure(
    roots: list[Instruction], operands: Callable[[Instruction], tuple[Instruction, ...]]
) -> set[int]:
    """What `roots` are computed from, themselves included."""
    found: set[int] = set()
    stack = list(roots)
    while stack:
        one = stack.pop()
        if id(one) not in found:
            found.add(id(one))
            stack.extend(operands(one))
    return found

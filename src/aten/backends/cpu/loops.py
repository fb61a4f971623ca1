"""LLVM IR for Loop IR programs: the loops around the scalar code.

Every kernel has one signature, `void kernel(ptr data, i64 n0, ptr s0, i64 n1, ptr s1, ptr g)`:
`data` points to one address per operand, `n0` and `n1` count the kept points of the two innermost
kept dimensions with byte strides `s0` and `s1` per operand, and `g` holds what concerns the reduced
dimensions: how many elements they hold, their sizes, then each operand's byte strides along them.
Further kept dimensions are the launcher's affair.
"""

from __future__ import annotations

from dataclasses import dataclass

from aten.backends.cpu.scalar import ScalarEmitter, memory_type
from aten.loops.program import BUFFERED, Block, Instruction, Operand, Program


@dataclass(slots=True)
class Loop:
    """A loop being written: its counter, its carried values, and where it goes on."""

    index: str
    carried: list[str]
    header: str
    exit: str
    phi_line: int
    types: list[str]


class KernelEmitter(ScalarEmitter):
    """Writes one program as one LLVM function."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self.program = program
        self.narrows_to_half = any(
            one.dtype.name in ("float16", "complex32") for one in program.operands
        )
        self.label = "entry"
        self.values: dict[int, object] = {}
        self.metadata: list[str] = []
        memory = [*program.operands, *program.buffers]
        self.position = {operand.name: place for place, operand in enumerate(memory)}

    def module(self, symbol: str) -> str:
        """The whole LLVM module as text, its function called `symbol`, once the body is written."""
        body = "\n".join(self.lines)
        return (
            f"define void @{symbol}(ptr %data, i64 %n0, ptr %s0, i64 %n1, ptr %s1, ptr %g) #0 {{\n"
            f"entry:\n{body}\n  ret void\n}}\n\n"
            + "".join(f"{line}\n" for line in self.declarations.values())
            + 'attributes #0 = { nounwind "prefer-vector-width"="512" }\n'
            + "".join(f"{line}\n" for line in self.metadata)
        )

    # Loops

    def begin_loop(
        self, end: str, *, step: str = "1", carried: list[tuple[str, str]] | None = None
    ) -> Loop:
        """`for (i = 0; i < end; i += step)`, carrying values of (type, initial) along."""
        carried = carried or []
        number = len(self.lines)
        header, body, leave = f"h{number}", f"b{number}", f"x{number}"
        before = self.label
        self.lines += [f"  br label %{header}", f"{header}:"]
        index = self.fresh("i")
        names = [self.fresh("c") for _ in carried]
        line = len(self.lines)
        self.lines.append(f"  {index} = phi i64 [ 0, %{before} ], [ {index}n, ")
        for name, (kind, start) in zip(names, carried, strict=True):
            self.lines.append(f"  {name} = phi {kind} [ {start}, %{before} ], [ ")
        inside = self.let(f"icmp slt i64 {index}, {end}")
        self.lines += [f"  br i1 {inside}, label %{body}, label %{leave}", f"{body}:"]
        self.label = body
        loop = Loop(index, names, header, leave, line, [kind for kind, _ in carried])
        self.lines[line] += f"\0{step}"
        return loop

    def end_loop(self, loop: Loop, results: list[str] | None = None, tail: str = "") -> None:
        """Close the loop; `results` are the next values of what it carries."""
        results = results or []
        start, step = self.lines[loop.phi_line].split("\0")
        latch = self.label
        self.lines[loop.phi_line] = f"{start}%{latch} ]"
        for offset, result in enumerate(results, 1):
            self.lines[loop.phi_line + offset] += f"{result}, %{latch} ]"
        self.lines += [
            f"  {loop.index}n = add nuw nsw i64 {loop.index}, {step}",
            f"  br label %{loop.header}{tail}",
            f"{loop.exit}:",
        ]
        self.label = loop.exit

    def parallel(self) -> tuple[str, str]:
        """Marks for the accesses of a loop without dependences between iterations, and for it.

        They let the vectorizer work without overlap checks; operands that coincide exactly are
        allowed, since an element is then read before it is written.
        """
        group = len(self.metadata)
        self.metadata += [
            f"!{group} = distinct !{{}}",
            f"!{group + 1} = distinct !{{!{group + 1}, !{group + 2}, !{group + 3}}}",
            f'!{group + 2} = !{{!"llvm.loop.parallel_accesses", !{group}}}',
            f'!{group + 3} = !{{!"llvm.loop.mustprogress"}}',
        ]
        return f", !llvm.access.group !{group}", f", !llvm.loop !{group + 1}"

    # Addresses

    def word(self, base: str, position: int) -> str:
        """The 64-bit word number `position` behind `base`."""
        place = self.let(f"getelementptr inbounds i64, ptr {base}, i64 {position}")
        return self.let(f"load i64, ptr {place}, align 8")

    def pointers(self) -> list[str]:
        """The operands' addresses."""
        found = []
        for place in range(len(self.program.operands)):
            slot = self.let(f"getelementptr inbounds ptr, ptr %data, i64 {place}")
            found.append(self.let(f"load ptr, ptr {slot}, align 8"))
        return found

    def buffers(self) -> list[str]:
        """The addresses of the program's buffers, which are made here."""
        return [
            self.let(f"alloca [{BUFFERED} x {memory_type(buffer.dtype)}], align 64")
            for buffer in self.program.buffers
        ]

    def shifted(self, base: str, index: str, stride: str) -> str:
        """`base` moved by `index` strides of bytes."""
        offset = self.let(f"mul nsw i64 {index}, {stride}")
        return self.let(f"getelementptr inbounds i8, ptr {base}, i64 {offset}")

    def element(self, operand: Operand, base: str, index: str, stride: str) -> str:
        """The address of element number `index` of the innermost loop."""
        if operand.access == "zero":
            return base
        if operand.access == "any":
            return self.shifted(base, index, stride)
        kind = memory_type(operand.dtype)
        if operand.dtype.is_complex:
            kind = f"[2 x {kind}]"
        return self.let(f"getelementptr inbounds {kind}, ptr {base}, i64 {index}")

    def compute(self, instruction: Instruction) -> None:
        """A pure instruction, on values computed before."""
        arguments = [self.values[id(operand)] for operand in instruction.operands]
        self.values[id(instruction)] = self.instruction(instruction, arguments)

    # The plain map

    def write_map(self) -> None:
        """The body of a program without reduced dimensions."""
        operands = self.program.operands
        bases = self.pointers()
        outer_strides = [self.word("%s1", place) for place in range(len(operands))]
        inner_strides = [
            self.word("%s0", place) if operand.access == "any" else "0"
            for place, operand in enumerate(operands)
        ]
        outer = self.begin_loop("%n1")
        rows = [
            self.shifted(base, outer.index, stride)
            for base, stride in zip(bases, outer_strides, strict=True)
        ]
        (block,) = self.program.blocks
        self._load_unmoved(block, rows)
        access, tail = self.parallel()
        inner = self.begin_loop("%n0")
        for instruction in block.instructions:
            memory = instruction.memory
            if memory is None:
                self.compute(instruction)
                continue
            if id(instruction) in self.values:
                continue
            place = self.position[memory.name]
            address = self.element(memory, rows[place], inner.index, inner_strides[place])
            self.access(instruction, address, access)
        self.end_loop(inner, tail=tail)
        self.end_loop(outer)

    def _load_unmoved(self, block: Block, rows: list[str]) -> None:
        """Read the operands that the innermost loop stays on once, before it."""
        for instruction in block.instructions:
            memory = instruction.memory
            if instruction.operation != "load" or memory is None or memory.access != "zero":
                continue
            self.access(instruction, rows[self.position[memory.name]], "")

    def access(self, instruction: Instruction, address: str, suffix: str) -> None:
        """A load or a store at `address`."""
        if instruction.operation == "load":
            self.values[id(instruction)] = self.load(instruction.dtype, address, suffix)
            return
        value = self.values[id(instruction.operands[0])]
        self.store(instruction.dtype, value, address, suffix)

"""LLVM IR for Loop IR programs: the loops around the scalar code.

Every kernel has one signature, `void kernel(ptr data, i64 n0, ptr s0, i64 n1, ptr s1, ptr g)`:
`data` points to one address per operand, `n0` and `n1` count the kept points of the two innermost
kept dimensions with byte strides `s0` and `s1` per operand, and `g` holds what concerns the reduced
dimensions: how many elements they hold, their sizes, then each operand's byte strides along them;
behind that are the program's numbers.
Further kept dimensions are the launcher's affair.
"""

from __future__ import annotations

from dataclasses import dataclass

from aten.backends.cpu.scalar import ScalarEmitter, memory_type
from aten.backends.cpu.target import HOST
from aten.loops.program import Instruction, Operand, Program


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
        self.numbers: list[str] = []
        memory = [*program.operands, *program.buffers]
        self.position = {operand.name: place for place, operand in enumerate(memory)}

    def module(self, symbol: str) -> str:
        """The whole LLVM module as text, its function called `symbol`, once the body is written."""
        body = "\n".join(self.lines)
        return (
            f"define void @{symbol}(ptr %data, i64 %n0, ptr %s0, i64 %n1, ptr %s1, ptr %g) #0 {{\n"
            f"entry:\n{body}\n  ret void\n}}\n\n"
            + "".join(f"{line}\n" for line in [*self.declarations.values(), *self._kept()])
            + 'attributes #0 = { nounwind "prefer-vector-width"="512" }\n'
            + "".join(f"{line}\n" for line in self.metadata)
        )

    def _kept(self) -> list[str]:
        """What keeps functions in the module that only the vectorizer will call."""
        if not self.kept:
            return []
        listed = ", ".join(f"ptr {name}" for name in self.kept)
        kind, section = f"[{len(self.kept)} x ptr]", 'section "llvm.metadata"'
        return [f"@llvm.compiler.used = appending global {kind} [{listed}], {section}"]

    def begin_block(self, label: str) -> None:
        """A basic block, which others jump to."""
        self.lines.append(f"{label}:")
        self.label = label

    # Loops

    def begin_loop(
        self,
        end: str,
        *,
        start: str = "0",
        step: str = "1",
        carried: list[tuple[str, str]] | None = None,
    ) -> Loop:
        """`for (i = start; i < end; i += step)`, carrying values of (type, initial) along."""
        carried = carried or []
        number = len(self.lines)
        header, body, leave = f"h{number}", f"b{number}", f"x{number}"
        before = self.label
        self.lines += [f"  br label %{header}", f"{header}:"]
        index = self.fresh("i")
        names = [self.fresh("c") for _ in carried]
        line = len(self.lines)
        self.lines.append(f"  {index} = phi i64 [ {start}, %{before} ], [ {index}n, ")
        for name, (kind, initial) in zip(names, carried, strict=True):
            self.lines.append(f"  {name} = phi {kind} [ {initial}, %{before} ], [ ")
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

    def parallel(
        self, lanes: int = 0, interleaved: int = 0, *, masked: bool = False
    ) -> tuple[str, str]:
        """Marks for the accesses of a loop without dependences between iterations, and for it.

        They let the vectorizer work without overlap checks; operands that coincide exactly are
        allowed, since an element is then read before it is written. It is told to compute `lanes`
        elements at once and so many such groups side by side; 0 leaves the choice to it. With
        `masked` the last lanes compute what there is, instead of a loop over single elements.
        """
        group = len(self.metadata)
        hints = [f'!"llvm.loop.parallel_accesses", !{group}', '!"llvm.loop.mustprogress"']
        if lanes:
            hints.append(f'!"llvm.loop.vectorize.width", i32 {lanes}')
        if interleaved:
            hints.append(f'!"llvm.loop.interleave.count", i32 {interleaved}')
        if masked:
            hints.append('!"llvm.loop.vectorize.predicate.enable", i1 true')
        loop = group + 1
        listed = ", ".join(f"!{loop + place}" for place in range(len(hints) + 1))
        self.metadata += [f"!{group} = distinct !{{}}", f"!{loop} = distinct !{{{listed}}}"]
        self.metadata += [f"!{loop + 1 + place} = !{{{hint}}}" for place, hint in enumerate(hints)]
        return f", !llvm.access.group !{group}", f", !llvm.loop !{loop}"

    def streamed(self) -> str:
        """The mark of stores that are to go past the caches, as `Session.streaming` knows them.

        A scope of its own, which the vectorizer keeps, and which nothing else has.
        """
        scope = len(self.metadata)
        self.metadata += [
            f"!{scope} = !{{!{scope + 1}}}",
            f"!{scope + 1} = distinct !{{!{scope + 1}, !{scope + 2}}}",
            f"!{scope + 2} = distinct !{{!{scope + 2}}}",
        ]
        return f", !alias.scope !{scope}"

    def seldom(self) -> str:
        """The mark of a branch that seldom goes to the first of its labels.

        Without it, the constants of what is behind that label would be kept in registers.
        """
        place = len(self.metadata)
        self.metadata.append(f'!{place} = !{{!"branch_weights", i32 1, i32 2000}}')
        return f", !prof !{place}"

    def prefetch(self, address: str) -> None:
        """Ask for the cache line at `address`, which need not be there."""
        self.declarations["llvm.prefetch"] = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"
        self.lines.append(f"  call void @llvm.prefetch.p0(ptr {address}, i32 0, i32 3, i32 1)")

    # Addresses

    def word(self, base: str, position: int) -> str:
        """The 64-bit word number `position` behind `base`."""
        place = self.let(f"getelementptr inbounds i64, ptr {base}, i64 {position}")
        return self.let(f"load i64, ptr {place}, align 8")

    def step(self, base: str, position: int) -> str:
        """Such a word as the step of a vector loop, in bytes.

        Said to be more than it can be less than: of a plain number the vectorizer would guess that
        it is 1, and write vectors for that alone.
        """
        return self.call("llvm.smax.i64", "i64", self.word(base, position), str(-(1 << 62)))

    def pointers(self) -> list[str]:
        """The operands' addresses; what arrives with them is read here, too."""
        program = self.program
        first = 1 + program.reduced_rank * (1 + len(program.operands))
        if not program.reduced_rank:
            first = 0
        self.numbers = [self.word("%g", first + place) for place in range(program.numbers)]
        found = []
        for place in range(len(self.program.operands)):
            slot = self.let(f"getelementptr inbounds ptr, ptr %data, i64 {place}")
            found.append(self.let(f"load ptr, ptr {slot}, align 8"))
        return found

    def buffers(self) -> list[str]:
        """The addresses of the program's buffers, which are made here."""
        return [
            self.let(f"alloca [{HOST.buffered} x {memory_type(buffer.dtype)}], align 64")
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
        if instruction.operation == "number":
            self.values[id(instruction)] = self.numbers[instruction.params["place"]]
            return
        arguments = [self.values[id(operand)] for operand in instruction.operands]
        self.values[id(instruction)] = self.instruction(instruction, arguments)

    # Memory accesses

    def access(self, instruction: Instruction, address: str, suffix: str) -> None:
        """A load or a store at `address`, or as far behind it as is computed."""
        if instruction.offset is not None:
            offset = self.values[id(instruction.offset)]
            address = self.let(f"getelementptr i8, ptr {address}, i64 {offset}")
        if instruction.operation == "load":
            self.values[id(instruction)] = self.load(instruction.dtype, address, suffix)
            return
        value = self.values[id(instruction.operands[0])]
        self.store(instruction.dtype, value, address, suffix)

"""Loop IR: one fused kernel, as blocks of instructions with explicit loads, folds and stores.

A kernel visits the *kept* points of its iteration space; at each it runs its blocks in order. A
`row` block runs once per kept point, a `loop` block once per element of the reduced dimensions,
one after the other where they are written at computed addresses.
A kernel without loop blocks is a plain map. Sizes and strides are not part of it: they arrive
when it runs, so one kernel serves every shape.

    kernel softmax(in0: float32 full unit, out0: float32 full unit) over 1
      loop
        %0: float32 = load in0
        fold %1: float32 = amax %0
      loop
        ...
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from aten._core.base.dtypes import dtype


@dataclass(slots=True)
class Operand:
    """A tensor the kernel reads or writes.

    `space`: "full" moves with kept and reduced dimensions, "row" with the kept ones only.
    `access`: how the innermost loop steps through it: "unit" element by element, "zero" not at
    all, "any" by a stride known at run time, "stream" as "unit", for an output of a map that is
    written past the caches and begins at a multiple of 64 bytes.
    """

    name: str
    dtype: dtype
    space: str
    access: str

    @property
    def is_output(self) -> bool:
        return self.name.startswith("out")

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype.name} {self.space} {self.access}"


@dataclass(slots=True, eq=False)
class Instruction:
    """`%number: dtype = operation operands`; operands are instructions, or operands for loads.

    A load with an operand, and a store with a second one, go so many bytes on from where the walk
    is; `number` is an integer that arrives when the kernel runs.
    """

    operation: str
    operands: tuple[Instruction, ...]
    dtype: dtype
    params: dict[str, Any] = field(default_factory=dict)
    memory: Operand | None = None

    @property
    def offset(self) -> Instruction | None:
        """How many bytes behind where the walk is an access goes; None for where it is."""
        if self.memory is None:
            return None
        at = 0 if self.operation == "load" else 1
        return self.operands[at] if len(self.operands) > at else None

    @property
    def is_fold(self) -> bool:
        return self.operation in FOLDS

    @property
    def is_scan(self) -> bool:
        return self.operation in SCANS

    @property
    def has_result(self) -> bool:
        return self.operation != "store"


FOLDS = frozenset({"sum", "prod", "amax", "amin", "xor"})
# A scan is the running value of a fold: it gives one value per element.
SCANS = {"cumsum": "sum", "cumprod": "prod", "cummax": "amax", "cummin": "amin"}


@dataclass(slots=True)
class Block:
    """Instructions run together. `kind`: "row" or "loop". Folds end in a loop, values follow it."""

    kind: str
    instructions: list[Instruction] = field(default_factory=list)


@dataclass(slots=True)
class Program:
    """A kernel. `reduced_rank` counts the loops of a loop block; 0 makes it a map.

    `schedule`: "row" puts the innermost reduced dimension in the vector loop, "column" the
    innermost kept one (a map has only that). `buffers` are the kernel's own memory, for values of
    one row of at most as many elements as a target's buffer has; only rows over one dimension have
    them.
    """

    name: str
    operands: list[Operand]
    blocks: list[Block]
    reduced_rank: int = 0
    schedule: str = "row"
    buffers: list[Operand] = field(default_factory=list)

    @property
    def streams(self) -> bool:
        """Whether an output is written past the caches."""
        return any(operand.access == "stream" for operand in self.operands)

    @property
    def indexed(self) -> frozenset[str]:
        """The operands that are met at computed addresses."""
        every = [one for block in self.blocks for one in block.instructions]
        return frozenset(
            one.memory.name for one in every if one.memory is not None and one.offset is not None
        )

    @property
    def elements(self) -> dict[str, list[int]]:
        """By operands that are met at computed addresses, the places of the numbers in these."""
        made: dict[str, set[int]] = {}
        for one in (one for block in self.blocks for one in block.instructions):
            if one.memory is None or one.offset is None:
                continue
            waiting = [one.offset]
            found = made.setdefault(one.memory.name, set())
            while waiting:
                part = waiting.pop()
                waiting += part.operands
                if part.operation == "number":
                    found.add(part.params["place"])
        return {name: sorted(found) for name, found in made.items()}

    @property
    def numbers(self) -> int:
        """How many integers it takes beside those of the walk."""
        every = [one for block in self.blocks for one in block.instructions]
        places = [one.params["place"] for one in every if one.operation == "number"]
        return max(places, default=-1) + 1

    @property
    def loops(self) -> list[Block]:
        return [block for block in self.blocks if block.kind == "loop"]

    def __str__(self) -> str:
        names: dict[int, str] = {}
        operands = ", ".join(map(str, [*self.operands, *self.buffers]))
        over = f" over {self.reduced_rank} by {self.schedule}" if self.reduced_rank else ""
        lines = [f"kernel {self.name}({operands}){over}"]
        for block in self.blocks:
            lines.append(f"  {block.kind}")
            for instruction in block.instructions:
                if instruction.has_result:
                    names[id(instruction)] = f"%{len(names)}"
                lines.append("    " + _text(instruction, names))
        return "\n".join(lines)


def _text(instruction: Instruction, names: dict[int, str]) -> str:
    # A malformed program has a text, too: it is part of the error that says so.
    arguments = [names.get(id(operand), "%?") for operand in instruction.operands]
    if instruction.memory is not None:
        arguments.insert(0, instruction.memory.name)
    arguments += [
        f"{key}={value.name if isinstance(value, dtype) else repr(value)}"
        for key, value in instruction.params.items()
    ]
    head = instruction.operation
    if instruction.has_result:
        head = f"{names[id(instruction)]}: {instruction.dtype.name} = {head}"
    if instruction.is_fold:
        head = f"fold {head}"
    return f"{head} {', '.join(arguments)}".rstrip()

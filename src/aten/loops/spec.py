"""What a well-formed program is; checked between the passes."""

from __future__ import annotations

from aten.loops.program import Block, Instruction, Operand, Program
from aten.prims import Prim

_ACCESSES = frozenset({"unit", "zero", "any"})
_MEMORY = frozenset({"load", "store"})
_LEAVES = frozenset({"constant", "extent", "number", "position"})


class SpecError(AssertionError):
    """A pass produced a malformed program: a defect of the compiler, not of its input."""


def verify(program: Program) -> Program:
    """`program` itself. Raises SpecError naming the first instruction that breaks a rule."""
    for operand in program.operands:
        _require(operand.space in ("full", "row"), program, f"space of {operand.name}")
        _require(_may_access(program, operand), program, f"access of {operand.name}")
    _require(program.schedule in ("row", "column"), program, "schedule")
    for buffer in program.buffers:
        fits = program.reduced_rank == 1 and program.schedule == "row" and buffer.access == "unit"
        _require(fits, program, f"buffer {buffer.name}")
    known: set[int] = set()
    stored: set[str] = set()
    for block in program.blocks:
        _verify_block(program, block, known, stored)
    for operand in program.operands:
        _require(not operand.is_output or operand.name in stored, program, f"no store {operand}")
    return program


def _may_access(program: Program, operand: Operand) -> bool:
    if operand.access == "stream":
        return operand.is_output and not program.reduced_rank
    return operand.access in _ACCESSES


def _verify_block(program: Program, block: Block, known: set[int], stored: set[str]) -> None:
    _require(block.kind in ("row", "loop"), program, f"block kind {block.kind}")
    local = set(known)
    for instruction in block.instructions:
        name = instruction.operation
        _require(
            name in Prim.table or name in _MEMORY or name in _LEAVES, program, f"operation {name}"
        )
        for operand in instruction.operands:
            _require(id(operand) in local, program, f"{name} uses a value not computed here")
        if instruction.is_scan:
            _require(
                block.kind == "loop" and program.reduced_rank == 1,
                program,
                f"scan {name} outside a loop over one dimension",
            )
        if instruction.is_fold:
            _require(block.kind == "loop", program, f"fold {name} outside a loop")
            known.add(id(instruction))
            continue
        if name in _MEMORY:
            _verify_memory(program, block, instruction)
        if name == "store" and instruction.memory is not None:
            stored.add(instruction.memory.name)
        local.add(id(instruction))
        if block.kind == "row":
            known.add(id(instruction))


def _verify_memory(program: Program, block: Block, instruction: Instruction) -> None:
    memory = instruction.memory
    if memory is None:
        raise SpecError(f"{instruction.operation} without an operand in\n{program}")
    _require(
        memory.space == "row" or block.kind == "loop" or not program.reduced_rank,
        program,
        f"{instruction.operation} of the full operand {memory.name} in a row block",
    )
    _require(instruction.dtype is memory.dtype, program, f"type of {memory.name}")
    offset = instruction.offset
    _require(
        offset is None or offset.dtype.name == "int64",
        program,
        f"type of an offset in {memory.name}",
    )


def _require(condition: bool, program: Program, what: str) -> None:
    if not condition:
        raise SpecError(f"malformed program: {what}\n{program}")

"""Programs in, addresses of machine code out; compiled objects are kept on disk."""

from __future__ import annotations

from aten.backends.cpu.estimates import ESTIMATES
from aten.backends.cpu.jit import PLACEHOLDER, Compiled, load, vector_bytes
from aten.backends.cpu.loops import KernelEmitter
from aten.backends.cpu.maps import Map
from aten.backends.cpu.reductions import ColumnSchedule, RowSchedule
from aten.backends.cpu.scans import ScanSchedule, only_scans
from aten.loops.expand import QUICK_LOOKUPS
from aten.loops.program import Program


def llvm_ir(program: Program) -> str:
    """The LLVM module for `program`, as text."""
    writer = KernelEmitter(program)
    if not program.reduced_rank:
        Map(writer).write()
    elif program.schedule == "row" and only_scans(program):
        ScanSchedule(writer).write()
    elif program.schedule == "row":
        RowSchedule(writer).write()
    else:
        ColumnSchedule(writer).write()
    return writer.module(PLACEHOLDER)


def lacking() -> frozenset[str]:
    """The optional primitives that this processor does not have, and whether look-ups are slow."""
    return frozenset() if vector_bytes() >= 64 else ESTIMATES | {QUICK_LOOKUPS}


def compile_program(program: Program) -> Compiled:
    """Machine code for `program`, from memory, from disk, or made now."""
    return load(str(program), lambda: llvm_ir(program), program.streams)

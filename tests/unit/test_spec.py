"""The spec of Loop IR: every way in which a program can be malformed is refused by name."""

import pytest

from aten._core.base.dtypes import DTYPES
from aten.loops.program import Block, Instruction, Operand, Program
from aten.loops.spec import SpecError, verify

FLOAT, INT = DTYPES["float32"], DTYPES["int32"]


class Parts:
    """A small softmax-like program, whose parts a test can spoil."""

    def __init__(self):
        self.source = Operand("in0", FLOAT, "full", "unit")
        self.target = Operand("out0", FLOAT, "full", "unit")
        self.load = Instruction("load", (), FLOAT, memory=self.source)
        self.total = Instruction("sum", (self.load,), FLOAT)
        self.inverse = Instruction("neg", (self.total,), FLOAT)
        self.again = Instruction("load", (), FLOAT, memory=self.source)
        self.product = Instruction("mul", (self.again, self.inverse), FLOAT)
        self.store = Instruction("store", (self.product,), FLOAT, memory=self.target)
        self.blocks = [
            Block("loop", [self.load, self.total]),
            Block("row", [self.inverse]),
            Block("loop", [self.again, self.product, self.store]),
        ]

    def program(self, **changes):
        return Program("test", [self.source, self.target], self.blocks, 1, **changes)


@pytest.fixture
def parts():
    return Parts()


def test_a_well_formed_program_is_given_back(parts):
    program = parts.program()
    assert verify(program) is program


def refused(program, what):
    with pytest.raises(SpecError, match=f"malformed program: {what}\nkernel test"):
        verify(program)


def test_unknown_words(parts):
    refused(parts.program(schedule="diagonal"), "schedule")
    parts.source.space = "partial"
    refused(parts.program(), "space of in0")
    parts.source.space, parts.target.access = "full", "sideways"
    refused(parts.program(), "access of out0")


def test_unknown_blocks_and_operations(parts):
    parts.blocks[1].kind = "column"
    refused(parts.program(), "block kind column")
    parts.blocks[1].kind = "row"
    parts.inverse.operation = "negate"
    refused(parts.program(), "operation negate")


def test_values_of_another_block(parts):
    parts.product.operands = (parts.load, parts.inverse)
    with pytest.raises(SpecError, match="mul uses a value not computed here"):
        verify(parts.program())


def test_values_before_they_are_computed(parts):
    parts.blocks[0], parts.blocks[1] = parts.blocks[1], parts.blocks[0]
    with pytest.raises(SpecError, match=r"neg uses a value not computed here(.|\n)*= neg %\?"):
        verify(parts.program())


def test_a_fold_is_not_known_inside_its_own_loop(parts):
    parts.blocks[0].instructions.append(Instruction("exp", (parts.total,), FLOAT))
    refused(parts.program(), "exp uses a value not computed here")


def test_folds_outside_loops(parts):
    load = Instruction("constant", (), FLOAT, {"value": 1.0})
    parts.blocks[1].instructions = [load, Instruction("sum", (load,), FLOAT), parts.inverse]
    refused(parts.program(), "fold sum outside a loop")


def test_scans_outside_a_loop_over_one_dimension(parts):
    parts.blocks[2].instructions.insert(1, Instruction("cumsum", (parts.again,), FLOAT))
    program = parts.program()
    assert verify(program) is program
    program.reduced_rank = 2
    refused(program, "scan cumsum outside a loop over one dimension")


def test_memory(parts):
    parts.load.memory = None
    with pytest.raises(SpecError, match="load without an operand"):
        verify(parts.program())
    parts.load.memory = parts.source
    parts.source.dtype = INT
    refused(parts.program(), "type of in0")


def test_full_operands_in_row_blocks(parts):
    parts.blocks[1].instructions.append(parts.load)
    refused(parts.program(), "load of the full operand in0 in a row block")


def test_outputs_never_written(parts):
    parts.blocks[2].instructions.pop()
    refused(parts.program(), "no store out0: float32 full unit")


def test_buffers_of_other_loops_than_rows_over_one_dimension(parts):
    program = parts.program()
    program.buffers.append(Operand("buffer0", FLOAT, "full", "unit"))
    assert verify(program) is program
    program.schedule = "column"
    refused(program, "buffer buffer0")
    program.schedule, program.buffers[0].access = "row", "any"
    refused(program, "buffer buffer0")

"""What is one kernel stays one kernel."""

from __future__ import annotations

import pytest

from aten.backends.cpu.explanation import example_programs

ROW_WISE = [
    "_softmax",
    "_log_softmax",
    "native_layer_norm",
    "var.dim",
    "std_mean.dim",
    "logsumexp",
    "linalg_vector_norm",
    "norm.ScalarOpt_dim",
]


@pytest.mark.parametrize("name", ROW_WISE)
def test_chains_along_a_row_are_one_kernel(name: str) -> None:
    _, programs = example_programs(name)
    assert len(programs) == 1
    assert programs[0].loops


def test_softmax_reads_its_row_three_times_and_exponentiates_once() -> None:
    _, (program,) = example_programs("_softmax")
    assert [
        [i.operation for i in block.instructions if i.is_fold or i.operation == "store"]
        for block in program.loops
    ] == [["amax"], ["store", "sum"], ["store"]]

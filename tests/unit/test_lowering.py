"""Operators as Prims graphs and as loops: the texts of the compiler's stages."""

import pytest

from aten.backends.cpu.explanation import example_programs


@pytest.mark.parametrize(
    "name",
    ["add.Tensor", "gelu", "sum", "argmax", "var.correction", "_softmax", "native_layer_norm"],
)
def test_graph_and_loops(golden, name):
    graph, programs = example_programs(name)
    golden(f"loops/{name.lstrip('_')}", "\n\n".join([str(graph), *map(str, programs)]))


@pytest.mark.parametrize("name", ["_softmax", "native_layer_norm", "var.correction"])
def test_chains_of_folds_are_one_kernel(name):
    _, programs = example_programs(name)
    assert len(programs) == 1
    assert len(programs[0].loops) >= 2


def test_what_is_not_made_of_loops_says_so():
    with pytest.raises(LookupError, match="linear is not made of loops: kind composite"):
        example_programs("linear")
    with pytest.raises(LookupError, match="no operator aten::nothing"):
        example_programs("nothing")

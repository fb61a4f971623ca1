"""How fused kernels walk operands: axes traced through graphs, dimensions ordered and joined."""

import pytest

import aten
from aten._core.base.dtypes import DTYPES
from aten.loops.geometry import (
    Operand,
    UnsupportedGraphError,
    access,
    axis_strides,
    dimensions,
    find_space,
    is_row,
)
from aten.ops.folding import extent, fold, kept_dims, spread
from aten.prims import Graph, GraphInterpreter, Prim, broadcast_to
from aten.prims import elementwise as p

FLOAT = DTYPES["float32"]


def traced(function, *shapes):
    """The graph of `function` on inputs of `shapes`."""
    interpreter = GraphInterpreter()
    inputs = [interpreter.input(place, FLOAT, shape) for place, shape in enumerate(shapes)]
    results = function(*inputs)
    results = results if isinstance(results, tuple) else (results,)
    return Graph("test", [v.payload for v in inputs], [r.payload for r in results])


def walk(graph, strides, *, keep_order=False):
    """Sizes and strides of kept and reduced dimensions."""
    operands = [
        Operand(node, one)
        for node, one in zip((*graph.inputs, *graph.outputs), strides, strict=True)
    ]
    found = dimensions(find_space(graph), operands, keep_order=keep_order)
    return [[(one.size, *one.strides) for one in part] for part in found]


def test_a_reduction_has_kept_and_reduced_dimensions():
    graph = traced(lambda x: fold("sum", x, 1), (3, 5))
    space = find_space(graph)
    assert (space.shape, space.reduced) == ((3, 5), (1,))
    assert not is_row(graph.inputs[0], space)
    assert is_row(graph.outputs[0], space)
    assert walk(graph, [(20, 4), (4,)]) == [[(3, 20, 4)], [(5, 4, 0)]]


def test_neighbours_that_step_evenly_are_one():
    graph = traced(lambda x: fold("sum", x, (2, 3)), (2, 3, 4, 5))
    assert walk(graph, [(240, 80, 20, 4), (12, 4)]) == [[(6, 80, 4)], [(20, 4, 0)]]


def test_gaps_keep_dimensions_apart():
    graph = traced(lambda x: fold("sum", x, 2), (2, 3, 4))
    assert walk(graph, [(400, 80, 4), (12, 4)]) == [[(2, 400, 12), (3, 80, 4)], [(4, 4, 0)]]


def test_dimensions_come_in_memory_order():
    graph = traced(lambda x: fold("sum", x, (1, 2)), (2, 3, 4))
    column_major = [(4, 8, 24), (4,)]
    assert walk(graph, column_major) == [[(2, 4, 4)], [(12, 8, 0)]]
    assert walk(graph, column_major, keep_order=True) == [
        [(2, 4, 4)],
        [(3, 8, 0), (4, 24, 0)],
    ]


def test_dimensions_of_size_one_go():
    graph = traced(lambda x: fold("sum", x, 1), (1, 5, 1))
    assert walk(graph, [(20, 4, 4), (4, 4)]) == [[], [(5, 4, 0)]]


def test_axes_are_traced_through_broadcasts_and_folds():
    def scaled(x, weight):
        spread_sum = spread(fold("sum", x, 1), x, 1)
        return spread_sum * x * broadcast_to(weight, x.shape), kept_dims(
            fold("sum", x, 1), x.shape, (1,)
        )

    graph = traced(scaled, (3, 5), (5,))
    space = find_space(graph)
    x, weight, full, kept = (*graph.inputs, *graph.outputs)
    assert axis_strides(Operand(x, (20, 4)), space) == [20, 4]
    assert axis_strides(Operand(weight, (4,)), space) == [0, 4]
    assert axis_strides(Operand(full, (20, 4)), space) == [20, 4]
    assert axis_strides(Operand(kept, (4, 4)), space) == [4, 0]
    assert not is_row(weight, space)
    assert is_row(kept, space)


def test_without_folds_the_largest_output_is_the_space():
    space = find_space(traced(lambda x: p.exp(x), (3, 5)))
    assert (space.shape, space.reduced) == ((3, 5), ())


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (fold("sum", x, 0), fold("sum", x, 1)),
        lambda x: fold("sum", fold("sum", x, 0), 0),
    ],
    ids=["two dimensions", "one after the other"],
)
def test_folds_over_different_dimensions_do_not_fit(function):
    with pytest.raises(UnsupportedGraphError, match="test: folds over different dimensions"):
        find_space(traced(function, (3, 5)))


def test_access():
    assert [access(stride, 4) for stride in (4, 0, 8, -4)] == ["unit", "zero", "any", "any"]


def test_an_extent_fits_folds_that_keep_their_dimensions():
    def mean_square(x):
        return fold("sum", x * x, 1, keepdim=True) / extent(x, 1)

    graph = traced(mean_square, (2, 3))
    assert graph.outputs[0].shape == (2, 1)
    assert walk(graph, [(12, 4), (4, 4)]) == [[(2, 12, 4)], [(3, 4, 0)]]


def test_a_fold_spread_over_the_whole_shape_runs_along_all_of_it():
    graph = traced(lambda x: spread(fold("sum", x, 1), x, 1), (2, 3))
    space = find_space(graph)
    assert axis_strides(Operand(graph.outputs[0], (12, 4)), space) == [12, 4]
    assert not is_row(graph.outputs[0], space)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda x: fold("sum", x, 1, keepdim=True) + fold("sum", x, 1),
            (
                r"test: broadcast_in_dim, a value of shape \[3, 3\], cannot be walked along "
                r"\[3, 3\]: its dimensions run along \[0, 0\]"
            ),
        ),
        (
            lambda x: x + fold("sum", x, 1),
            (
                r"test: in dimension 1 of add, a value of shape \[3, 3\], meet dimensions 0 and 1 "
                r"of \[3, 3\]"
            ),
        ),
        (
            lambda x: extent(x, 1),
            (
                r"test: result 0 of shape \[\] does not have one element for each point of "
                r"\[3, 3\] folded over \[1\]"
            ),
        ),
        (
            lambda x: (fold("sum", x, 1), extent(x, 1)),
            r"test: result 1 of shape \[\]",
        ),
    ],
    ids=["one dimension twice", "a fold beside another dimension", "a number", "a second result"],
)
def test_results_that_no_walk_fills_are_refused(function, message):
    with pytest.raises(UnsupportedGraphError, match=message):
        find_space(traced(function, (3, 3)))


@pytest.mark.parametrize(
    ("shape", "places"),
    [((2, 3), (1, 0)), ((2, 3), (0, 0)), ((2, 3), (0,)), ((2, 3), (0, 2)), ((3, 2), (0, 1))],
)
def test_operands_that_do_not_spread_are_refused(shape, places):
    with pytest.raises(RuntimeError, match=r"prims\.broadcast_in_dim: .*broadcast_dimensions"):
        traced(
            lambda x: Prim.table["broadcast_in_dim"](x, shape=shape, broadcast_dimensions=places),
            (2, 3),
        )
    x = aten.ones(2, 3)
    with pytest.raises(RuntimeError, match=r"prims\.broadcast_in_dim: .*broadcast_dimensions"):
        aten.ops.prims.broadcast_in_dim(x, shape, places)

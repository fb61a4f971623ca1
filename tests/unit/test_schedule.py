"""Graphs laid out as loops: levels of folds, values computed again or parked, row values."""

from aten._core.base.dtypes import DTYPES
from aten.backends.cpu.target import HOST
from aten.loops.pipeline import lower, prepare
from aten.ops.folding import extent, fold, spread
from aten.prims import Graph, GraphInterpreter
from aten.prims import elementwise as p

FLOAT = DTYPES["float32"]


def lowered(
    function,
    inputs=1,
    outputs=1,
    rows=(),
    reduced_rank=1,
    shape=(3, 5),
    order="row",
    buffered=False,
):
    """The text of the program for `function`, without its first line."""
    interpreter = GraphInterpreter()
    shapes = [shape[:1] if place in rows else shape for place in range(inputs)]
    values = [interpreter.input(place, FLOAT, one) for place, one in enumerate(shapes)]
    results = function(*values)
    results = results if isinstance(results, tuple) else (results,)
    graph = Graph("test", [v.payload for v in values], [r.payload for r in results])
    program = lower(
        prepare(graph),
        accesses=("unit",) * (inputs + outputs),
        row_inputs=frozenset(rows),
        reduced_rank=reduced_rank,
        order=order,
        buffered=buffered,
        costly=HOST.costly,
    )
    return [line.strip() for line in str(program).splitlines()[1:]]


def test_a_map_is_one_block():
    lines = lowered(lambda x, y: x * y + x, inputs=2, reduced_rank=0)
    assert lines == [
        "row",
        "%0: float32 = load in0",
        "%1: float32 = load in1",
        "%2: float32 = mul %0, %1",
        "%3: float32 = add %2, %0",
        "store out0, %3",
    ]


def test_folds_alternate_with_what_follows_them():
    lines = lowered(lambda x: x - spread(fold("amax", x, 1), x, 1))
    assert lines == [
        "loop",
        "%0: float32 = load in0",
        "fold %1: float32 = amax %0",
        "loop",
        "%2: float32 = load in0",
        "%3: float32 = sub %2, %1",
        "store out0, %3",
    ]


def test_folds_of_one_level_share_a_loop():
    lines = lowered(lambda x: fold("sum", x, 1) - fold("amax", x, 1))
    assert lines.count("loop") == 1
    assert lines.count("%0: float32 = load in0") == 1
    assert [line for line in lines if line.startswith("fold")] == [
        "fold %1: float32 = sum %0",
        "fold %2: float32 = amax %0",
    ]


def test_row_values_are_computed_once_per_row():
    lines = lowered(lambda x, y: x * spread(p.sqrt(y), x, 1), inputs=2, rows=(1,))
    assert lines[: lines.index("loop")] == [
        "row",
        "%0: float32 = load in1",
        "%1: float32 = sqrt %0",
    ]


def test_cheap_values_are_computed_again():
    lines = lowered(lambda x: -x / spread(fold("sum", -x, 1), x, 1))
    assert sum("= neg" in line for line in lines) == 2


def test_costly_values_rest_in_the_output_they_become():
    lines = lowered(lambda x: p.exp(x) / spread(fold("sum", p.exp(x), 1), x, 1))
    stores = [place for place, line in enumerate(lines) if line.startswith("store out0")]
    loads = [place for place, line in enumerate(lines) if line.endswith("load out0")]
    assert len(stores) == 2
    assert len(loads) == 1
    assert stores[0] < loads[0] < stores[1]
    assert sum("bitcast" in line for line in lines) == 3  # one exp, not two


def test_no_value_rests_in_an_output_of_another_type():
    def function(x):
        shifted = p.exp(x) / spread(fold("sum", p.exp(x), 1), x, 1)
        return p.convert_element_type(shifted, dtype=DTYPES["float64"])

    lines = lowered(function)
    assert not any("load out0" in line for line in lines)


def test_costly_values_of_another_type_rest_in_a_buffer_where_rows_are_short():
    def function(x):
        raised = p.exp(x)
        return p.convert_element_type(
            raised / spread(fold("sum", raised, 1), x, 1), dtype=DTYPES["float16"]
        )

    lines = lowered(function, buffered=True)
    stores = [place for place, line in enumerate(lines) if line.startswith("store buffer0")]
    loads = [place for place, line in enumerate(lines) if line.endswith("load buffer0")]
    assert (len(stores), len(loads)) == (1, 1)
    assert stores[0] < loads[0]
    assert sum("bitcast" in line for line in lines) == 3  # one exp, not two
    for options in ({}, {"buffered": True, "order": "column"}):
        assert not any("buffer" in line for line in lowered(function, **options))


def test_row_outputs_are_stored_as_soon_as_they_are_known():
    def function(x):
        mean = fold("sum", x, 1) / extent(x, 1)
        return x - spread(mean, x, 1), mean

    lines = lowered(function, outputs=2)
    assert lines.index("store out1, %3") < lines.index("%4: float32 = load in0")

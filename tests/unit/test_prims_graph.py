"""The Prims graph: sharing, identities, constants, order, text; and what values refuse."""

import math

import pytest

from aten._core.base.dtypes import DTYPES
from aten.prims import Graph, GraphInterpreter, Prim, broadcast_shapes, broadcast_to
from aten.prims import elementwise as p

FLOAT, INT, DOUBLE = DTYPES["float32"], DTYPES["int32"], DTYPES["float64"]


@pytest.fixture
def interpreter():
    return GraphInterpreter()


def inputs(interpreter, *shapes, element=FLOAT):
    return [interpreter.input(place, element, shape) for place, shape in enumerate(shapes)]


def graph_of(values, *results):
    return Graph("test", [v.payload for v in values], [r.payload for r in results])


def test_equal_expressions_are_one_node(interpreter):
    x, y = inputs(interpreter, (4,), (4,))
    assert (x + y).payload is (x + y).payload
    assert (x + y).payload is not (y + x).payload
    assert (x + 1.0).payload is (x + 1.0).payload
    one, other = p.exp(x) * y, p.exp(x) * y
    assert one.payload is other.payload


def test_constants_that_look_equal_but_are_not(interpreter):
    def constant(value, element=FLOAT):
        return interpreter.constant(value, element).payload

    assert constant(0.0) is not constant(-0.0)
    assert constant(math.nan) is constant(math.nan)
    assert constant(1.0) is constant(1)
    assert constant(1, INT) is not constant(1.0)


@pytest.mark.parametrize(
    ("value", "element", "stored"),
    [
        (300, "uint8", 44),
        (200, "int8", -56),
        (-1, "uint16", 65535),
        (2.9, "int32", 2),
        (math.inf, "uint8", 0),
        (3, "bool", True),
        (3, "float32", 3.0),
        (2, "complex64", 2 + 0j),
    ],
)
def test_constants_are_converted_as_a_machine_would(interpreter, value, element, stored):
    found = interpreter.constant(value, DTYPES[element]).payload.params["value"]
    assert (found, type(found)) == (stored, type(stored))


def test_identities(interpreter):
    (x,) = inputs(interpreter, (4,))
    assert (x * 1).payload is x.payload
    assert (1 * x).payload is x.payload
    assert (x / 1).payload is x.payload
    assert p.convert_element_type(x, dtype=FLOAT).payload is x.payload
    assert broadcast_to(x, (4,)).payload is x.payload


def test_what_is_no_identity_stays(interpreter):
    (x,) = inputs(interpreter, ())
    assert (x + 0.0).payload is not x.payload  # -0.0 + 0.0 is 0.0
    assert (x * 0.0).payload.prim == "mul"  # NaN * 0.0 is NaN
    assert (x - x).payload.prim == "sub"


def test_arithmetic_on_float64_constants_is_done_at_once(interpreter):
    two, three = (interpreter.constant(number, DOUBLE) for number in (2, 3))
    assert (two * three + two).payload.params["value"] == 8.0
    two = interpreter.constant(2, FLOAT)
    assert (two * two).payload.prim == "mul"  # rounding is the machine's


def test_nodes_come_after_their_operands(interpreter):
    x, y = inputs(interpreter, (4,), (4,))
    total = x
    for _ in range(2000):  # deeper than Python's own stack
        total = p.exp(total) + y
    order = graph_of([x, y], total).nodes()
    place = {id(node): position for position, node in enumerate(order)}
    assert len(place) == len(order)
    assert all(place[id(operand)] < place[id(n)] for n in order for operand in n.inputs)
    assert order[:2] == [x.payload, y.payload]


def test_unused_nodes_are_not_part_but_inputs_are(interpreter):
    x, y = inputs(interpreter, (4,), (4,))
    p.exp(y)
    nodes = graph_of([x, y], x + 1.0).nodes()
    assert [node.prim for node in nodes] == ["input", "input", "constant", "add"]


def test_text(interpreter):
    x, y = inputs(interpreter, (2, 3), (3,))
    assert str(graph_of([x, y], x + y * 2.0)) == (
        "graph test:\n"
        "  %0: float32[2, 3] = input(position=0)\n"
        "  %1: float32[3] = input(position=1)\n"
        "  %2: float32[3] = mul(%1, 2.0:float32)\n"
        "  %3: float32[2, 3] = broadcast_in_dim(%2, shape=(2, 3), broadcast_dimensions=(1,))\n"
        "  %4: float32[2, 3] = add(%0, %3)\n"
        "  return %4"
    )


def test_shapes_broadcast():
    assert broadcast_shapes([(2, 1, 4), (3, 1), ()]) == (2, 3, 4)
    assert broadcast_shapes([(0, 1), (1, 5)]) == (0, 5)
    with pytest.raises(RuntimeError, match=r"tensor a \(2\) must match .* tensor b \(3\)"):
        broadcast_shapes([(2,), (3,)])


def test_types_are_never_mixed_silently(interpreter):
    (x,) = inputs(interpreter, (4,))
    (n,) = inputs(interpreter, (4,), element=INT)
    with pytest.raises(TypeError, match=r"prims.add: .* one element type, got float32, int32"):
        x + n
    with pytest.raises(TypeError, match="at least one operand must be a Value"):
        p.exp(1.0)


def test_functions_cannot_branch_on_values(interpreter):
    (x,) = inputs(interpreter, ())
    with pytest.raises(TypeError, match="cannot branch on a tensor's values"):
        bool(x > 0)


def test_where_takes_its_type_from_the_branches(interpreter):
    x, y = inputs(interpreter, (4,), (4,))
    chosen = p.where(x > y, 1.0, y)
    assert (chosen.dtype, chosen.shape) == (FLOAT, (4,))


def test_no_two_prims_share_a_name():
    with pytest.raises(ValueError, match="prim 'add' is defined twice"):
        p.elementwise("add", 2, "add")
    assert all(name == prim.name for name, prim in Prim.table.items())

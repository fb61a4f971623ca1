"""Elements by index: what a graph says of addresses that are computed while a kernel runs.

A *window* is an operand as the walk meets it; an index expression moves on from there by a number
of bytes. So of `a[i, index[i, j], j]` the walk does all but the middle: the window on `a` stays
where it is along that dimension, and the offset is the index times the stride. Sizes and strides
in such expressions are *numbers*: they arrive when the kernel runs, as those of the walk do, and
one kernel serves every shape.

`element` reads, `place` writes; see `schedule` for what they become.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aten._core.base.dtypes import DTYPES, dtype
from aten.prims import Graph, Node, Prim, Value
from aten.prims import elementwise as p
from aten.prims.prim import Shape, broadcast_shapes

INT64 = DTYPES["int64"]
NUMBER = "number"


class Addressing(Prim):
    """What only compilers write: no operator binds it, and it is not in the table of primitives."""

    def __init__(self, name: str, doc: str) -> None:
        self.name = name
        self.schema = ""
        self.kind = "elementwise"
        self.result_type = _first_type
        self.result_shape = _common_shape
        self.reference = _no_reference
        self.doc = doc


def _first_type(types: Sequence[dtype], params: dict[str, Any]) -> dtype:
    return types[0]


def _common_shape(shapes: Sequence[Shape], params: dict[str, Any]) -> Shape:
    return broadcast_shapes(shapes)


def _no_reference(*arrays: Any) -> Any:
    raise NotImplementedError("addresses have no meaning without memory")


ELEMENT = Addressing("element", "What lies so many bytes behind where the walk meets a window.")
PLACE = Addressing("place", "A value that goes so many bytes behind where the walk meets it.")
ADDRESSING = {one.name: one for one in (ELEMENT, PLACE)}


def number(beside: Value, place: int) -> Value:
    """The number at `place` among those that arrive with a call, in the graph of a value."""
    node = Node(NUMBER, (), {"place": place}, INT64, ())
    return Value(beside.interpreter, node, INT64, ())


def element(window: Value, offset: Value) -> Value:
    """What lies `offset` bytes behind where the walk meets `window`, an input of the graph."""
    assert window.payload.prim == "input", window.payload.prim
    value: Value = window.interpreter.bind(ELEMENT, (window, offset), {})
    return value


def place(value: Value, offset: Value) -> Value:
    """`value` for an output, written `offset` bytes behind where the walk meets that."""
    placed: Value = value.interpreter.bind(PLACE, (value, offset), {})
    return placed


def inside(index: Value, size: Value) -> Value:
    """`index`, or the nearest place in a dimension of `size`: nothing else becomes an address."""
    index = p.convert_element_type(index, dtype=INT64)
    last = size - 1
    index = p.where(index > last, last, index)
    return p.where(index < 0, 0, index)


def from_the_end(index: Value, size: Value) -> Value:
    """`index`, of which those below zero count from the end of a dimension of `size`."""
    index = p.convert_element_type(index, dtype=INT64)
    return p.where(index < 0, index + size, index)


def is_placed(node: Node) -> bool:
    """Whether an output is written at computed addresses."""
    return node.prim == PLACE.name


def windows_of(graph: Graph) -> set[int]:
    """The places of inputs that are met at computed addresses."""
    read = [node.inputs[0] for node in graph.nodes() if node.prim == ELEMENT.name]
    return {one.params["position"] for one in read}


def indices_of(graph: Graph) -> set[int]:
    """The places of inputs of which the addresses are computed."""
    offsets = [node.inputs[1] for node in graph.nodes() if node.prim == ELEMENT.name]
    found = Graph(graph.name, (), offsets).nodes()
    return {one.params["position"] for one in found if one.prim == "input"}


def computed_inputs(node: Node) -> tuple[Node, ...]:
    """What has to be computed for a node: of a window nothing but where it is."""
    return node.inputs[1:] if node.prim == ELEMENT.name else node.inputs

"""Floor 2: the primitives, each with its meta rule and its meaning in one block."""

from aten.prims import elementwise, reductions, scans, shape
from aten.prims.graph import Graph, GraphInterpreter, Node
from aten.prims.prim import Interpreter, Number, Prim, Value, bind, broadcast_shapes, broadcast_to

__all__ = [
    "Graph",
    "GraphInterpreter",
    "Interpreter",
    "Node",
    "Number",
    "Prim",
    "Value",
    "bind",
    "broadcast_shapes",
    "broadcast_to",
    "elementwise",
    "reductions",
    "scans",
    "shape",
]

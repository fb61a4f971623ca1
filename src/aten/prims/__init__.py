"""Floor 2: the primitives, each with its meta rule and its meaning in one block."""

from aten.prims import drawing, elementwise, factorizations, reductions, scans, shape, structure
from aten.prims.graph import Graph, GraphInterpreter, Node
from aten.prims.prim import Interpreter, Number, Prim, Value, bind, broadcast_shapes, broadcast_to
from aten.prims.structural import StructuralPrim

__all__ = [
    "Graph",
    "GraphInterpreter",
    "Interpreter",
    "Node",
    "Number",
    "Prim",
    "StructuralPrim",
    "Value",
    "bind",
    "broadcast_shapes",
    "broadcast_to",
    "drawing",
    "elementwise",
    "factorizations",
    "reductions",
    "scans",
    "shape",
    "structure",
]

"""Modes that see every call of an operator, and what is made of them: decompositions."""

from aten.backends.modes import DispatchMode
from aten.transforms.decompositions import (
    Decompose,
    UndecomposedError,
    decomposition_of,
    decompositions,
    is_leaf,
)
from aten.transforms.fake_tensors import FakeTensorMode
from aten.transforms.functionalization import Functionalize, functionalize
from aten.transforms.recording import Recording, record
from aten.transforms.symbols import Guard, ShapeEnvironment, SymFloat, SymInt, sym_max, sym_min

__all__ = [
    "Decompose",
    "DispatchMode",
    "FakeTensorMode",
    "Functionalize",
    "Guard",
    "Recording",
    "ShapeEnvironment",
    "SymFloat",
    "SymInt",
    "UndecomposedError",
    "decomposition_of",
    "decompositions",
    "functionalize",
    "is_leaf",
    "record",
    "sym_max",
    "sym_min",
]

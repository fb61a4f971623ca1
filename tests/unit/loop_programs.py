"""Programs of one operand, compiled and run without a tensor."""

import ctypes

import numpy as np

from aten._core.base.dtypes import DTYPES
from aten.backends.cpu.codegen import compile_program
from aten.loops.pipeline import lower, prepare
from aten.prims import Graph, GraphInterpreter


def program_of(function, element="float32", *, lacking=(), access="unit", inputs=1):
    """The map of `function` over operands that all are walked alike."""
    interpreter = GraphInterpreter()
    values = [interpreter.input(place, DTYPES[element], ()) for place in range(inputs)]
    graph = Graph("test", [value.payload for value in values], [function(*values).payload])
    return lower(prepare(graph, lacking), accesses=(access,) * (inputs + 1))


def run(program, x, kind="float32"):
    """The results, of that type, for the elements of an array."""
    result = np.zeros(x.size, kind)
    data = (ctypes.c_void_p * 2)(x.ctypes.data, result.ctypes.data)
    steps = (ctypes.c_int64 * 2)(x.itemsize, result.itemsize)
    kernel = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p, ctypes.c_int64] * 2, *[ctypes.c_void_p] * 2)
    compiled = compile_program(program)
    kernel(compiled.address)(data, x.size, steps, 1, steps, None)
    return result

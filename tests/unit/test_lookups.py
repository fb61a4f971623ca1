"""Lookups in small tables: by permutations and by loads, in vectors of all widths and single."""

import ctypes

import numpy as np
import pytest

from aten._core.dtypes import DTYPES
from aten.backends.cpu import jit, scalar
from aten.backends.cpu.codegen import compile_program, llvm_ir
from aten.backends.cpu.jit import assembly
from aten.loops.pipeline import lower, prepare
from aten.prims import Graph, GraphInterpreter
from aten.prims import arithmetic as a

TABLES = {count: tuple(float(i * i) - 3.5 for i in range(count)) for count in (16, 32)}
LENGTHS = (1, 7, 8, 16, 31, 100, 1000)


def program(count, element, result="float32"):
    """An entry and its neighbour, by the value of an element."""
    interpreter = GraphInterpreter()
    value = interpreter.input(0, DTYPES[element], ())
    index = a.convert(value, "int32")
    found = a.lookup(TABLES[count], index) * 2.0 + a.lookup(TABLES[count], index + 1)
    graph = Graph("test", [value.payload], [a.convert(found, result).payload])
    return lower(prepare(graph), accesses=("unit", "unit"))


def run(compiled, x, result):
    y = np.empty(len(x), result)
    pointer = ctypes.c_void_p
    call = ctypes.CFUNCTYPE(
        None, pointer, ctypes.c_int64, pointer, ctypes.c_int64, pointer, pointer
    )(compiled.address)
    strides = (ctypes.c_int64 * 2)(x.itemsize, y.itemsize)
    call((pointer * 2)(x.ctypes.data, y.ctypes.data), len(x), strides, 1, strides, None)
    return y


def expected(count, x, result):
    table, index = np.array(TABLES[count], np.float32), x.astype(np.int32)
    return (table[index % count] * 2 + table[(index + 1) % count]).astype(result)


@pytest.mark.parametrize("permuted", [True, False])
@pytest.mark.parametrize("count", sorted(TABLES))
@pytest.mark.parametrize(
    ("element", "result"),
    [("float32", "float32"), ("float64", "float64"), ("int64", "float32"), ("int8", "float64")],
)
def test_entries_are_found_by_the_low_bits(monkeypatch, permuted, count, element, result):
    if not permuted:
        monkeypatch.setattr(scalar, "permutes", lambda: False)
        monkeypatch.setattr("aten.backends.cpu.lookups.permutes", lambda: False)
        monkeypatch.setattr(jit, "_loaded", {})
    compiled = compile_program(program(count, element, result))
    for length in LENGTHS:
        x = (np.arange(length) * 5 - 60).astype(np.int8).astype(element)
        np.testing.assert_array_equal(run(compiled, x, result), expected(count, x, result))


def test_permutations_where_vectors_are_long():
    if not scalar.permutes():
        pytest.skip("tables are read from memory on this processor")
    code = assembly(llvm_ir(program(32, "float32")))
    assert "vperm" in code
    assert "call" not in code

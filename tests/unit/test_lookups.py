"""Lookups in tables of constants: values, and the functions for whole vectors behind them."""

import importlib
import sys
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from loop_programs import program_of, run

import aten
from aten._core.base.dtypes import DTYPES
from aten.backends.cpu import jit
from aten.backends.cpu.codegen import llvm_ir
from aten.loops import math
from aten.loops.math import tables
from aten.loops.pipeline import lower
from aten.prims import Graph, GraphInterpreter
from aten.prims import arithmetic as a
from aten.prims import elementwise as p

INDICES = np.arange(-70, 133, dtype=np.int32)


def table_of(count, seed):
    return tuple(float(x) for x in np.random.default_rng(seed).standard_normal(count, np.float32))


def expected(table, indices):
    return np.array(table, np.float32)[indices % len(table)]


def program_for(table, dtype="int32"):
    """The element at the integer part of the operand, times 2."""

    def doubled(x):
        index = x if dtype == "int32" else p.convert_element_type(x, dtype=DTYPES["int32"])
        return p.lookup(index, table=table) * 2.0

    return program_of(doubled, dtype)


@pytest.mark.parametrize("count", [16, 32])
@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_an_index_counts_modulo_the_length(count, device):
    table = table_of(count, 0)
    found = aten.ops.prims.lookup(aten.from_numpy(INDICES).to(device), table)
    assert found.dtype is aten.float32
    np.testing.assert_array_equal(found.to("cpu").numpy(), expected(table, INDICES))


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_other_tables_and_indices_are_refused(device):
    index = aten.from_numpy(INDICES).to(device)
    for count in (0, 1, 8, 31, 64):
        with pytest.raises(ValueError, match=f"table of 16 or 32 numbers, got {count}"):
            aten.ops.prims.lookup(index, [1.0] * count)
    with pytest.raises(TypeError, match="int32 index, got int64"):
        aten.ops.prims.lookup(index.to(aten.int64), [1.0] * 16)


@pytest.mark.parametrize("shape", [(), (0,), (3,), (5, 7)])
def test_shapes_and_steps(shape):
    table = table_of(32, 1)
    whole = aten.from_numpy(INDICES)
    index = whole[: int(np.prod(shape))].reshape(shape)
    found = aten.ops.prims.lookup(index, table)
    np.testing.assert_array_equal(found.numpy(), expected(table, index.numpy()))
    found = aten.ops.prims.lookup(whole[::3], table)
    np.testing.assert_array_equal(found.numpy(), expected(table, INDICES[::3]))


@pytest.mark.parametrize("count", [16, 32])
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
@pytest.mark.parametrize("vector_bytes", [64, 32, 16])
def test_registers_of_every_size_find_the_same(count, dtype, vector_bytes, monkeypatch):
    """Each size has its own way; tables differ, so that no kernel is taken for another."""
    if jit.session().vector_bytes < vector_bytes:
        pytest.skip("this processor has no such registers")
    monkeypatch.setattr(jit.Session, "vector_bytes", vector_bytes)
    table = table_of(count, vector_bytes)
    program = program_for(table, dtype)
    assert f"_{vector_bytes // 4}(" in llvm_ir(program) or vector_bytes == 16
    assert "call" not in jit.assembly(llvm_ir(program))
    found = run(program, INDICES.astype(dtype))
    np.testing.assert_array_equal(found, expected(table, INDICES) * np.float32(2))


def test_a_loop_permutes_registers():
    if jit.session().vector_bytes < 32:
        pytest.skip("this processor permutes no registers")
    text = jit.assembly(llvm_ir(program_for(table_of(32, 2), "float32")))
    assert "vperm" in text
    assert "gather" not in text


@pytest.mark.parametrize("count", [16, 32])
def test_a_device_without_lookups_chooses_bit_by_bit(count):
    table = table_of(count, 3)
    interpreter = GraphInterpreter()
    index = interpreter.input(0, DTYPES["int32"], ())
    result = math.DECOMPOSITIONS["lookup"](index, table=table)
    graph = Graph("choices", [index.payload], [result.payload])
    assert all(node.prim != "lookup" for node in graph.nodes())
    found = run(lower(graph, accesses=("unit", "unit")), INDICES)
    np.testing.assert_array_equal(found, expected(table, INDICES))


def test_committed_steps_are_what_the_tool_finds(make_tables):
    with mp.workdps(40):
        source = "\n".join(make_tables.tables_of_steps())
    found = {}
    exec(source, found)
    for name in ("SINES", "SINE_EXCESSES", "COSINES"):
        committed = getattr(tables, name)
        assert list(map(str, committed)) == list(map(str, found[name]))  # zeros with their signs


@pytest.mark.parametrize("name", ["ERFC", "ERFINV"])
def test_committed_tables_are_what_the_tool_fits(name, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "tools"))
    monkeypatch.delitem(sys.modules, "fit_polynomials", raising=False)
    with mp.workdps(60):
        tool = importlib.import_module("fit_tables")
        assert [table.name for table in tool.TABLES] == ["ERFC", "ERFINV"]
        (table,) = (one for one in tool.TABLES if one.name == name)
        rows = getattr(tables, name)
        assert {len(row) for row in rows} == {tool.INTERVALS}
        piece = table.piece(12)
        coefficients, _ = tool.fitted_slope(piece, table.degree)
    column = [row[12] for row in rows]
    assert column == [float(number) for number in (*piece.leading, *coefficients)]


@pytest.fixture
def make_tables(monkeypatch):
    """The other tool, at its own precision."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "tools"))
    monkeypatch.delitem(sys.modules, "fit_polynomials", raising=False)
    with mp.workdps(40):
        yield importlib.import_module("make_tables")


@pytest.mark.parametrize(
    ("name", "base", "bits"),
    [("LOG", mp.e, 17), ("LOG2", mp.mpf(2), 16), ("LOG10", mp.mpf(10), 17)],
)
def test_committed_logarithms_are_what_the_tool_finds(make_tables, name, base, bits):
    inverses, logarithms = (
        getattr(tables, f"{name}_INVERSES"),
        getattr(tables, f"{name}_OF_INVERSES"),
    )
    for place in range(0, make_tables.ENTRIES, 5):
        found = make_tables.inverse_and_logarithm(place, +base, mp.mpf(2) ** -bits)
        assert (
            np.float32(found).tolist() == np.float32((inverses[place], logarithms[place])).tolist()
        )


@pytest.mark.parametrize("place", [3, 12, 24])
def test_committed_pieces_are_what_the_tool_fits(make_tables, place):
    for pieces in make_tables.PIECES:
        piece = pieces.intervals[place]
        center, value = make_tables.center_of(piece, pieces)
        terms, _ = make_tables.fit(make_tables.piece_fit(piece, center, pieces))
        rows = getattr(tables, f"{pieces.name}_TERMS")
        committed = [
            getattr(tables, f"{pieces.name}_CENTERS")[place],
            *(row[place] for row in rows),
        ]
        found = [center, value, *map(float, terms)]
        assert np.float32(found).tolist() == np.float32(committed).tolist()


@pytest.mark.parametrize("name", ["erfc", "erfinv"])
def test_functions_are_continuous_across_intervals(name):
    """All float32s around the places where an interval ends, against the function in float64."""
    ends = {
        "erfc": [((0.5625 + (i + 0.5) / 1.25) ** 0.5 - 0.75) for i in range(32)],
        "erfinv": [1.0 - 2.0**-i for i in range(1, 25)],
    }[name]
    bits = np.array(ends, np.float32).view(np.int32)[:, None] + np.arange(-40, 41)
    x = np.concatenate([bits.astype(np.int32).view(np.float32).ravel()] * 2)
    x[x.size // 2 :] *= -1
    x = x[np.abs(x) < 1] if name == "erfinv" else x
    function = getattr(aten, name)
    exact = function(aten.from_numpy(x.astype(np.float64))).numpy()
    error = np.abs(function(aten.from_numpy(x)).numpy() - exact)
    np.testing.assert_array_less(error, np.spacing(np.abs(exact).astype(np.float32)))


def test_beside_a_call_of_the_library_nothing_is_said_of_vectors(capfd):
    """A width that such a loop cannot have made LLVM complain to everybody's terminal."""
    program = program_of(lambda z: p.sin(a.abs(z)), "complex64")
    jit.session().optimized(llvm_ir(program).replace(jit.PLACEHOLDER, "kernel"))
    assert capfd.readouterr().err == ""

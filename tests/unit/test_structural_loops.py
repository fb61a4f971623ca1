"""Structural primitives as walks: what loops give is what the CPU's kernels give."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

import pytest

import aten
from aten import registry
from aten._core.base.keys import DispatchKey
from aten.backends import structural_loops, structured
from aten.loops.pipeline import lower, prepare
from aten.loops.spec import SpecError, verify
from aten.loops.structural import Window, gather, scatter

TYPES = ("float32", "float64", "int64", "int32", "uint8", "bool", "float16", "bfloat16")
LAYOUTS = {
    "rows": lambda x: x,
    "columns": lambda x: x.transpose(0, 2),
    "gaps": lambda x: x[:, ::2],
}


@cache
def over_loops(name):
    """The primitive over loops of the CPU's, and the primitive itself."""
    registry.operator(f"prims::{name}")
    backend = structured.loop_backend(DispatchKey.CPU)
    kernel = structural_loops.kernel_over_loops(name, backend)
    return kernel, registry.operator(f"prims::{name}")


def both_agree(name, *arguments, tolerance=0.0):
    kernel, prim = over_loops(name)
    found, expected = kernel(*arguments), prim(*arguments)
    assert found.dtype is expected.dtype
    assert found.shape == expected.shape
    assert aten.allclose(
        found.to(aten.complex128), expected.to(aten.complex128), rtol=tolerance, atol=tolerance
    )


def operand(element, *sizes, seed=0):
    generator = aten.Generator().manual_seed(seed)
    return (aten.rand(sizes, generator=generator) * 10).to(getattr(aten, element))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("element", [*TYPES, "complex64"])
def test_elements_by_index(element, layout):
    a = LAYOUTS[layout](operand(element, 5, 7, 4))
    for dim in range(3):
        sizes = [9 if at == dim else size for at, size in enumerate(a.shape)]
        index = aten.randint(0, a.shape[dim], sizes)
        both_agree("gather", a, index, dim)
        both_agree("gather", a, index, dim - 3)
        narrow = index if dim == 0 else index[:1, :2]
        both_agree("gather", a, narrow, dim)
        src = operand(element, *sizes, seed=1)
        both_agree("scatter", a, index, src, dim, "replace")
        both_agree("scatter", a, narrow, src, dim, "replace")


@pytest.mark.parametrize("combine", ["sum", "prod", "amax", "amin"])
@pytest.mark.parametrize("element", ["float32", "float64", "int64", "int32", "uint8"])
def test_elements_that_meet(element, combine):
    a = operand(element, 6, 5)
    for dim in (0, 1):
        sizes = [40 if at == dim else size for at, size in enumerate(a.shape)]
        index = aten.randint(0, a.shape[dim], sizes)
        src = (
            operand(element, *sizes, seed=2) / 10
            if element[:5] == "float"
            else operand(element, *sizes, seed=2)
        )
        both_agree("scatter", a, index, src, dim, combine, tolerance=1e-4)


def test_the_last_of_those_that_meet_stays_for_any_number_of_threads():
    a, count = aten.zeros(3, 1000), 5000
    index = aten.randint(0, 3, (count, 1000))
    src = aten.arange(count, dtype=aten.float32).unsqueeze(1).expand(count, 1000)
    threads = aten.get_num_threads()
    try:
        for number in (1, 4):
            aten.set_num_threads(number)
            both_agree("scatter", a, index, src, 0, "replace")
            both_agree("scatter", a.t(), index.t(), src.t(), 1, "replace")
    finally:
        aten.set_num_threads(threads)


@pytest.mark.parametrize("name", ["gather", "scatter"])
def test_indices_that_leave_the_operand(name):
    kernel, _ = over_loops(name)
    a, rest = aten.zeros(3, 2), ([0] if name == "gather" else [aten.ones(1, 2), 0, "sum"])
    for wrong in (-1, 3, 2**62):
        with pytest.raises(IndexError, match=f"index {wrong} is out of bounds"):
            kernel(a, aten.tensor([[0, wrong]]), *rest)
    # What changes after the check leads nowhere else either.
    inner = registry.operator(f"loops::{name}")
    for wrong in (-(2**63), -1, 3, 2**63 - 1):
        inner(a, aten.tensor([[0, wrong]]), *rest)


def test_no_elements():
    empty = aten.zeros(0, 3)
    none = aten.zeros(0, 3, dtype=aten.int64)
    both_agree("gather", empty, none, 0)
    both_agree("scatter", aten.ones(2, 3), none, empty, 0, "sum")
    both_agree("rev", empty, [0, 1])
    both_agree("pad", empty, 2.0, (1, 0), (0, 1), (0, 0))
    both_agree("dot_general", aten.ones(2, 0), aten.ones(0, 3), (1,), (0,), (), ())
    both_agree("gather", aten.tensor(3.0), aten.tensor(0), 0)
    both_agree("scatter", aten.tensor(3.0), aten.tensor(0), aten.tensor(4.0), 0, "sum")


@pytest.mark.parametrize("element", TYPES)
def test_what_moves(element):
    a = operand(element, 5, 7, 4)
    for one in (a, a.transpose(0, 2), a[:, ::3]):
        both_agree("rev", one, [0, 2])
        both_agree("cat", [one, one[:2], one[:0]], 0)
        both_agree("pad", one, 1, (1, 0, 2), (0, 3, -1), (0, 1, 2))
        both_agree("pad", one, 0, (-1, -2, 0), (0, 0, 3), (2, 1, 0))


@pytest.mark.parametrize("element", ["float32", "float64", "int64", "int32", "complex64"])
def test_sums_of_products(element):
    a, tolerance = operand(element, 5, 7, 4), 1e-5
    both_agree("dot_general", a, a.transpose(1, 2), (2,), (1,), (0,), (0,), tolerance=tolerance)
    both_agree("dot_general", a, a, (0, 1), (0, 1), (), (), tolerance=tolerance)
    both_agree("dot_general", a, a, (), (), (0,), (0,), tolerance=tolerance)
    both_agree("dot_general", a, a, (0, 1, 2), (0, 1, 2), (), (), tolerance=tolerance)


@pytest.mark.parametrize("element", ["float32", "float64"])
def test_windows_times_weights(element):
    image, tolerance = operand(element, 2, 4, 8, 9), 1e-5
    grouped, whole = operand(element, 6, 2, 3, 2), operand(element, 6, 4, 3, 2)
    given = ((2, 1), (1, 0), (1, 2), (1, 2), (1, 1), 2)
    both_agree("conv_general", image, grouped, *given, tolerance=tolerance)
    given = ((1, 1), (1, -1), (0, 2), (1, 2), (2, 1), 1)
    both_agree("conv_general", image, whole, *given, tolerance=tolerance)


REFUSED = {
    "gather": [
        (aten.ones(3, 2), aten.zeros(3, 3, dtype=aten.int64), 0),
        (aten.ones(3, 2), aten.zeros(4, 2, dtype=aten.int64), 1),
        (aten.ones(3, 2), aten.zeros(3, 2, dtype=aten.int64), -3),
        (aten.ones(3, 2), aten.zeros(3, dtype=aten.int64), 0),
    ],
    "scatter": [
        (aten.ones(3, 2), aten.zeros(4, 2, dtype=aten.int64), aten.ones(3, 2), 0, "sum"),
        (aten.ones(3, 2), aten.zeros(3, 3, dtype=aten.int64), aten.ones(3, 3), 0, "sum"),
        (aten.ones(3, 2), aten.zeros(3, 2, dtype=aten.int64), aten.ones(3, 2), 5, "sum"),
    ],
    "dot_general": [(aten.ones(3, 2), aten.ones(3, 4), (1,), (1,), (), ())],
    "conv_general": [
        (aten.ones(1, 2, 5), aten.ones(4, 3, 3), (1,), (0,), (0,), (1,), (1,), 1),
        (aten.ones(1, 2, 5), aten.ones(4, 2, 3), (1,), (0,), (0,), (1,), (1,), 2),
        (aten.ones(1, 2, 5), aten.ones(3, 1, 3), (1,), (0,), (0,), (1,), (1,), 2),
    ],
    "pad": [(aten.ones(3), 0, (-2,), (-2,), (0,)), (aten.ones(3), 0, (1, 1), (0,), (0,))],
    "rev": [(aten.ones(3), (1,))],
}


@pytest.mark.parametrize("name", REFUSED)
def test_operands_that_do_not_go_together(name):
    kernel, _ = over_loops(name)
    for given in REFUSED[name]:
        with pytest.raises((RuntimeError, IndexError)):
            kernel(*given)


def test_the_text_of_index_expressions():
    element = aten.float32
    a, index = Window(0, element, (9, 4), (4, 1)), Window(1, aten.int64, (5, 4), (4, 1))
    (step,) = gather(a, index, dim=0).steps
    program = lower(prepare(step.graph), accesses=("unit", "unit", "unit"))
    lines = [line.strip() for line in str(program).splitlines()]
    assert "%1: int64 = number place=0" in lines
    assert lines[-2:] == ["%11: float32 = load in0, %10", "store out0, %11"]
    assert (program.indexed, program.numbers) == ({"in0"}, 2)
    assert step.numbers == [9, 16]
    _, step = scatter(a, index, Window(2, element, (5, 4), (4, 1)), dim=0, combine="sum").steps
    assert step.serial == (0,)
    program = lower(prepare(step.graph), accesses=("unit", "unit", "zero", "zero"), reduced_rank=1)
    store = program.loops[0].instructions[-1]
    assert (store.operation, len(store.operands)) == ("store", 2)
    store.operands = (store.operands[0], store.operands[0])
    with pytest.raises(SpecError, match="type of an offset"):
        verify(program)


def test_a_device_with_a_generator_alone_moves_and_contracts():
    program = """
import aten
from aten._core.base.keys import DispatchKey
from aten.backends import structured
from aten.backends.cpu import codegen
from aten._core.tensor.construct import on_device

class Generator:
    def __call__(self, program):
        compiled = codegen.compile_program(program)
        return compiled.address, compiled
    def lacking(self):
        return codegen.lacking()

backend = structured.LoopBackend(DispatchKey.PrivateUse1, Generator())
structured.add_loop_backend(backend)
a = aten.arange(12.0).reshape(3, 4)
index = aten.tensor([[2, 0, 1, 1]])
# Its memory is the host's: the same tensors, on the other device.
x, i = (on_device(one, aten.device("privateuseone")) for one in (a, index))
prims = aten.ops.prims
for name, given, ours in (
    ("gather", (a, index, 0), (x, i, 0)),
    ("scatter", (a, index, a, 0, "sum"), (x, i, x, 0, "sum")),
    ("dot_general", (a, a, (1,), (1,), (), ()), (x, x, (1,), (1,), (), ())),
    ("rev", (a, (0, 1)), (x, (0, 1))),
    ("cat", ([a, a], 1), ([x, x], 1)),
):
    made = getattr(prims, name)(*ours)
    assert made.device.type == "privateuseone", name
    expected = getattr(prims, name)(*given)
    assert on_device(made, aten.device("cpu")).tolist() == expected.tolist(), name
print("all")
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout == "all\n", done.stderr

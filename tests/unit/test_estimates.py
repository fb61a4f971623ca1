"""Rough inverses: how rough, on every way to them."""

import numpy as np
import pytest
from loop_programs import program_of, run

import aten
from aten.backends.cpu import jit
from aten.backends.cpu.codegen import lacking, llvm_ir
from aten.backends.cpu.estimates import ESTIMATES
from aten.prims import arithmetic as a
from aten.prims import elementwise as p

EXACT = {"reciprocal_estimate": lambda x: 1 / x, "rsqrt_estimate": lambda x: 1 / np.sqrt(x)}
ENDS = {"float32": 2.0**120, "float64": 2.0**1016}
CASES = pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name in sorted(EXACT) for kind in ENDS]
)


def numbers(kind):
    """Of a length that leaves lanes over: a fourfold range of mantissas at far-off exponents."""
    scales = (1.0, 1 / ENDS[kind], ENDS[kind])
    return np.concatenate([np.linspace(one, 4 * one, 5003, dtype=kind) for one in scales])


def program_for(name, without, access="unit", kind="float32"):
    return program_of(getattr(p, name), kind, lacking=without, access=access)


def error(name, x, found):
    return np.abs(found / EXACT[name](x.astype(np.float64)) - 1).max()


def test_the_set_is_that_of_the_table():
    assert set(EXACT) == ESTIMATES


@CASES
def test_processors_estimate_to_a_few_bits(name, kind):
    x = numbers(kind)
    found = run(program_for(name, lacking(), kind=kind), x, kind)
    assert error(name, x, found) < 2.0**-14


@CASES
def test_arithmetic_estimates_as_well(name, kind):
    x, program = numbers(kind), program_for(name, ESTIMATES, kind=kind)
    assert name not in str(program)
    assert error(name, x, run(program, x, kind)) < 2.0**-14


@CASES
def test_bits_do_not_depend_on_the_lane(name, kind):
    """Whole vectors, the lanes left over and loops over strides take one instruction."""
    x = numbers(kind)
    unit, strided = (
        run(program_for(name, lacking(), access, kind), x, kind) for access in ("unit", "any")
    )
    np.testing.assert_array_equal(unit, strided)
    program = program_for(name, lacking(), kind=kind)
    alone = [run(program, x[place : place + 1], kind) for place in range(99)]
    np.testing.assert_array_equal(unit[:99], np.concatenate(alone))


def test_loops_over_narrower_numbers_take_pairs_of_registers():
    """Sixteen float32 are two registers of float64."""

    def narrowed(x):
        return a.convert(a.reciprocal_estimate(a.convert(x, "float64")), "float32")

    x = numbers("float32")
    program = program_of(narrowed, lacking=lacking())
    assert error("reciprocal_estimate", x, run(program, x)) < 2.0**-14
    if not lacking():
        assert jit.assembly(llvm_ir(program)).count("rcp14pd") >= 2


@CASES
def test_devices_of_primitives_estimate(name, kind):
    x = numbers(kind)
    found = getattr(aten.ops.prims, name)(aten.from_numpy(x).to("reference"))
    assert error(name, x, found.to("cpu").numpy()) < 2.0**-14


@pytest.mark.parametrize("name", sorted(EXACT))
def test_half_types_have_no_estimates(name):
    with pytest.raises(TypeError, match="float32 and float64"):
        getattr(aten.ops.prims, name)(aten.ones(3, dtype=aten.bfloat16))


@pytest.mark.parametrize("without", [lacking(), ESTIMATES], ids=["processor", "arithmetic"])
def test_roots_are_rounded_correctly(without):
    """Of squares and their neighbours, which are the hardest, and of any mantissa."""
    random = np.random.default_rng(0)
    roots = random.uniform(1, 2, 200_000).astype(np.float32)
    squares = roots * roots
    x = np.concatenate(
        [
            squares,
            np.nextafter(squares, np.float32(0)),
            np.nextafter(squares, np.float32(9)),
            random.uniform(1, 4, 2_000_000).astype(np.float32),
        ]
    )
    for scale in (1.0, 2.0**-102, 2.0**-100, 2.0**124):
        scaled = x * np.float32(scale)
        found = run(program_for("sqrt", without), scaled)
        np.testing.assert_array_equal(found, np.sqrt(scaled))


def test_roots_take_the_instruction():
    if ESTIMATES & lacking():
        pytest.skip("this processor estimates by arithmetic")
    text = jit.assembly(llvm_ir(program_for("rsqrt_estimate", lacking())))
    assert "rsqrt14ps" in text

"""Rough inverses: how rough, on every way to them."""

import numpy as np
import pytest
from loop_programs import program_of, run

import aten
from aten.backends.cpu import jit
from aten.backends.cpu.codegen import lacking, llvm_ir
from aten.backends.cpu.estimates import ESTIMATES
from aten.prims import elementwise as p

EXACT = {"reciprocal_estimate": lambda x: 1 / x, "rsqrt_estimate": lambda x: 1 / np.sqrt(x)}
# A length that leaves lanes over, and mantissas over a fourfold range at far-off exponents.
NUMBERS = np.concatenate(
    [np.linspace(scale, 4 * scale, 5003, dtype=np.float32) for scale in (1.0, 2.0**-120, 2.0**120)]
)


def program_for(name, without, access="unit"):
    return program_of(getattr(p, name), lacking=without, access=access)


def error(name, found):
    exact = EXACT[name](NUMBERS.astype(np.float64))
    return np.abs(found / exact - 1).max()


def test_the_set_is_that_of_the_table():
    assert set(EXACT) == ESTIMATES


@pytest.mark.parametrize("name", sorted(EXACT))
def test_processors_estimate_to_a_few_bits(name):
    found = run(program_for(name, lacking()), NUMBERS)
    assert error(name, found) < 2.0**-14


@pytest.mark.parametrize("name", sorted(EXACT))
def test_arithmetic_estimates_as_well(name):
    program = program_for(name, ESTIMATES)
    assert name not in str(program)
    assert error(name, run(program, NUMBERS)) < 2.0**-14


@pytest.mark.parametrize("name", sorted(EXACT))
def test_bits_do_not_depend_on_the_lane(name):
    """Whole vectors, the lanes left over and loops over strides take one instruction."""
    unit, strided = (
        run(program_for(name, lacking(), access), NUMBERS) for access in ("unit", "any")
    )
    np.testing.assert_array_equal(unit, strided)
    program = program_for(name, lacking())
    alone = [run(program, NUMBERS[place : place + 1]) for place in range(99)]
    np.testing.assert_array_equal(unit[:99], np.concatenate(alone))


@pytest.mark.parametrize("name", sorted(EXACT))
def test_devices_of_primitives_estimate(name):
    found = getattr(aten.ops.prims, name)(aten.from_numpy(NUMBERS).to("reference"))
    assert error(name, found.to("cpu").numpy()) < 2.0**-14


@pytest.mark.parametrize("name", sorted(EXACT))
def test_only_float32_has_estimates(name):
    with pytest.raises(TypeError, match="float32"):
        getattr(aten.ops.prims, name)(aten.ones(3, dtype=aten.float64))


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

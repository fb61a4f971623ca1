"""Running totals: rows that take turns, and running log-sums of exponentials."""

import cmath
import itertools
import math

import mpmath
import numpy
import pytest

import aten
from aten.backends.cpu.kernels.folding.accumulating import log_sums_of_exponentials


@pytest.fixture(autouse=True)
def _threads():
    before = aten.get_num_threads()
    yield
    aten.set_num_threads(before)


@pytest.mark.parametrize("rows", [0, 1, 3, 4, 5, 11])
@pytest.mark.parametrize("element", ["float32", "int64", "float16"])
def test_a_row_has_the_same_totals_whatever_is_beside_it(rows, element):
    made = numpy.random.default_rng(rows).standard_normal((2, rows, 77)) * 4
    given = aten.from_numpy(made.astype(element))
    for name in ("cumsum", "cumprod"):
        found = getattr(aten, name)(given, 2)
        for outer in range(2):
            for row in range(rows):
                alone = getattr(aten, name)(given[outer, row], 0)
                assert numpy.asarray(found[outer, row]).tobytes() == numpy.asarray(alone).tobytes()
    values, places = aten.cummax(given, 2)
    expected = numpy.maximum.accumulate(numpy.asarray(given), 2)
    assert (numpy.asarray(values) == expected).all()
    assert (numpy.take_along_axis(numpy.asarray(given), numpy.asarray(places), 2) == expected).all()


@pytest.mark.parametrize("element", ["float32", "complex64", "int16", "bfloat16", "bool"])
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_totals_do_not_depend_on_the_order_in_memory(element, order):
    """Of tensors whose neighbours lie far apart, which are copied first if they are large."""
    generator = aten.Generator().manual_seed(3)
    for shape in ((4, 5, 6), (40, 12, 33)):
        drawn = aten.randn(shape, generator=generator) * 3
        given = drawn.to(getattr(aten, element))
        back = [order.index(axis) for axis in range(3)]
        moved = given.permute(order).contiguous().permute(back)
        wide = aten.zeros(shape[0], 2 * shape[1], shape[2], dtype=given.dtype)[:, ::2]
        wide.copy_(given)
        for dim in range(3):
            for name in ("cumsum", "cumprod"):
                expected = getattr(aten, name)(given, dim)
                assert bits(getattr(aten, name)(moved, dim)) == bits(expected)
                assert bits(getattr(aten, name)(wide, dim)) == bits(expected)
            if element == "complex64":
                continue
            for made, right in zip(aten.cummax(moved, dim), aten.cummax(given, dim), strict=True):
                assert bits(made) == bits(right)
            if element != "bool":
                written = moved.clone().cumsum_(dim)
                assert bits(written) == bits(given.clone().cumsum_(dim))


def bits(tensor):
    return tensor.contiguous().view(aten.uint8).numpy().tobytes()


def test_scans_in_place():
    given = aten.ones(6, 9)
    given.cumsum_(1)
    assert given.tolist() == [[float(one) for one in range(1, 10)]] * 6


def log_sums(array, dim):
    with numpy.errstate(invalid="ignore"):
        return numpy.logaddexp.accumulate(array.astype("float64"), axis=dim)


@pytest.mark.parametrize("shape", [(5,), (40, 33), (33, 40), (3, 20, 7)])
@pytest.mark.parametrize("element", ["float32", "float64", "float16", "bfloat16"])
def test_log_sums_of_exponentials(shape, element):
    made = numpy.random.default_rng(1).standard_normal(shape) * 30
    given = aten.from_numpy(made).to(getattr(aten, element))
    exact = numpy.asarray(given.double())
    tolerance = {"float64": 1e-13, "float32": 1e-6, "float16": 1e-3, "bfloat16": 8e-3}[element]
    for dim in range(len(shape)):
        layouts = [(given, exact)]
        if len(shape) > 1:
            layouts.append((given.mT, exact.swapaxes(-1, -2)))
        for tensor, array in layouts:
            found = numpy.asarray(aten.logcumsumexp(tensor, dim).double())
            numpy.testing.assert_allclose(found, log_sums(array, dim), tolerance, tolerance)


def test_infinities_and_nan():
    none, much = -math.inf, math.inf
    for row in (
        [none, none, 1.0, none, 2.0],
        [0.0, -800.0, 800.0, 800.0],
        [1.0, much, 2.0, much, none],
        [none, math.nan, 1.0, much],
        [0.0, -40.0, -41.0],
    ):
        found = aten.logcumsumexp(aten.tensor(row, dtype=aten.float64), 0)
        expected = log_sums(numpy.array(row), 0)
        numpy.testing.assert_allclose(numpy.asarray(found), expected, 1e-15)


def defined(tensor, dim):
    """What the definition gives: each step by operators."""
    decomposed = aten.decompositions(to="core")[aten.ops.aten.logcumsumexp.default]
    return numpy.asarray(decomposed(tensor, dim))


@pytest.mark.parametrize("element", ["complex64", "complex128"])
def test_log_sums_of_complex_exponentials(element):
    source = numpy.random.default_rng(3)
    parts = source.standard_normal((2, 7, 30)) * [[[3]], [[40]]]
    given = aten.from_numpy(parts[0] + 1j * parts[1]).to(getattr(aten, element))
    tolerance = {"complex64": 1e-6, "complex128": 1e-13}[element]
    for dim in (0, 1):
        for tensor in (given, given.mT, given[::2, ::3], given.conj()):
            found = numpy.asarray(aten.logcumsumexp(tensor, dim).resolve_conj())
            expected = defined(tensor, dim)
            numpy.testing.assert_allclose(found, expected, tolerance, tolerance)


def test_complex_infinities_and_nan():
    none, much, nan = -math.inf, math.inf, math.nan
    values = [complex(x, y) for x in (none, much, nan, 0.0, 700.0) for y in (0.0, -2.0, much, nan)]
    pairs = aten.tensor([[x, y] for x in values for y in values], dtype=aten.complex128)
    numpy.testing.assert_array_equal(numpy.asarray(aten.logcumsumexp(pairs, 1)), defined(pairs, 1))


def test_complex_sums_that_nearly_cancel():
    """exp(x) + exp(y) where the second is nearly the opposite, and where 2 Re z is nearly -|z|²."""
    for x, y in ((0, math.pi + 1e-9), (0.1, math.pi * (1 + 1e-7)), (-0.7, math.acos(-0.25))):
        row = aten.tensor([0j, complex(x, y)], dtype=aten.complex128)
        with mpmath.workdps(40):
            exact = complex(mpmath.log(1 + mpmath.exp(mpmath.mpc(x, y))))
        found = aten.logcumsumexp(row, 0)[1].item() - exact
        apart = abs(complex(found.real, math.remainder(found.imag, 2 * math.pi)))
        assert apart <= 4e-15 + 1e-16 / abs(cmath.exp(exact))


def test_any_number_of_threads_finds_the_same():
    given = aten.from_numpy(numpy.random.default_rng(2).standard_normal((300, 200)))
    found = []
    for threads in (1, 4):
        aten.set_num_threads(threads)
        made = (aten.logcumsumexp(given, 0), aten.logcumsumexp(given, 1), aten.cumsum(given, 1))
        found.append([numpy.asarray(one).tobytes() for one in made])
    assert found[0] == found[1]


def test_what_is_refused():
    for given, out, dim in (
        (aten.zeros(3), aten.zeros(4), 0),
        (aten.zeros(3), aten.zeros(3), 1),
        (aten.zeros(3), aten.zeros(3, dtype=aten.float64), 0),
        (aten.zeros(3, dtype=aten.int64), aten.zeros(3, dtype=aten.int64), 0),
        (aten.zeros(3, device="meta"), aten.zeros(3), 0),
    ):
        with pytest.raises(ValueError, match="expected tensors of"):
            log_sums_of_exponentials(given, out, dim)

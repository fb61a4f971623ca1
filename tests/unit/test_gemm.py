"""Matrix products against NumPy: strides, element types, empty sizes, in-place; threads' bits."""

import itertools

import numpy
import pytest

import aten

FLOATING = ("float32", "float64", "complex64", "complex128")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
SIZES = ((2, 3, 4), (1, 5, 7), (7, 5, 1), (1, 9, 1), (8, 8, 8), (40, 33, 50), (70, 300, 90))


def random_matrix(rows, columns, element, seed=0):
    generator = numpy.random.default_rng([seed, rows, columns])
    values = generator.standard_normal((rows, columns)) * 3
    if element.startswith("complex"):
        values = values + 1j * generator.standard_normal((rows, columns))
    return values.astype(element) if element in FLOATING else values.astype("i8").astype(element)


def layouts(matrix):
    """The same matrix in memory laid out by rows, by columns, and with gaps both ways."""
    gaps = numpy.zeros((2 * matrix.shape[0], 3 * matrix.shape[1]), matrix.dtype)
    gaps[::2, ::3] = matrix
    return [matrix, numpy.asfortranarray(matrix), gaps[::2, ::3]]


def check(result, expected):
    tolerance = 1e-4 if expected.dtype in (numpy.float32, numpy.complex64) else 1e-10
    assert result.numpy().dtype == expected.dtype
    if expected.dtype.kind in "fc":
        numpy.testing.assert_allclose(result.numpy(), expected, tolerance, tolerance * 50)
    else:
        numpy.testing.assert_array_equal(result.numpy(), expected)


@pytest.mark.parametrize("element", FLOATING + INTEGERS)
@pytest.mark.parametrize("sizes", SIZES)
def test_every_layout(element, sizes):
    rows, depth, columns = sizes
    left, right = random_matrix(rows, depth, element), random_matrix(depth, columns, element, 1)
    for first, second in itertools.product(layouts(left), layouts(right)):
        check(aten.mm(aten.from_numpy(first), aten.from_numpy(second)), left @ right)


@pytest.mark.parametrize("element", ["float32", "complex64", "int32"])
@pytest.mark.parametrize("sizes", SIZES)
def test_results_go_to_any_layout(element, sizes):
    rows, depth, columns = sizes
    left, right = random_matrix(rows, depth, element), random_matrix(depth, columns, element, 1)
    for out in layouts(numpy.full((rows, columns), 7, element)):
        given = aten.from_numpy(out)
        result = aten.mm(aten.from_numpy(left), aten.from_numpy(right), out=given)
        assert result is given
        check(given, left @ right)


def test_results_may_lie_over_operands():
    values = random_matrix(30, 30, "float32")
    for expected, out in ((values @ values, lambda m: m), (values @ values, lambda m: m.t())):
        matrix = aten.from_numpy(values.copy())
        check(aten.mm(matrix, matrix, out=out(matrix)), expected)


@pytest.mark.parametrize("element", ["float32", "float64", "complex64", "int64"])
@pytest.mark.parametrize("shape", [(), (1,), (50,), (40, 1), (1, 50), (40, 50)])
def test_addends_broadcast(element, shape):
    left, right = random_matrix(40, 33, element), random_matrix(33, 50, element, 1)
    addend = random_matrix(40, 50, element, 2).ravel()[: int(numpy.prod(shape))].reshape(shape)
    result = aten.addmm(*map(aten.from_numpy, (addend, left, right)), beta=3, alpha=2)
    check(result, (3 * addend + 2 * (left @ right)).astype(element))


def test_addmm_in_place():
    left, right, addend = (random_matrix(30, 30, "float32", seed) for seed in range(3))
    for given in layouts(addend.copy()):
        target = aten.from_numpy(given)
        version = target._version
        assert target.addmm_(aten.from_numpy(left), aten.from_numpy(right), beta=0.5) is target
        check(target, (0.5 * addend + left @ right).astype("float32"))
        assert target._version == version + 1


@pytest.mark.parametrize("sizes", [(3, 0, 4), (0, 3, 4), (3, 4, 0), (0, 0, 0), (1, 0, 1)])
@pytest.mark.parametrize("element", ["float32", "complex128", "int16", "float16"])
def test_empty_sizes(sizes, element):
    rows, depth, columns = sizes
    left, right = numpy.zeros((rows, depth), element), numpy.zeros((depth, columns), element)
    addend = numpy.full((rows, columns), 2, element)
    check(aten.mm(aten.from_numpy(left), aten.from_numpy(right)), left @ right)
    tripled = aten.addmm(*map(aten.from_numpy, (addend, left, right)), beta=3)
    check(tripled, addend * numpy.asarray(3, element))


@pytest.mark.parametrize("rows", [3, 40])
@pytest.mark.parametrize("columns", [1, 3, 40])
def test_zero_beta_ignores_what_was_there(rows, columns):
    nan = numpy.full((rows, columns), numpy.nan, "float32")
    left, right = random_matrix(rows, 20, "float32"), random_matrix(20, columns, "float32")
    check(aten.addmm(*map(aten.from_numpy, (nan, left, right)), beta=0), left @ right)
    out = aten.from_numpy(nan)
    check(aten.mm(aten.from_numpy(left), aten.from_numpy(right), out=out), left @ right)


@pytest.mark.parametrize("sizes", [(3, 4, 5), (40, 33, 50), (300, 200, 280)])
def test_half_types_round_once(sizes):
    rows, depth, columns = sizes
    left = random_matrix(rows, depth, "float32").astype("float16")
    right = random_matrix(depth, columns, "float32", 1).astype("float16")
    exact = left.astype("float64") @ right.astype("float64")
    for first, second in itertools.product(layouts(left), layouts(right)):
        result = aten.mm(aten.from_numpy(first), aten.from_numpy(second)).numpy()
        assert result.dtype == numpy.float16
        numpy.testing.assert_allclose(result, exact, rtol=2**-10, atol=1e-3)


def test_every_half_survives():
    """A product with one, through float32 and back, gives each of the 65,536 bit patterns."""
    bits = numpy.arange(65536, dtype="uint16").reshape(-1, 1)
    one = numpy.ones((1, 2), "float16")
    values = bits.view("float16")
    result = aten.mm(aten.from_numpy(values), aten.from_numpy(one)).numpy()
    numpy.testing.assert_array_equal(result, numpy.broadcast_to(values, (65536, 2)))


def test_rounding_to_half_is_to_nearest_even():
    """Around the edges: subnormals, ties, overflow."""
    exponents = numpy.arange(-30, 18, dtype="float64")
    mantissas = 1 + numpy.arange(4096, dtype="float64") / 4096
    values = (mantissas[:, None] * 2.0**exponents).ravel()
    with numpy.errstate(over="ignore"):
        halves = numpy.concatenate([values, -values]).astype("float16")
    factors = numpy.array([[1.0, 0.5, 0.25, 1.5, 3.0]], "float16")
    result = aten.mm(aten.from_numpy(halves[:, None].copy()), aten.from_numpy(factors)).numpy()
    with numpy.errstate(over="ignore"):
        expected = (halves[:, None].astype("float32") * factors.astype("float32")).astype("float16")
    numpy.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    "sizes", [(600, 700, 650), (2000, 3000, 1), (1, 3000, 2000), (9, 30, 9000)]
)
@pytest.mark.parametrize("element", ["float32", "float64", "float16", "int32"])
def test_threads_do_not_change_bits(sizes, element):
    rows, depth, columns = sizes
    left = aten.from_numpy(random_matrix(rows, depth, "float32").astype(element))
    right = aten.from_numpy(random_matrix(depth, columns, "float32", 1).astype(element))
    before = aten.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 5):
            aten.set_num_threads(threads)
            results += [aten.mm(left, right).numpy().tobytes() for _ in range(2)]
    finally:
        aten.set_num_threads(before)
    assert len(set(results)) == 1


@pytest.mark.parametrize("element", [*FLOATING, "int32", "float16"])
@pytest.mark.parametrize("sizes", [(5, 2, 3, 4), (3, 40, 33, 50), (0, 2, 3, 4), (4, 1, 30, 40)])
def test_batches(element, sizes):
    batch, rows, depth, columns = sizes
    left = random_matrix(batch * rows, depth, "float32").astype(element)
    right = random_matrix(batch * depth, columns, "float32", 1).astype(element)
    left, right = left.reshape(batch, rows, depth), right.reshape(batch, depth, columns)
    expected = left @ right
    tolerance = 1e-2 if element == "float16" else 1e-4
    swapped = numpy.ascontiguousarray(left.transpose(0, 2, 1)).transpose(0, 2, 1)
    inner = numpy.ascontiguousarray(right.transpose(1, 2, 0)).transpose(2, 0, 1)
    for first, second in itertools.product((left, swapped), (right, inner)):
        result = aten.bmm(aten.from_numpy(first), aten.from_numpy(second)).numpy()
        numpy.testing.assert_allclose(result, expected, tolerance, tolerance)


def test_metadata_alone():
    left, right = aten.empty(3, 4, device="meta"), aten.empty(4, 5, device="meta")
    result = aten.mm(left, right)
    assert result.device.type == "meta"
    assert tuple(result.shape) == (3, 5)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        aten.mm(left, left)

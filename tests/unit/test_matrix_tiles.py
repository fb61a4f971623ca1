"""Products by kernels of our own against NumPy: every width of vectors, cut, packed and as dots."""

import itertools

import numpy
import pytest

import aten
from aten.backends.cpu.kernels.matrix import matrix_tiles

ELEMENTS = {"float32": 1e-4, "float64": 1e-12}
# Around tiles, vectors and the stretch of the depth; few rows, few columns, and one of either;
# right operands read in place and packed; results of many rows, whose operands are fetched ahead,
# also from rows that lie far apart; a thin product.
SHAPES = (
    (1, 1, 5),
    (1, 700, 1),
    (1, 300, 130),
    (2, 70, 9),
    (3, 0, 4),
    (7, 17, 49),
    (9, 257, 33),
    (16, 130, 70),
    (33, 40, 1),
    (70, 513, 100),
    (260, 65, 97),
    (70, 150, 300),
    (300, 300, 101),
    (261, 1030, 130),
    (600, 3, 150),
)


@pytest.fixture(params=[16, 32, 64])
def width(request):
    before = matrix_tiles.vector_bytes()
    try:
        matrix_tiles.set_vector_bytes(request.param)
    except ValueError:
        pytest.skip(f"the processor has no vectors of {request.param} bytes")
    yield request.param
    matrix_tiles.set_vector_bytes(before)


def drawn(*shape, element="float32", seed=0):
    generator = numpy.random.default_rng([seed, *shape])
    return generator.standard_normal(shape).astype(element)


def laid_out(array, layout):
    """The array as a tensor by rows, by columns, or with gaps."""
    if layout == "columns":
        return aten.from_numpy(numpy.ascontiguousarray(array.swapaxes(-1, -2))).transpose(-1, -2)
    if layout == "gaps":
        spread = numpy.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
        spread[..., ::2] = array
        return aten.from_numpy(spread)[..., ::2]
    return aten.from_numpy(array)


def assert_near(result, expected, tolerance, depth):
    bound = tolerance * (1 + depth) ** 0.5
    numpy.testing.assert_allclose(result.numpy(), expected, bound, bound)


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shapes_and_layouts(width, element, shape):
    rows, depth, columns = shape
    left, right = drawn(rows, depth, element=element), drawn(depth, columns, element=element)
    addend = drawn(rows, columns, element=element, seed=1)
    product = left.astype("float64") @ right.astype("float64")
    layouts = ("rows", "columns", "gaps")
    for first, second, third in itertools.product(layouts, layouts, layouts):
        a, b, c = laid_out(left, first), laid_out(right, second), laid_out(addend, third)
        assert_near(a.mm(b), product, ELEMENTS[element], depth)
        added = aten.addmm(c, a, b, beta=0.5, alpha=-2)
        assert_near(added, 0.5 * addend - 2 * product, 3 * ELEMENTS[element], depth)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_bias_and_vectors(width, shape):
    rows, depth, columns = shape
    left, right, bias = drawn(rows, depth), drawn(depth, columns), drawn(columns)
    product = left @ right
    a, b = aten.from_numpy(left), aten.from_numpy(right)
    assert_near(aten.addmm(aten.from_numpy(bias), a, b), product + bias, 1e-4, depth)
    assert_near(a.mv(b[:, 0]), product[:, 0], 1e-4, depth)
    assert_near(b.t().mv(a[0]), product[0], 1e-4, depth)
    assert_near(a[0].dot(b[:, 0]), product[0, 0], 1e-4, depth)


@pytest.mark.parametrize("shape", [(5, 19, 23), (1, 151, 131)])
def test_values_beside_do_not_leak_in(width, shape):
    rows, depth, columns = shape
    left, right = drawn(rows, depth), drawn(depth, columns)
    framed = numpy.full((depth + 2, columns + 17), numpy.nan, "float32")
    framed[1 : depth + 1, 3 : columns + 3] = right
    inner = aten.from_numpy(framed)[1 : depth + 1, 3 : columns + 3]
    assert_near(aten.from_numpy(left).mm(inner), left @ right, 1e-4, depth)


@pytest.mark.parametrize("shape", [(5, 19, 23), (1, 151, 131), (300, 1100, 200), (300, 3, 200)])
def test_results_stay_within_their_place(width, shape):
    rows, depth, columns = shape
    left, right = drawn(rows, depth), drawn(depth, columns)
    out = aten.full((rows + 2, columns + 9), 7.0)
    place = out[1 : rows + 1, 5 : columns + 5]
    aten.mm(aten.from_numpy(left), aten.from_numpy(right), out=place)
    assert_near(place, left @ right, 1e-4, depth)
    untouched = out.numpy().copy()
    untouched[1 : rows + 1, 5 : columns + 5] = 7
    assert (untouched == 7).all()


def test_infinities_and_nans(width):
    left, right = drawn(9, 30), drawn(30, 20)
    left[2, 3], left[4, 5], right[7, 11] = numpy.inf, numpy.nan, -numpy.inf
    for layout in ("rows", "columns"):
        result = aten.from_numpy(left).mm(laid_out(right, layout)).numpy()
        with numpy.errstate(invalid="ignore"):
            numpy.testing.assert_allclose(result, left @ right, 1e-4, 1e-4)


def test_nan_in_a_result_that_is_not_added_to(width):
    out = aten.full((3, 4), float("nan"))
    aten.addmm(out, aten.ones(3, 2), aten.ones(2, 4), beta=0, out=out)
    assert (out == 2).all()


@pytest.mark.parametrize("layout", ["rows", "columns"])
@pytest.mark.parametrize("batch", [1, 3, 400])
def test_a_matrix_does_not_depend_on_the_others(width, layout, batch):
    left, right = drawn(batch, 9, 33), drawn(batch, 33, 18)
    together = aten.from_numpy(left).bmm(laid_out(right, layout)).numpy()
    for place in {0, batch // 2, batch - 1}:
        alone = aten.from_numpy(left[place]).mm(laid_out(right[place], layout)).numpy()
        assert alone.tobytes() == together[place].tobytes()


@pytest.mark.parametrize(
    "shape",
    [(1, 3000, 700), (12, 900, 800), (600, 300, 500), (530, 1100, 300), (1, 200_000, 1)],
)
@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_threads_do_not_change_bits(width, shape, layout):
    rows, depth, columns = shape
    a, b = aten.from_numpy(drawn(rows, depth)), laid_out(drawn(depth, columns), layout)
    before = aten.get_num_threads()
    found = []
    try:
        for threads in (1, 2, 5):
            aten.set_num_threads(threads)
            found.append(a.mm(b).numpy().tobytes())
    finally:
        aten.set_num_threads(before)
    assert found[0] == found[1] == found[2]


def test_batches_in_two_levels(width):
    heads = drawn(2, 5, 3, 8)
    query = aten.from_numpy(heads).transpose(1, 2)
    given = heads.transpose(0, 2, 1, 3)
    scores = query @ query.transpose(-2, -1)
    assert scores.is_contiguous()
    assert_near(scores, given @ given.transpose(0, 1, 3, 2), 1e-4, 8)
    few = drawn(3, 8, 4)
    assert_near(query @ aten.from_numpy(few), given @ few, 1e-4, 8)


@pytest.mark.parametrize("element", ["float16", "complex64", "int32"])
def test_batches_in_two_levels_of_other_types(element):
    heads = (drawn(2, 5, 3, 8) * 3).astype(element)
    query = aten.from_numpy(heads).transpose(1, 2)
    given = heads.transpose(0, 2, 1, 3)
    expected = given @ given.transpose(0, 1, 3, 2)
    assert_near(
        query @ query.transpose(-2, -1), expected, 1e-2 if element == "float16" else 1e-4, 8
    )


def test_layers_of_any_rank(width):
    weight, bias = drawn(7, 20), drawn(7)
    linear = aten.nn.functional.linear
    for shape in ((20,), (1, 20), (3, 20), (2, 5, 20), (2, 1, 4, 20)):
        given = drawn(*shape)
        plain = linear(aten.from_numpy(given), aten.from_numpy(weight))
        moved = linear(*(aten.from_numpy(one) for one in (given, weight, bias)))
        assert plain.shape == moved.shape == (*shape[:-1], 7)
        assert_near(plain, given @ weight.T, 1e-4, 20)
        assert_near(moved, given @ weight.T + bias, 1e-4, 20)
    turned = aten.from_numpy(drawn(5, 2, 20)).transpose(0, 1)
    expected = drawn(5, 2, 20).transpose(1, 0, 2) @ weight.T
    assert_near(linear(turned, aten.from_numpy(weight)), expected, 1e-4, 20)


def test_layers_refuse_what_does_not_fit():
    weight, bias = aten.ones(7, 20), aten.ones(7)
    linear = aten.nn.functional.linear
    for given in ((aten.ones(3, 19), weight), (aten.ones(3, 20), weight, aten.ones(6))):
        with pytest.raises(RuntimeError):
            linear(*given)
    with pytest.raises(RuntimeError):
        linear(aten.ones(3, 20, dtype=aten.float64), weight, bias)


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize(
    ("rows", "depth", "columns"),
    [
        (32, 640, 48),
        (33, 641, 49),
        (45, 777, 70),
        (61, 1023, 145),
        (130, 655, 99),
        (39, 2050, 64),
        (33, 110_000, 48),
        # At least as many columns as rows: these are read as they lie, deep ones in stretches.
        (32, 512, 32),
        (90, 777, 300),
        (96, 512, 259),
        (40, 2500, 91),
        (70, 3000, 134),
        (197, 777, 300),
    ],
)
def test_dots_of_many_rows_are_those_of_few(width, element, rows, depth, columns):
    """Results that are added to, scaled or not, in rows of their own and with gaps behind them."""
    left, right = drawn(rows, depth, element=element), drawn(columns, depth, element=element)
    bias, added = drawn(columns, element=element), drawn(rows, columns, element=element, seed=1)
    left[rows // 2, 5], right[columns // 2, depth - 1] = numpy.inf, numpy.nan
    left, right, bias, added = map(aten.from_numpy, (left, right, bias, added))
    for call in (
        lambda rows, added: rows @ right.t(),
        lambda rows, added: aten.nn.functional.linear(rows, right, bias),
        lambda rows, added: aten.addmm(added, rows, right.t(), beta=0.5, alpha=3),
        lambda rows, added: aten.addmm(added[:, :1], rows, right.t()),
        lambda rows, added: aten.mm(
            rows, right.t(), out=aten.empty(len(rows), 2 * columns, dtype=rows.dtype)[:, :columns]
        ),
    ):
        found = call(left, added)
        for begin in range(0, rows, 7):
            some = call(left[begin : begin + 7], added[begin : begin + 7])
            expected = found[begin : begin + 7]
            assert aten.equal(some.nan_to_num(7.0), expected.nan_to_num(7.0))
            assert aten.equal(some.isnan(), expected.isnan())


def test_widths_a_processor_may_have():
    with pytest.raises(ValueError, match="16, 32 or 64"):
        matrix_tiles.set_vector_bytes(48)


@pytest.mark.parametrize("wide", [16, 32, 64])
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("layout", ["rows", "columns"])
@pytest.mark.parametrize(("depth", "columns"), [(7, 130), (300, 70), (515, 1100), (1030, 33)])
def test_a_row_has_its_bits_whatever_is_beside_it(wide, element, layout, depth, columns):
    """Alone and among others, in the second place and as a batch, on one thread and on all."""
    before, threads = matrix_tiles.vector_bytes(), aten.get_num_threads()
    if wide > before:
        wide = before
    try:
        matrix_tiles.set_vector_bytes(wide)
        left = aten.from_numpy(drawn(300, depth, element=element))
        right = laid_out(drawn(depth, columns, element=element, seed=1), layout)
        bias = aten.from_numpy(drawn(columns, element=element, seed=2))
        aten.set_num_threads(1)
        whole = left.mm(right)
        added = aten.addmm(bias, left, right, alpha=0.7, beta=1.3)
        aten.set_num_threads(threads)
        for count in (*range(1, 20), 33, 257, 295):
            some = left[5 : 5 + count]
            assert aten.equal(some.mm(right), whole[5 : 5 + count])
            result = aten.addmm(bias, some, right, alpha=0.7, beta=1.3)
            assert aten.equal(result, added[5 : 5 + count])
        batch = left.view(10, 30, depth).matmul(right)
        assert aten.equal(batch.view(300, columns), whole)
    finally:
        aten.set_num_threads(threads)
        matrix_tiles.set_vector_bytes(before)


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("depth", [3, 515, 1030, 70_000])
def test_a_row_times_a_vector_has_its_bits(element, depth):
    left = aten.from_numpy(drawn(9, depth, element=element))
    vector = aten.from_numpy(drawn(depth, 1, element=element, seed=1))
    whole = left.mm(vector)
    assert aten.equal(left.mv(vector[:, 0]), whole[:, 0])
    for count in range(1, 9):
        assert aten.equal(left[1 : 1 + count].mm(vector), whole[1 : 1 + count])

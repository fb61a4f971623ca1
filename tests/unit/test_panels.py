"""Products of half types, integers and complex numbers by kernels of our own, for every width of
vectors: within a bound of exact ones, integers exactly, and a row's bits whatever is beside it."""

import itertools
import math

import numpy
import pytest

import aten
from aten.backends.cpu.kernels.matrix import matrix_tiles

HALVES = {"bfloat16": 2.0**-8, "float16": 2.0**-11}
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
COMPLEX = {"complex64": 2.0**-24, "complex128": 2.0**-53}
LAYOUTS = ("rows", "columns", "gaps")
# Around tiles, units and stretches of the depth; few rows read as streams, many in blocks; no
# depth; one row, one column, one element.
SHAPES = (
    (1, 1, 1),
    (1, 1, 5),
    (1, 700, 1),
    (1, 515, 1100),
    (2, 70, 9),
    (3, 0, 4),
    (7, 17, 49),
    (16, 130, 170),
    (17, 3, 1),
    (33, 257, 1),
    (70, 513, 100),
    (270, 65, 97),
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


def drawn(element, *shape, seed=0):
    """Numbers as a tensor of that type, and as an array of the widest."""
    generator = numpy.random.default_rng([seed, *shape])
    if element in INTEGERS:
        bounds = numpy.iinfo(element)
        array = generator.integers(bounds.min, bounds.max, shape, element, endpoint=True)
        return aten.from_numpy(array), array
    array = generator.standard_normal(shape)
    if element in COMPLEX:
        array = (array + 1j * generator.standard_normal(shape)).astype(element)
        return aten.from_numpy(array), array.astype("complex128")
    tensor = aten.from_numpy(array).to(getattr(aten, element))
    return tensor, tensor.double().numpy()


def laid_out(tensor, layout):
    """The matrix by rows, by columns, or with gaps."""
    if layout == "columns":
        return tensor.t().contiguous().t()
    if layout == "gaps":
        spread = aten.zeros(tensor.shape[0], 2 * tensor.shape[1], dtype=tensor.dtype)
        spread[:, ::2] = tensor
        return spread[:, ::2]
    return tensor


def assert_within(result, exact, magnitudes, depth, element):
    """Sums of `depth` products whose magnitudes sum to `magnitudes`, and an addend among them.

    A sum of n terms in any order is off by n u / (1 - n u) times the sum of their magnitudes
    (Higham, Accuracy and Stability of Numerical Algorithms, 3.1). A part of a complex product has
    two terms for each step, and two more roundings of alpha and beta. Of three products of depth
    n the third, of sums of both parts, has twice the magnitudes at most, so the imaginary part is
    off by (n + 4) u of three times them, and both parts by (n + 4) u of √10 times them: within
    (2n + 6) u of √8 times them. Half types are summed as float32, and the result is rounded once.
    """
    unit = COMPLEX.get(element, 2.0**-24)
    terms = (2 * depth if element in COMPLEX else depth) + 6
    bound = terms * unit / (1 - terms * unit) * magnitudes
    if element in COMPLEX:
        # The reference of complex128 is off by as much; magnitudes bound those of either part.
        bound = 2 * 2**0.5 * bound
        found = result.numpy()
    else:
        bound = bound + HALVES[element] * (numpy.abs(exact) + bound)
        found = result.double().numpy()
    assert (numpy.abs(found - exact) <= bound).all()


@pytest.mark.parametrize("element", [*HALVES, *COMPLEX])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shapes_and_layouts(width, element, shape):
    rows, depth, columns = shape
    left, first = drawn(element, rows, depth)
    right, second = drawn(element, depth, columns, seed=1)
    addend, third = drawn(element, rows, columns, seed=2)
    product, magnitudes = first @ second, numpy.abs(first) @ numpy.abs(second)
    for a, b in itertools.product(LAYOUTS, LAYOUTS):
        operands = laid_out(left, a), laid_out(right, b)
        assert_within(aten.mm(*operands), product, magnitudes, depth, element)
        added = aten.addmm(laid_out(addend, a), *operands, beta=0.5, alpha=-2)
        exact = 0.5 * third - 2 * product
        assert_within(added, exact, abs(third) + 2 * magnitudes, depth, element)


@pytest.mark.parametrize("element", INTEGERS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_integers_wrap(width, element, shape):
    rows, depth, columns = shape
    left, first = drawn(element, rows, depth)
    right, second = drawn(element, depth, columns, seed=1)
    addend, third = drawn(element, rows, columns, seed=2)
    product = (first.astype("int64") @ second.astype("int64")).astype(element)
    with numpy.errstate(over="ignore"):
        sums = (3 * third.astype("int64") - 2 * product.astype("int64")).astype(element)
    for a, b in itertools.product(LAYOUTS, LAYOUTS):
        operands = laid_out(left, a), laid_out(right, b)
        assert (aten.mm(*operands).numpy() == product).all()
        added = aten.addmm(laid_out(addend, b), *operands, beta=3, alpha=-2)
        assert (added.numpy() == sums).all()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_bytes_to_integers(width, shape):
    rows, depth, columns = shape
    left, first = drawn("int8", rows, depth)
    right, second = drawn("int8", depth, columns, seed=1)
    product = first.astype("int32") @ second.astype("int32")
    for a, b in itertools.product(LAYOUTS, LAYOUTS):
        operands = laid_out(left, a), laid_out(right, b)
        result = aten._int_mm(*operands)
        assert result.dtype is aten.int32
        assert (result.numpy() == product).all()
        out = aten.empty(columns, rows, dtype=aten.int32).t()
        assert (aten._int_mm(*operands, out=out).numpy() == product).all()


# Whole vectors of columns and others, more rows and columns than a piece has, more steps than a
# stretch, and ends amid a unit.
BYTE_SHAPES = (
    (17, 4, 16),
    (40, 6, 48),
    (65, 1023, 32),
    (600, 70, 64),
    (530, 1030, 496),
    (33, 2051, 1008),
    (90, 2048, 40),
)


@pytest.mark.parametrize("shape", BYTE_SHAPES, ids=str)
def test_sums_of_bytes_lie_in_the_result(width, shape):
    rows, depth, columns = shape
    left, first = drawn("int8", rows, depth)
    right, second = drawn("int8", depth, columns, seed=1)
    product = first.astype("int32") @ second.astype("int32")
    around = aten.full((rows + 2, columns + 3), 7, dtype=aten.int32)
    for a, b in itertools.product(LAYOUTS, LAYOUTS):
        operands = laid_out(left, a), laid_out(right, b)
        assert (aten._int_mm(*operands).numpy() == product).all()
        out = around[1:-1, 2:-1]
        assert (aten._int_mm(*operands, out=out).numpy() == product).all()
        out.fill_(7)
        assert (around == 7).all()
    most = aten.full((rows, depth), -128, dtype=aten.int8)
    assert (aten._int_mm(most, most.new_full((depth, columns), -128)) == 128 * 128 * depth).all()


@pytest.mark.parametrize("element", [*HALVES, *COMPLEX])
@pytest.mark.parametrize("layout", ["rows", "columns"])
@pytest.mark.parametrize("columns", [1, 20, 1100])
def test_a_row_has_its_bits_whatever_is_beside_it(width, element, layout, columns):
    left, _ = drawn(element, 300, 515)
    right = laid_out(drawn(element, 515, columns, seed=1)[0], layout)
    threads = aten.get_num_threads()
    try:
        aten.set_num_threads(1)
        whole = aten.mm(left, right)
        aten.set_num_threads(threads)
        assert aten.equal(aten.mm(left, right), whole)
    finally:
        aten.set_num_threads(threads)
    for count in (*range(1, 19), 33, 290):
        assert aten.equal(aten.mm(left[5 : 5 + count], right), whole[5 : 5 + count])
    batches = aten.bmm(left.view(5, 60, 515), right.expand(5, 515, columns))
    assert aten.equal(batches.view(300, columns), whole)


@pytest.mark.parametrize("element", [*HALVES, "complex64"])
@pytest.mark.parametrize("shape", [(3, 40, 130), (40, 300, 70)], ids=str)
def test_values_beside_do_not_leak_in(width, element, shape):
    rows, depth, columns = shape
    left, first = drawn(element, rows, depth)
    right, second = drawn(element, depth, columns, seed=1)
    framed = aten.full((depth + 3, columns + 17), float("nan"), dtype=right.dtype)
    framed[1 : depth + 1, 3 : columns + 3] = right
    magnitudes = numpy.abs(first) @ numpy.abs(second)
    for inner in (framed, framed.t().contiguous().t()):
        inside = inner[1 : depth + 1, 3 : columns + 3]
        assert_within(aten.mm(left, inside), first @ second, magnitudes, depth, element)


@pytest.mark.parametrize("element", [*HALVES, *INTEGERS, *COMPLEX])
def test_results_stay_within_their_place(width, element):
    left, right = drawn(element, 70, 40)[0], drawn(element, 40, 60, seed=1)[0]
    out = aten.full((72, 69), 7, dtype=left.dtype)
    place = out[1:71, 5:65]
    aten.mm(left, right, out=place)
    assert aten.equal(place, aten.mm(left, right))
    place.fill_(7)
    assert bool((out == 7).all())


@pytest.mark.parametrize("element", HALVES)
@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_infinities_and_nans(width, element, layout):
    left, right = drawn(element, 20, 300)[0], drawn(element, 300, 50, seed=1)[0]
    left[2, 3], left[4, 5], right[7, 11] = float("inf"), float("nan"), float("-inf")
    result = aten.mm(left, laid_out(right, layout)).float()
    assert bool(result[4].isnan().all())
    assert bool(result[2, :11].isinf().all())
    others = [row for row in range(20) if row not in (2, 4)]
    assert bool(result[others, 11].isinf().all())
    assert bool(result[others][:, :11].isfinite().all())


@pytest.mark.parametrize("columns", [1, 16, 33, 100])
@pytest.mark.parametrize("rows", [5, 70])
@pytest.mark.parametrize("beta", [0, 1, 0.5])
def test_the_smallest_numbers_are_rounded_like_others(width, rows, columns, beta):
    """Sums are of one term, so that all there is to round is alpha * sum + beta * addend: numbers
    below the smallest normal one, which instructions of processors take for zeros."""
    left, right = (drawn("bfloat16", *shape)[0] for shape in ((rows, 1), (1, columns)))
    addends = drawn("bfloat16", rows, columns)[0] * 2.0**-125
    alpha = 2.0**-126
    for addend in (addends, addends[:, :1], addends[0], addends.t().contiguous().t()):
        sums = alpha * (left.float() * right.float()) + beta * addend.float()
        made = aten.addmm(addend, left, right, beta=beta, alpha=alpha)
        assert aten.equal(made, sums.bfloat16())
        out = aten.full((rows, 2 * columns), 7.0, dtype=aten.bfloat16)
        aten.addmm(addend, left, right, beta=beta, alpha=alpha, out=out[:, ::2])
        assert aten.equal(out[:, ::2], made)
        assert out[:, 1::2].eq(7).all()


@pytest.mark.parametrize("rows", [17, 33, 40, 100])
@pytest.mark.parametrize("columns", [80, 211, 300])
@pytest.mark.parametrize("depth", [300, 302, 530, 1100])
def test_a_large_right_operand_of_columns(width, rows, columns, depth):
    """Its columns are rows of memory, as weights are: the bits are those of operands that lie
    otherwise, by an addend of any order as well."""
    left, right = (
        drawn("bfloat16", rows, depth)[0],
        drawn("bfloat16", columns, depth, seed=1)[0].t(),
    )
    addend, _ = drawn("bfloat16", rows, columns, seed=2)
    assert aten.equal(left @ right, left @ right.contiguous())
    made = aten.addmm(addend, left, right.contiguous(), beta=0.5, alpha=3)
    for one in (addend, addend.t().contiguous().t()):
        assert aten.equal(aten.addmm(one, left, right, beta=0.5, alpha=3), made)
    made = aten.addmm(addend[0], left, right.contiguous())
    assert aten.equal(aten.addmm(addend[0], left, right), made)
    out = aten.empty(columns, rows, dtype=aten.bfloat16).t()
    assert aten.equal(aten.addmm(addend[0], left, right, out=out), made)
    made = aten.addmm(addend[:, :1], left, right.contiguous())
    assert aten.equal(aten.addmm(addend[:, :1], left, right), made)


def test_factors_give_the_same_bits_for_vectors_of_any_width_that_multiply_and_add_at_once():
    """Sums of one term are exact; what else is rounded is what a half of the result decides."""
    left, right = (drawn("bfloat16", *shape)[0] for shape in ((70, 1), (1, 500)))
    addend, _ = drawn("bfloat16", 70, 500)
    before, found = matrix_tiles.vector_bytes(), []
    if before < 32:
        pytest.skip("the processor has no such vectors")
    try:
        for size in (32, before):
            matrix_tiles.set_vector_bytes(size)
            found.append(aten.addmm(addend, left, right, beta=0.7, alpha=0.3))
            found.append(aten.addmm(addend, left, right.t().contiguous().t(), beta=0.7, alpha=0.3))
    finally:
        matrix_tiles.set_vector_bytes(before)
    assert all(aten.equal(one, found[0]) for one in found)


@pytest.mark.parametrize("rows", [5, 70])
def test_what_is_rounded_may_be_no_number(width, rows):
    left, right = (drawn("bfloat16", *shape)[0] for shape in ((rows, 1), (1, 50)))
    left[2], right[0, 7], right[0, 40] = math.inf, math.nan, 0
    made = aten.addmm(aten.zeros(50, dtype=aten.bfloat16), left, right)
    wide = left.float() * right.float()
    assert aten.equal(made.nan_to_num(3), wide.bfloat16().nan_to_num(3))
    assert aten.equal(made.isnan(), wide.isnan())


@pytest.mark.parametrize("element", COMPLEX)
@pytest.mark.parametrize("layout", ["rows", "columns"])
@pytest.mark.parametrize("rows", [3, 90])
def test_what_is_not_finite_is_that_of_four_products(width, element, layout, rows):
    left, right = drawn(element, rows, 140)[0], drawn(element, 140, 70, seed=1)[0]
    right[7] = complex(0.3, 0.3)
    right = laid_out(right, layout)
    plain = aten.mm(left, right)
    most = aten.finfo(getattr(aten, element)).max
    left[0, 3], left[-1, 5] = complex(float("inf"), 1), complex(0, float("nan"))
    # The sum of both parts overflows, the product does not.
    left[1, 7] = complex(0.7 * most, 0.7 * most)
    right[9, 11], right[60, 12] = complex(1, float("-inf")), complex(most, most)
    result = aten.mm(left, right)
    # So few columns at a time are multiplied by four products.
    four = aten.cat([aten.mm(left, some) for some in right.split(10, 1)], 1)
    parts, expected = aten.view_as_real(result), aten.view_as_real(four)
    untouched = [column for column in range(70) if column not in (11, 12)]
    assert aten.equal(parts.isfinite(), expected.isfinite())
    assert bool(parts[1, untouched].isfinite().all())
    assert aten.equal(parts[[0, 1, -1]].nan_to_num(7), expected[[0, 1, -1]].nan_to_num(7))
    assert aten.equal(parts[:, 11].nan_to_num(7), expected[:, 11].nan_to_num(7))
    assert aten.equal(result[2:-1][:, untouched], plain[2:-1][:, untouched])


# Whole vectors of complex numbers and parts of them, rows that no tile is left for, stretches of 64
# steps and what is left of one, and no depth.
@pytest.mark.parametrize("element", COMPLEX)
@pytest.mark.parametrize("rows", [1, 2, 5, 8, 21])
@pytest.mark.parametrize("columns", [1, 3, 4, 8, 13, 16, 31, 100])
@pytest.mark.parametrize("depth", [0, 1, 63, 130])
def test_complex_operands_as_they_lie_give_the_bits_of_packed_ones(
    width, element, rows, columns, depth
):
    left, right = drawn(element, rows, depth)[0], drawn(element, depth, columns, seed=1)[0]
    packed = aten.mm(left, laid_out(right, "columns"))
    framed = aten.full((depth + 1, columns + 5), float("nan"), dtype=right.dtype)
    framed[:depth, 2 : columns + 2] = right
    around = aten.full((rows, columns + 7), 7, dtype=left.dtype)
    for a in LAYOUTS:
        first = laid_out(left, a)
        assert aten.equal(aten.mm(first, right), packed)
        assert aten.equal(aten.mm(first, framed[:depth, 2 : columns + 2]), packed)
        aten.mm(first, right, out=around[:, 3 : columns + 3])
        assert aten.equal(around[:, 3 : columns + 3], packed)
        assert bool((around[:, :3] == 7).all() and (around[:, columns + 3 :] == 7).all())
    many = aten.bmm(left.expand(9, rows, depth), right.expand(9, depth, columns))
    assert aten.equal(many, packed.expand(9, rows, columns))


@pytest.mark.parametrize("element", [*HALVES, *INTEGERS, *COMPLEX])
def test_overlapping_results(width, element):
    left, right = drawn(element, 30, 30)[0], drawn(element, 30, 30, seed=1)[0]
    expected = aten.mm(left, right)
    assert aten.equal(aten.mm(left, right, out=left), expected)
    batch = drawn(element, 6, 5, 7)[0]
    others = drawn(element, 6, 7, 4, seed=1)[0]
    singles = aten.stack([aten.mm(a, b) for a, b in zip(batch, others, strict=True)])
    assert aten.equal(aten.bmm(batch, others), singles)

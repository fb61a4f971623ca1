"""Attention in blocks: beside exact weights, for every width of vectors; a row's bits whatever is
beside it; gradients beside differences."""

import math

import numpy
import pytest

import aten
from aten.backends.cpu.kernels.matrix import matrix_tiles
from aten.backends.cpu.kernels.windows.registers import suits_registers

UNITS = {"float32": 2.0**-24, "bfloat16": 2.0**-8, "float16": 2.0**-11}
# (batch, heads, heads of keys, rows, keys, width): less than a chunk and more of each kind, rows
# that make no block, widths that fill no vector, one row with many keys.
SHAPES = (
    (1, 2, 2, 5, 7, 8),
    (2, 4, 2, 3, 300, 64),
    (1, 2, 2, 300, 500, 16),
    (1, 8, 2, 1, 1000, 64),
    (1, 1, 1, 130, 241, 20),
    (2, 3, 3, 64, 64, 7),
    (1, 2, 1, 70, 70, 130),
    (1, 2, 2, 6, 200, 264),
    (1, 1, 1, 40, 33, 520),
    (1, 2, 1, 40, 1100, 24),
    (1, 2, 2, 1, 2300, 64),
)


def has_tile_registers():
    """Whether the processor has them, as kernels of convolutions tell."""
    image = aten.empty(1, 64, 28, 28, dtype=aten.bfloat16)
    weight = aten.empty(64, 64, 3, 3, dtype=aten.bfloat16)
    window = (1, 1), (1, 1), (1, 1)
    return suits_registers(image, weight, image.shape, False, *window, 1)


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
    generator = numpy.random.default_rng([seed, *shape])
    tensor = aten.from_numpy(generator.standard_normal(shape)).to(getattr(aten, element))
    return tensor, tensor.double().numpy()


def operands(element, shape):
    batch, heads, of_keys, rows, keys, size = shape
    return (
        drawn(element, batch, heads, rows, size),
        drawn(element, batch, of_keys, keys, size, seed=1),
        drawn(element, batch, of_keys, keys, size, seed=2),
    )


def exact(query, key, value, mask=None, causal=False):
    """In float64: the result, and what each of its sums is made of in magnitude."""
    group = query.shape[1] // key.shape[1]
    key, value = key.repeat(group, 1), value.repeat(group, 1)
    size = query.shape[-1]
    scores = query @ key.swapaxes(-1, -2) / math.sqrt(size)
    sums = numpy.abs(query) @ numpy.abs(key).swapaxes(-1, -2) / math.sqrt(size)
    if causal:
        mask = numpy.tri(query.shape[2], key.shape[2], dtype=bool)
    if mask is not None and mask.dtype == bool:
        scores = numpy.where(mask, scores, -numpy.inf)
    elif mask is not None:
        scores, sums = scores + mask, sums + numpy.abs(mask)
    largest = scores.max(-1, keepdims=True)
    weights = numpy.exp(scores - numpy.where(numpy.isinf(largest), 0, largest))
    total = weights.sum(-1, keepdims=True)
    weights = numpy.divide(weights, total, out=numpy.zeros_like(weights), where=total > 0)
    return weights @ value, sums.max(), weights @ numpy.abs(value)


def assert_within(result, expected, sums, magnitudes, shape, element):
    """A score is off by (E + 3) u of the sum of its magnitudes, and its weight, relatively, by
    twice that (its own and the largest's) and by 4 u of exp; sums over the keys add S u, those
    over the chunks a few; one more rounding to the type of the result. u is that of float32."""
    unit = 2.0**-24
    keys, size = shape[4], shape[5]
    relative = 2 * ((size + 3) * unit * sums + 8 * unit) + 2 * (keys + 16) * unit
    bound = 2 * relative * magnitudes
    bound = bound + UNITS[element] * (numpy.abs(expected) + bound) + 2.0**-30
    assert (numpy.abs(result.double().numpy() - expected) <= bound).all()


@pytest.mark.parametrize("element", UNITS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_beside_exact_weights(width, element, shape):
    tensors, arrays = zip(*operands(element, shape), strict=True)
    batch, heads, _, rows, keys, _ = shape
    generator = numpy.random.default_rng(5)
    hidden = generator.random((batch, 1, rows, keys)) < 0.5
    hidden[:, :, 0] = False
    added, numbers = drawn(element, heads, rows, keys, seed=3)
    variants = (
        ({}, {}),
        ({"is_causal": True}, {"causal": True}),
        ({"attn_mask": aten.from_numpy(hidden)}, {"mask": hidden}),
        ({"attn_mask": added}, {"mask": numbers}),
        ({"attn_mask": added[:1, :, :1]}, {"mask": numbers[:1, :, :1]}),
        ({"attn_mask": added[0, 0]}, {"mask": numbers[0, 0]}),
    )
    attend = aten.nn.functional.scaled_dot_product_attention
    for options, given in variants:
        result = attend(*tensors, enable_gqa=True, **options)
        assert_within(result, *exact(*arrays, **given), shape, element)


@pytest.mark.parametrize("element", UNITS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("size", [48, 64, 21, 272])
def test_a_row_has_its_bits_whatever_is_beside_it(width, element, causal, size):
    shape = (2, 4, 2, 300, 700, size)
    (query, _), (key, _), (value, _) = operands(element, shape)
    attend = aten.nn.functional.scaled_dot_product_attention
    options = {"enable_gqa": True, "is_causal": causal}
    threads = aten.get_num_threads()
    try:
        aten.set_num_threads(1)
        whole = attend(query, key, value, **options)
    finally:
        aten.set_num_threads(threads)
    assert aten.equal(attend(query, key, value, **options), whole)
    for rows in (1, 2, 3, 4, 5, 16, 63, 64, 65, 129, 257):
        assert aten.equal(attend(query[:, :, :rows], key, value, **options), whole[:, :, :rows])
    alone = attend(query[1:, 2:], key[1:, 1:], value[1:, 1:], **options)
    assert aten.equal(alone, whole[1:, 2:])
    if not causal:
        for heads in (slice(None), slice(0, 2), slice(3, 4)):
            keys = slice(0, 2) if heads == slice(None) else slice(heads.start // 2, heads.stop // 2)
            row = attend(query[:1, heads, 77:78], key[:1, keys], value[:1, keys], **options)
            assert aten.equal(row, whole[:1, heads, 77:78])


def test_strided_heads(width):
    packed, _ = drawn("float32", 2, 90, 3, 4, 24)
    query, key, value = (packed[:, :, which].transpose(1, 2) for which in range(3))
    attend = aten.nn.functional.scaled_dot_product_attention
    result = attend(query, key, value)
    assert result.stride() == query.stride() or result.transpose(1, 2).is_contiguous()
    assert aten.equal(result, attend(*(one.contiguous() for one in (query, key, value))))


@pytest.mark.parametrize("element", UNITS)
def test_infinite_values_stay_infinite(width, element):
    (query, _), (key, _), (value, _) = operands(element, (1, 1, 1, 70, 300, 32))
    attend = aten.nn.functional.scaled_dot_product_attention
    whole = attend(query, key, value)
    value[0, 0, 7, 3] = math.inf
    value[0, 0, 250, 5] = -math.inf
    result = attend(query, key, value)
    assert bool((result[..., 3] == math.inf).all())
    assert bool((result[..., 5] == -math.inf).all())
    rest = [column for column in range(32) if column not in (3, 5)]
    assert aten.equal(result[..., rest], whole[..., rest])
    for rows in (1, 2, 3, 6, 17):
        assert aten.equal(attend(query[:, :, :rows], key, value), result[:, :, :rows])


def test_infinities_and_nans(width):
    (query, _), (key, _), (value, _) = operands("float32", (1, 1, 1, 6, 600, 8))
    attend = aten.nn.functional.scaled_dot_product_attention
    query[0, 0, 1, 2] = math.nan
    result = attend(query, key, value)
    assert bool(result[0, 0, 1].isnan().all())
    assert bool(result[0, 0, [0, 2, 3, 4, 5]].isfinite().all())
    mask = aten.zeros(6, 600)
    mask[2] = -math.inf
    mask[3, 5:] = -math.inf
    result = attend(query, key, value, mask)
    assert bool((result[0, 0, 2] == 0).all())
    assert aten.allclose(
        result[:, :, 3:4], attend(query[:, :, 3:4], key[:, :, :5], value[:, :, :5])
    )


def test_one_key_gives_its_value(width):
    """Its weight is 1, and nothing is rounded."""
    (query, _), (key, _), (value, _) = operands("float32", (1, 2, 2, 9, 1, 24))
    attend = aten.nn.functional.scaled_dot_product_attention
    assert aten.equal(attend(query * 1e3, key, value), value.expand(1, 2, 9, 24))


@pytest.mark.parametrize("scale", [-0.5, 0.0, 1e-30, 3.0, 1e3])
def test_scales(width, scale):
    shape = (1, 2, 2, 70, 300, 16)
    tensors, (query, key, value) = zip(*operands("float32", shape), strict=True)
    attend = aten.nn.functional.scaled_dot_product_attention
    # What `exact` divides by is taken back.
    expected, sums, magnitudes = exact(query * (scale * 4), key, value)
    assert_within(attend(*tensors, scale=scale), expected, sums, magnitudes, shape, "float32")


def test_scores_as_large_as_numbers_go(width):
    """Whoever has the largest score gets all the weight, and no NaN comes of infinities."""
    (query, _), (key, _), (value, _) = operands("float32", (1, 1, 1, 300, 500, 8))
    query, key = query.sign() * 1e15, key.sign() * 1e15
    query[0, 0, :, 0], key[0, 0, 77] = 3e15, 0.0
    key[0, 0, 77, 0] = 3e16
    attend = aten.nn.functional.scaled_dot_product_attention
    for scale in (1.0, 1e3, 1e7):
        assert aten.equal(attend(query, key, value, scale=scale)[0, 0, 5], value[0, 0, 77])


@pytest.mark.parametrize("causal", [False, True])
def test_more_keys_than_are_kept_for_a_head(width, causal):
    (query, _), (key, _), (value, _) = operands("float32", (1, 2, 1, 300, 9000, 72))
    attend = aten.nn.functional.scaled_dot_product_attention
    options = {"enable_gqa": True, "is_causal": causal}
    whole = attend(query, key, value, **options)
    for rows in (2, 64, 130):
        assert aten.equal(attend(query[:, :, :rows], key, value, **options), whole[:, :, :rows])


@pytest.mark.parametrize("element", UNITS)
def test_bits_do_not_depend_on_the_width_of_vectors(element):
    """Of 32 and 64 bytes; those of 16 do not multiply and add with one rounding."""
    before = matrix_tiles.vector_bytes()
    if before < 64:
        pytest.skip("the processor has no vectors of 64 bytes")
    if element == "bfloat16" and has_tile_registers():
        pytest.skip("tile registers weigh values by the two parts of a weight")
    (query, _), (key, _), (value, _) = operands(element, (1, 2, 2, 70, 333, 24))
    if element == "bfloat16":
        # Its dots differ, and are not what is asked for here.
        key = key.sign()
        query = query.sign()
    found = []
    try:
        for size in (32, 64):
            matrix_tiles.set_vector_bytes(size)
            attend = aten.nn.functional.scaled_dot_product_attention
            found += [attend(query, key, value), attend(query, key, value, is_causal=True)]
    finally:
        matrix_tiles.set_vector_bytes(before)
    assert aten.equal(found[0], found[2])
    assert aten.equal(found[1], found[3])


@pytest.mark.parametrize("element", ["float32", "bfloat16"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_gradients_are_those_of_the_products(width, element, shape):
    """Beside the same function of float64, which is made of products and a softmax."""
    tensors, arrays = zip(*operands(element, shape), strict=True)
    batch, heads, _, rows, keys, size = shape
    weighing, _ = drawn(element, batch, heads, rows, size, seed=4)
    mask, numbers = drawn(element, heads, rows, keys, seed=3)
    # Scores are off by about E u of their magnitudes and gradients sum that over rows and keys,
    # both at random; bfloat16 rounds the result, and `out` before.
    tolerance = {"float32": 2e-5, "bfloat16": 3e-2}[element]
    attend = aten.nn.functional.scaled_dot_product_attention
    for causal, mine, wide in ((False, None, None), (True, None, None), (False, mask, numbers)):
        given = [one.clone().requires_grad_() for one in tensors]
        made = attend(*given, mine, is_causal=causal, enable_gqa=True)
        found = aten.autograd.grad(made, given, weighing)
        exactly = [aten.from_numpy(one).requires_grad_() for one in arrays]
        addend = None if wide is None else aten.from_numpy(wide)
        made = attend(*exactly, addend, is_causal=causal, enable_gqa=True)
        for one, other in zip(
            found, aten.autograd.grad(made, exactly, weighing.double()), strict=True
        ):
            most = max(1.0, float(other.abs().max()))
            assert float((one.double() - other).abs().max()) <= tolerance * most


@pytest.mark.parametrize("element", [*UNITS, "float64"])
@pytest.mark.parametrize("kind", ["bool", "float"])
def test_rows_that_see_nothing_have_no_gradient(element, kind):
    """Their weights are zeros, and nothing depends on what they would have been."""
    tensors = [aten.randn(1, 2, 3, 8).to(getattr(aten, element)) for _ in range(3)]
    allowed = aten.tensor([[True, False, True], [False, False, False], [True, True, True]])
    mask = allowed
    if kind == "float":
        mask = aten.zeros(3, 3, dtype=tensors[0].dtype).masked_fill(~allowed, -math.inf)
    given = [one.requires_grad_() for one in tensors]
    made = aten.nn.functional.scaled_dot_product_attention(*given, mask)
    assert made[:, :, 1].eq(0).all()
    found = aten.autograd.grad(made.sum(), given)
    assert all(one.isfinite().all() for one in found)
    assert found[0][:, :, 1].eq(0).all()


def test_second_gradients():
    query, _ = drawn("float32", 1, 2, 5, 4)
    query.requires_grad_()
    attend = aten.nn.functional.scaled_dot_product_attention
    found = []
    for one in (query, query.detach().double().requires_grad_()):
        (first,) = aten.autograd.grad(attend(one, one, one).sum(), one, create_graph=True)
        found.append(aten.autograd.grad((first * first).sum(), one)[0].double())
    assert float((found[0] - found[1]).abs().max()) < 1e-4


def test_gradients_have_the_same_bits_on_one_thread():
    (query, _), (key, _), (value, _) = operands("float32", (2, 4, 2, 100, 300, 32))
    attend = aten.nn.functional.scaled_dot_product_attention
    threads = aten.get_num_threads()
    found = []
    try:
        for count in (1, threads):
            aten.set_num_threads(count)
            given = [one.clone().requires_grad_() for one in (query, key, value)]
            made = attend(*given, enable_gqa=True)
            found.append(aten.autograd.grad(made.sum(), given))
    finally:
        aten.set_num_threads(threads)
    assert all(aten.equal(one, other) for one, other in zip(*found, strict=True))

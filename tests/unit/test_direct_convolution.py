"""Convolutions by kernels of our own against float64, for every width of vectors.

An element of a result is a sum of n products and the bias, so in whatever order it is added up it
is off by at most (n + 1) u times the sum of the terms' sizes (Higham, Accuracy and Stability of
Numerical Algorithms, section 3.1), u = eps / 2.
"""

from __future__ import annotations

import itertools
import random

import numpy
import pytest

import aten
from aten._core.memory import allocator

ELEMENTS = ("float32", "float64")


@pytest.fixture
def width(window_vectors):
    return window_vectors


@pytest.fixture
def threads():
    before = aten.get_num_threads()
    yield
    aten.set_num_threads(before)


def drawn(*shape, element="float32", seed=0):
    generator = numpy.random.default_rng([seed, *shape])
    return generator.standard_normal(shape).astype(element)


def convolved(image, weight, bias, stride, padding, dilation, groups):
    """The definition, tap by tap, in float64."""
    rank = image.ndim - 2
    image, weight = image.astype("float64"), weight.astype("float64")
    image = numpy.pad(image, [(0, 0), (0, 0), *((pad, pad) for pad in padding)])
    sizes = [
        (image.shape[dim + 2] - dilation[dim] * (weight.shape[dim + 2] - 1) - 1) // stride[dim] + 1
        for dim in range(rank)
    ]
    batch, outputs, inputs = image.shape[0], weight.shape[0], weight.shape[1]
    grouped = weight.reshape(groups, outputs // groups, inputs, *weight.shape[2:])
    result = numpy.zeros((batch, groups, outputs // groups, *sizes))
    for tap in itertools.product(*map(range, weight.shape[2:])):
        seen = image[
            (
                slice(None),
                slice(None),
                *(slice(tap[dim] * dilation[dim], None, stride[dim]) for dim in range(rank)),
            )
        ]
        seen = seen[(slice(None), slice(None), *map(slice, sizes))]
        seen = seen.reshape(batch, groups, inputs, *sizes)
        result += numpy.einsum("goi,ngi...->ngo...", grouped[(..., *tap)], seen)
    result = result.reshape(batch, outputs, *sizes)
    if bias is not None:
        result += bias.astype("float64").reshape(-1, *(1,) * rank)
    return result


def assert_near(result, image, weight, bias, window, element):
    terms = weight[0].size + 1
    size = convolved(
        *(one if one is None else numpy.abs(one) for one in (image, weight, bias)), *window
    )
    bound = terms * numpy.finfo(element).eps / 2 * size
    error = numpy.abs(result.numpy() - convolved(image, weight, bias, *window))
    # The reference rounds as well.
    assert (error <= bound + terms * 2.0**-53 * size).all(), f"{(error / bound).max():.3g}"


def check(image_shape, weight_shape, stride, padding, dilation, groups, element, seed=0):
    rank = len(image_shape) - 2
    stride, padding, dilation = (
        [one] * rank if isinstance(one, int) else list(one) for one in (stride, padding, dilation)
    )
    image = drawn(*image_shape, element=element, seed=seed)
    weight = drawn(*weight_shape, element=element, seed=seed + 1)
    bias = drawn(weight_shape[0], element=element) if seed % 2 == 0 else None
    result = aten.ops.aten.convolution(
        *(one if one is None else aten.from_numpy(one) for one in (image, weight, bias)),
        stride,
        padding,
        dilation,
        False,
        [0] * rank,
        groups,
    )
    assert_near(result, image, weight, bias, (stride, padding, dilation, groups), element)


# Around vectors, strips of three of them and tiles of eight channels; lines shorter and longer than
# a vector; stretches of the depth that end between channels and within a window.
PANELS = [
    ((1, 3, 7, 7), (8, 3, 3, 3), 1, 1, 1, 1),
    ((2, 5, 17, 19), (13, 5, 3, 3), 1, 1, 1, 1),
    ((1, 64, 14, 14), (33, 64, 3, 3), 1, 1, 1, 1),
    ((1, 300, 7, 7), (9, 300, 1, 1), 1, 0, 1, 1),
    ((1, 7, 5, 5), (3, 7, 1, 1), 1, 0, 1, 1),
    ((1, 16, 20, 23), (8, 16, 1, 1), 2, 0, 1, 1),
    ((1, 3, 40, 41), (16, 3, 7, 7), 2, 3, 1, 1),
    ((2, 6, 11, 12), (12, 3, 3, 3), 3, 2, 1, 2),
    ((1, 4, 12, 13), (7, 4, 3, 2), (2, 1), (0, 1), (1, 2), 1),
    ((1, 2, 30, 30), (5, 2, 17, 17), 1, 8, 1, 1),
    ((1, 8, 100), (24, 8, 3), 1, 1, 1, 1),
    ((1, 1, 2000), (16, 1, 10), 5, 0, 1, 1),
    ((2, 4, 5, 6, 7), (9, 4, 3, 3, 3), 1, 1, 1, 1),
    ((1, 4, 6, 7, 8), (8, 2, 2, 3, 2), (2, 1, 2), (1, 0, 1), (1, 2, 1), 2),
    ((1, 512, 3, 3), (65, 512, 1, 1), 1, 0, 1, 1),
    ((1, 2, 3, 3), (5, 2, 3, 3), 1, 40, 1, 1),
]
PLANES = [
    ((1, 3, 7, 7), (3, 1, 3, 3), 1, 1, 1, 3),
    ((2, 5, 14, 14), (5, 1, 5, 5), 1, 2, 1, 5),
    ((1, 2, 56, 57), (4, 1, 7, 7), 1, 3, 1, 2),
    ((2, 3, 29, 31), (3, 1, 3, 3), 2, 1, 1, 3),
    ((1, 3, 30, 33), (9, 1, 3, 5), (3, 2), (1, 4), (2, 3), 3),
    ((1, 2, 200, 200), (2, 1, 3, 3), 1, 1, 1, 2),
    ((1, 2, 3, 12_000), (2, 1, 3, 3), 1, 1, 1, 2),
    ((1, 2, 9, 9001), (2, 1, 5, 5), 2, 2, 1, 2),
    ((1, 2, 9, 40), (2, 1, 3, 3), 1, 1, (1, 2), 2),
    ((1, 2, 40_000), (2, 1, 31), 1, 15, 1, 2),
    ((1, 2, 3000), (2, 1, 700), 1, 350, 1, 2),
    ((1, 2, 6, 9, 10), (2, 1, 3, 3, 3), (1, 2, 1), (1, 0, 2), 1, 2),
    ((1, 2, 3, 3), (2, 1, 3, 3), 1, 50, 1, 2),
    ((1, 2, 5), (2, 1, 2), 1, 300_000, 150_000, 2),
    ((1, 1, 1, 1), (1, 1, 1, 1), 1, 0, 1, 1),
]


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("layer", PANELS + PLANES, ids=str)
def test_layers(width, layer, element):
    check(*layer, element)


def test_drawn_windows(width):
    checked = 0
    for seed in range(150):
        choose = random.Random(seed)
        rank = choose.choice((1, 2, 2, 3))
        groups, inputs, outputs = choose.choice(
            ((1, 3, 5), (1, 9, 8), (4, 1, 1), (3, 1, 2), (2, 3, 4), (2, 2, 17))
        )
        kernel = [choose.randint(1, 5) for _ in range(rank)]
        sizes = [choose.randint(1, 40 if rank < 3 else 9) for _ in range(rank)]
        stride, padding, dilation = (
            [choose.randint(low, 3) for _ in range(rank)] for low in (1, 0, 1)
        )
        reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
        if any(s + 2 * p < r for s, p, r in zip(sizes, padding, reach, strict=True)):
            continue
        image = (choose.randint(1, 3), groups * inputs, *sizes)
        weight = (groups * outputs, inputs, *kernel)
        check(image, weight, stride, padding, dilation, groups, "float32", seed)
        checked += 1
    assert checked > 100


ALIKE = [
    ((5, 16, 13, 14), (24, 16, 3, 3), 1, 1),
    ((5, 70, 7, 7), (40, 70, 1, 1), 1, 1),
    ((5, 6, 30, 31), (6, 1, 3, 3), 2, 6),
    ((3, 3, 40, 40), (32, 3, 7, 7), 2, 1),
]


@pytest.mark.parametrize("layer", ALIKE, ids=str)
def test_neither_threads_nor_other_images_change_bits(width, layer, threads):
    image_shape, weight_shape, stride, groups = layer
    image, weight = (aten.from_numpy(drawn(*one)) for one in (image_shape, weight_shape))
    results = []
    for count in (1, 2, 3):
        aten.set_num_threads(count)
        results.append(aten.conv2d(image, weight, stride=stride, padding=1, groups=groups))
    for result in results[1:]:
        assert result.numpy().tobytes() == results[0].numpy().tobytes()
    for place in range(image_shape[0]):
        alone = aten.conv2d(
            image[place : place + 1], weight, stride=stride, padding=1, groups=groups
        )
        assert alone.numpy().tobytes() == results[0][place].contiguous().numpy().tobytes()


WINDOW = ([1, 1], [1, 1], [1, 1], 1)


def test_images_that_do_not_lie_side_by_side(width):
    whole, weight = drawn(2, 8, 20, 44), drawn(6, 4, 3, 3)
    for view in (
        lambda x: x[:, ::2, 1::2, 2:39],
        lambda x: x[:, 1:5, :, ::2],
        lambda x: x[:, 4:, ::3, ::3],
        lambda x: x.transpose(2, 3)[:, :4],
    ):
        image = view(aten.from_numpy(whole))
        expected = convolved(numpy.ascontiguousarray(image.numpy()), weight, None, *WINDOW)
        result = aten.conv2d(image, aten.from_numpy(weight), padding=1)
        numpy.testing.assert_allclose(result.numpy(), expected, 1e-4, 1e-4)


def test_no_channels_and_no_images(width):
    bias = aten.from_numpy(drawn(4))
    result = aten.conv2d(aten.ones(2, 0, 5, 5), aten.ones(4, 0, 3, 3), bias)
    assert result.shape == (2, 4, 3, 3)
    assert (result == bias.reshape((1, 4, 1, 1))).all()
    assert aten.conv2d(aten.ones(0, 3, 5, 5), aten.ones(4, 3, 3, 3)).shape == (0, 4, 3, 3)


def test_what_is_outside_a_window_does_not_reach_it(width):
    """Infinities and NaN spread to the positions that see them alone."""
    image = numpy.zeros((1, 1, 20, 50), "float32")
    image[0, 0, 10, 25] = numpy.nan
    for channels, groups in ((1, 1), (8, 1)):
        result = aten.conv2d(
            aten.from_numpy(image), aten.ones(channels, 1, 3, 3), padding=1, groups=groups
        )
        seen = numpy.isnan(result.numpy())
        assert seen[:, :, 9:12, 24:27].all()
        assert seen.sum() == 9 * channels


@pytest.mark.parametrize("mode", ["end", "start"])
@pytest.mark.parametrize("side", [3, 5, 7])
def test_planes_of_every_width(width, side, mode):
    """Up to four vectors and a bit, in steps of one and two, beside guarded pages."""
    draws = random.Random(side)
    before = allocator.set_guard(mode, 0xFF)
    try:
        for columns in range(1, 70):
            for stride in (1, 2):
                padding = draws.choice([(side // 2, side // 2), (0, 0), (1, side - 1)])
                rows = draws.randrange(max(1, side - 2 * padding[0]), side + 9)
                if columns + 2 * padding[1] < side:
                    padding = (padding[0], side // 2)
                image = (1, 2, rows, columns)
                check(image, (2, 1, side, side), stride, padding, 1, 2, "float32", columns)
    finally:
        allocator.set_guard(*before)


def spread(image, weight, sizes):
    """What windows of three by three, moved by two with padding 1, saw: the definition."""
    rows, columns = image.shape[2:]
    result = numpy.zeros((*image.shape[:2], 2 * rows + 1, 2 * columns + 1))
    for y, x in itertools.product(range(3), range(3)):
        weighed = image * weight[:, 0, y, x].reshape(1, -1, 1, 1)
        result[:, :, y : y + 2 * rows : 2, x : x + 2 * columns : 2] += weighed
    return result[:, :, 1 : 1 + sizes[0], 1 : 1 + sizes[1]]


@pytest.mark.parametrize("mode", ["end", "start"])
def test_planes_are_spread_by_two(width, mode):
    """Transposed convolutions, as gradients of those by two steps are, beside guarded pages."""
    draws = random.Random(7)
    before = allocator.set_guard(mode, 0xFF)
    try:
        for columns in range(1, 70):
            rows, more = draws.randrange(1, 9), [draws.randrange(2), draws.randrange(2)]
            image = drawn(2, 3, rows, columns, seed=columns)
            weight, bias = drawn(3, 1, 3, 3, seed=columns), drawn(3, seed=columns)
            result = aten.conv_transpose2d(
                *(aten.from_numpy(one) for one in (image, weight, bias)), 2, 1, more, 3
            )
            sizes = result.shape[2:]
            assert sizes == (2 * rows - 1 + more[0], 2 * columns - 1 + more[1])
            by_channel = bias.astype("float64").reshape(1, 3, 1, 1)
            exact = spread(image.astype("float64"), weight.astype("float64"), sizes) + by_channel
            terms = spread(*(numpy.abs(one.astype("float64")) for one in (image, weight)), sizes)
            bound = 5 * numpy.finfo("float32").eps / 2 * (terms + numpy.abs(by_channel))
            assert (numpy.abs(result.numpy() - exact) <= bound).all()
    finally:
        allocator.set_guard(*before)


LAST = [
    ((2, 5, 9, 11), (13, 5, 3, 3), [1, 1], [1, 1], [1, 1], 1),
    ((1, 64, 14, 14), (50, 64, 3, 3), [1, 1], [1, 1], [1, 1], 1),
    ((2, 300, 7, 8), (65, 300, 1, 1), [1, 1], [0, 0], [1, 1], 1),
    ((5, 33, 1, 1), (70, 33, 1, 1), [1, 1], [0, 0], [1, 1], 1),
    ((1, 130, 7, 7), (200, 130, 1, 1), [1, 1], [0, 0], [1, 1], 1),
    ((2, 16, 41, 40), (24, 16, 1, 1), [1, 1], [0, 0], [1, 1], 1),
    ((1, 9, 3, 3), (5, 9, 1, 1), [1, 1], [0, 0], [1, 1], 1),
    ((1, 16, 15, 15), (8, 16, 1, 1), [2, 2], [0, 0], [1, 1], 1),
    ((1, 3, 33, 34), (17, 3, 7, 5), [2, 3], [3, 0], [2, 1], 1),
    ((1, 4, 9, 9), (6, 4, 3, 3), [1, 1], [2, 2], [2, 2], 1),
    ((2, 37, 12, 13), (37, 1, 3, 3), [1, 1], [1, 1], [1, 1], 37),
    ((1, 16, 12, 13), (16, 1, 5, 3), [2, 1], [2, 4], [1, 2], 16),
    # One channel each: edges on all sides and nothing else, runs of eight positions, of four and
    # alone, more channels than go together, windows that see padding alone.
    ((3, 24, 10, 14), (24, 1, 7, 7), [1, 1], [3, 3], [1, 1], 24),
    ((1, 300, 4, 17), (300, 1, 5, 5), [1, 1], [2, 2], [1, 1], 300),
    ((2, 71, 23, 21), (71, 1, 7, 7), [1, 1], [3, 1], [1, 1], 71),
    ((1, 16, 5, 5), (16, 1, 9, 9), [1, 1], [4, 4], [1, 1], 16),
    ((2, 9, 9, 9), (9, 1, 3, 3), [1, 1], [0, 0], [4, 4], 9),
    ((1, 130, 30, 29), (130, 1, 2, 3), [2, 3], [0, 0], [1, 1], 130),
    ((1, 5, 3, 4), (5, 1, 3, 3), [1, 2], [30, 40], [1, 1], 5),
    # More weights than image and result have elements: they stay as they lie.
    ((2, 96, 6, 6), (200, 96, 2, 2), [2, 2], [0, 0], [1, 1], 1),
    ((2, 64, 7, 7), (80, 64, 3, 3), [1, 1], [1, 1], [1, 1], 1),
    ((1, 4, 6, 6), (6, 2, 3, 3), [1, 1], [1, 1], [1, 1], 2),
    ((1, 3, 4, 4), (4, 3, 3, 3), [1, 1], [40, 40], [1, 1], 1),
]


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("layer", LAST, ids=str)
def test_channels_last(width, layer, element, threads):
    image_shape, weight_shape, stride, padding, dilation, groups = layer
    image, weight = drawn(*image_shape, element=element), drawn(*weight_shape, element=element)
    last = aten.from_numpy(image).contiguous(memory_format=aten.channels_last)
    for bias in (None, drawn(weight_shape[0], element=element)):
        found = []
        for count in (1, 2, 3):
            aten.set_num_threads(count)
            result = aten.conv2d(
                last,
                aten.from_numpy(weight),
                bias if bias is None else aten.from_numpy(bias),
                stride,
                padding,
                dilation,
                groups,
            )
            found.append(result.numpy().tobytes())
        assert found[0] == found[1] == found[2]
        assert result.is_contiguous(memory_format=aten.channels_last)
        window = (stride, padding, dilation, groups)
        assert_near(result, image, weight, bias, window, element)
        alone = aten.conv2d(
            last[-1:],
            aten.from_numpy(weight),
            bias if bias is None else aten.from_numpy(bias),
            *window,
        )
        assert alone.numpy().tobytes() == result[-1:].contiguous().numpy().tobytes()


# Few positions, so that threads share out channels of the result: whole strips and others, some
# positions left over, several stretches of channels and of taps, groups, images.
BY_CHANNELS = (
    ((1, 40, 23, 25), (96, 40, 3, 3), (2, 2), (1, 1), (1, 1), 1),
    ((1, 130, 14, 14), (70, 130, 3, 3), (2, 2), (1, 1), (1, 1), 1),
    ((2, 24, 12, 17), (128, 12, 5, 5), (1, 1), (0, 2), (2, 1), 2),
    ((1, 3, 30, 9), (130, 3, 11, 7), (2, 1), (0, 0), (1, 1), 1),
    ((1, 33, 13, 13), (64, 33, 2, 2), (1, 1), (0, 0), (1, 1), 1),
    ((1, 9, 7, 5, 6), (80, 9, 3, 3, 3), (1, 1, 1), (1, 1, 0), (1, 1, 1), 1),
)


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("layer", BY_CHANNELS, ids=str)
def test_rows_of_weights_that_threads_share(width, layer, element, threads):
    seen, weights, stride, padding, dilation, groups = layer
    image, weight = drawn(*seen, element=element), drawn(*weights, element=element, seed=1)
    bias = drawn(weights[0], element=element, seed=2)
    given = [aten.from_numpy(one) for one in (image, weight, bias)]
    rest = (stride, padding, dilation, False, [0] * len(stride), groups)
    found = []
    # Few threads make them each for itself.
    for count in (1, 2, 3, 5, 6, 8):
        aten.set_num_threads(count)
        found.append(aten.ops.aten.convolution(*given, *rest))
    assert all(aten.equal(one, found[0]) for one in found)
    exact = convolved(image, weight, bias, stride, padding, dilation, groups)
    sizes = convolved(abs(image), abs(weight), abs(bias), stride, padding, dilation, groups)
    terms = numpy.prod(weights[1:]) + 1
    bound = terms * numpy.finfo(element).eps / 2 * sizes
    assert (abs(found[0].double().numpy() - exact) <= bound).all()

"""Convolutions of bfloat16 against float64.

Sums are of float32 and rounded once: an element of n products is off by at most half a unit of
bfloat16 in its own place, and (n + 1) u times the sum of the terms' sizes, u = 2^-24 (Higham,
Accuracy and Stability of Numerical Algorithms, section 3.1).
"""

from __future__ import annotations

import itertools

import numpy
import pytest
from test_direct_convolution import convolved, drawn, threads, width  # noqa: F401

import aten

# Image, weight, stride, padding, dilation, groups: odd and even channels, few left-over positions,
# what has too few channels for pairs, and what tile registers copy and cut in every way they have.
LAYERS = [
    ((1, 64, 14, 14), (33, 64, 3, 3), 1, 1, 1, 1),
    ((2, 7, 9, 11), (13, 7, 3, 3), 1, 1, 1, 1),
    ((1, 3, 33, 34), (16, 3, 7, 7), 2, 3, 1, 1),
    ((2, 300, 7, 7), (9, 300, 1, 1), 1, 0, 1, 1),
    ((1, 600, 4, 4), (8, 600, 3, 3), 1, 1, 1, 1),
    ((1, 16, 20, 23), (8, 16, 1, 1), 2, 0, 1, 1),
    ((2, 10, 12, 13), (24, 5, 3, 2), (2, 1), (0, 1), (1, 2), 2),
    ((1, 5, 100), (24, 5, 3), 1, 1, 1, 1),
    ((2, 4, 5, 6, 7), (9, 4, 3, 3, 3), 1, 1, 1, 1),
    ((1, 2, 9, 9), (9, 2, 3, 3), 1, 1, 1, 1),
    ((2, 7, 5, 6), (9, 7, 1, 1), 1, 0, 1, 1),
    ((2, 6, 9, 9), (6, 1, 3, 3), 1, 1, 1, 6),
    ((1, 40, 17, 19), (50, 40, 3, 3), 2, 1, 1, 1),
    ((2, 33, 12, 31), (31, 33, 5, 4), (3, 2), (2, 0), (2, 3), 1),
    ((1, 3, 40, 37), (33, 3, 5, 5), 3, 2, 1, 1),
    ((2, 64, 9, 9), (64, 32, 3, 3), 1, 1, 1, 2),
    ((1, 80, 300), (96, 80, 3), 2, 1, 2, 1),
    ((1, 32, 5, 9, 8), (17, 32, 3, 3, 2), (2, 1, 2), (1, 0, 1), 1, 1),
    ((1, 65, 1, 1), (40, 65, 1, 1), 1, 0, 1, 1),
    ((1, 32, 3, 70), (48, 32, 3, 3), 1, (4, 1), (1, 1), 1),
]


def rounded(array):
    """The nearest numbers of bfloat16, as float32."""
    return aten.from_numpy(array).to(aten.bfloat16).float().numpy()


def halves(array):
    return aten.from_numpy(array).to(aten.bfloat16)


def window_of(rank, *numbers):
    return [[one] * rank if isinstance(one, int) else list(one) for one in numbers]


def assert_near(result, image, weight, bias, window):
    exact = convolved(image, weight, bias, *window)
    size = convolved(*(numpy.abs(one) for one in (image, weight, bias)), *window)
    sums = (weight[0].size + 1) * (2.0**-24 + 2.0**-53) * size
    unit = 2.0 ** (numpy.floor(numpy.log2(numpy.abs(exact) + sums + 1e-30)) - 7)
    error = numpy.abs(result.float().numpy() - exact)
    assert (error <= unit / 2 + sums).all(), f"{(error / (unit / 2 + sums)).max():.3g}"


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_layers(width, layer, threads):  # noqa: F811
    shape, weight_shape, *numbers, groups = layer
    image, weight, bias = (rounded(drawn(*one)) for one in (shape, weight_shape, weight_shape[:1]))
    rank = len(shape) - 2
    window = (*window_of(rank, *numbers), groups)
    given = [halves(one) for one in (image, weight, bias)]
    results = []
    for count in (1, 2, 3):
        aten.set_num_threads(count)
        results.append(aten.ops.aten.convolution(*given, *window[:3], False, [0] * rank, groups))
    assert results[0].dtype is aten.bfloat16
    assert_near(results[0], image, weight, bias, window)
    for result in results[1:]:
        assert (result.view(aten.int16) == results[0].view(aten.int16)).all()
    alone = aten.ops.aten.convolution(
        given[0][-1:], *given[1:], *window[:3], False, [0] * rank, groups
    )
    assert (alone.view(aten.int16) == results[0][-1:].contiguous().view(aten.int16)).all()


def test_images_that_do_not_lie_side_by_side(width):  # noqa: F811
    whole, weight = rounded(drawn(2, 8, 20, 44)), rounded(drawn(9, 4, 3, 3))
    for view in (
        lambda x: x[:, ::2, 1::2, 2:39],
        lambda x: x[:, 4:, ::3, ::3],
        lambda x: x[:, :4].contiguous(memory_format=aten.channels_last),
        lambda x: x[:, 4:, :18, :40].contiguous(memory_format=aten.channels_last),
    ):
        image = numpy.ascontiguousarray(view(aten.from_numpy(whole)).numpy())
        given = view(halves(whole))
        result = aten.conv2d(given, halves(weight), padding=1)
        assert result.is_contiguous(memory_format=aten.channels_last) == given.is_contiguous(
            memory_format=aten.channels_last
        )
        zeros = numpy.zeros(9, "float32")
        assert_near(result, image, weight, zeros, ((1, 1), (1, 1), (1, 1), 1))


@pytest.mark.parametrize(
    "layer", [layer for layer in LAYERS if len(layer[0]) == 4 and layer[0][1] > 4], ids=str
)
def test_channels_last(layer):
    shape, weight_shape, *numbers, groups = layer
    image, weight, bias = (halves(drawn(*one)) for one in (shape, weight_shape, weight_shape[:1]))
    window = (*window_of(2, *numbers), False, [0, 0], groups)
    planes = aten.ops.aten.convolution(image, weight, bias, *window)
    last = image.contiguous(memory_format=aten.channels_last)
    result = aten.ops.aten.convolution(last, weight, bias, *window)
    assert result.is_contiguous(memory_format=aten.channels_last)
    difference = (result.float() - planes.float()).abs()
    assert (difference <= 2.0**-7 * planes.float().abs() + 2.0**-7).all()


def test_a_batch_has_the_bits_of_its_images():
    """More of them than are copied at a time where channels are few: 64 bytes a position."""
    image, weight = halves(drawn(33, 3, 260, 260)), halves(drawn(8, 3, 3, 3))
    whole = aten.conv2d(image, weight, padding=1)
    for index in (0, 30, 31, 32):
        alone = aten.conv2d(image[index : index + 1], weight, padding=1)
        assert aten.equal(alone[0], whole[index])


def test_what_is_not_finite_reaches_who_sees_it(width):  # noqa: F811
    for value, place in itertools.product((numpy.nan, numpy.inf), (0, 4)):
        image = numpy.ones((1, 5, 20, 21), "float32")
        image[0, place, 10, 12] = value
        result = aten.conv2d(halves(image), aten.ones(8, 5, 3, 3, dtype=aten.bfloat16), padding=1)
        found = result.float().numpy()
        seen = numpy.zeros(found.shape, bool)
        seen[:, :, 9:12, 11:14] = True
        assert (numpy.isfinite(found) == ~seen).all()
        assert (numpy.isnan(found) == (seen & numpy.isnan(value))).all()


def test_nothing_to_see(width):  # noqa: F811
    result = aten.conv2d(
        aten.ones(2, 0, 5, 5, dtype=aten.bfloat16), aten.ones(8, 0, 3, 3, dtype=aten.bfloat16)
    )
    assert result.shape == (2, 8, 3, 3)
    assert (result == 0).all()

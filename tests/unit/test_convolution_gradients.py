"""Transposed convolutions and gradients of weights against float64, for every width of vectors.

The bounds are those of sums of so many products (see test_direct_convolution.py): n for an element
of a transposed convolution is at most the weights that an output channel has, for one of a weight's
gradient the elements that an output channel of the gradient has.
"""

from __future__ import annotations

import itertools
import random

import numpy
import pytest
from test_direct_convolution import drawn, threads, width  # noqa: F401

import aten


def transposed(image, weight, stride, padding, dilation, groups, extra):
    """The definition, tap by tap: an element of the image adds the weights to what it reaches."""
    rank = image.ndim - 2
    batch, inputs, *sizes = image.shape
    outputs = weight.shape[1]
    image = image.astype("float64").reshape(batch, groups, inputs // groups, *sizes)
    weight = weight.astype("float64").reshape(groups, inputs // groups, *weight.shape[1:])
    kernel = weight.shape[3:]
    whole = [
        (sizes[d] - 1) * stride[d] + dilation[d] * (kernel[d] - 1) + 1 + extra[d]
        for d in range(rank)
    ]
    result = numpy.zeros((batch, groups, outputs, *whole))
    for tap in itertools.product(*map(range, kernel)):
        reached = tuple(
            slice(
                tap[d] * dilation[d],
                tap[d] * dilation[d] + (sizes[d] - 1) * stride[d] + 1,
                stride[d],
            )
            for d in range(rank)
        )
        result[(slice(None), slice(None), slice(None), *reached)] += numpy.einsum(
            "gio,ngi...->ngo...", weight[(..., *tap)], image
        )
    result = result.reshape(batch, groups * outputs, *whole)
    return result[(..., *(slice(p, w - p) for p, w in zip(padding, whole, strict=True)))]


def gradient_of_weights(gradient, image, kernel, stride, padding, dilation, groups):
    """The definition, tap by tap."""
    rank = image.ndim - 2
    image, gradient = image.astype("float64"), gradient.astype("float64")
    image = numpy.pad(image, [(0, 0), (0, 0), *((pad, pad) for pad in padding)])
    batch, inputs = image.shape[:2]
    outputs, *sizes = gradient.shape[1:]
    gradient = gradient.reshape(batch, groups, outputs // groups, -1)
    result = numpy.zeros((outputs, inputs // groups, *kernel))
    for tap in itertools.product(*map(range, kernel)):
        seen = image[
            (
                slice(None),
                slice(None),
                *(slice(tap[d] * dilation[d], None, stride[d]) for d in range(rank)),
            )
        ]
        seen = seen[(slice(None), slice(None), *map(slice, sizes))]
        seen = seen.reshape(batch, groups, inputs // groups, -1)
        pairs = numpy.einsum("ngop,ngip->goi", gradient, seen)
        result[(..., *tap)] = pairs.reshape(outputs, -1)
    return result


def assert_within(result, exact, size, terms, element):
    bound = terms * (numpy.finfo(element).eps / 2 + 2.0**-53) * size
    error = numpy.abs(result.numpy() - exact)
    assert (error <= bound).all(), f"{(error / bound).max():.3g} times the bound"


def check_transposed(image_shape, weight_shape, stride, padding, dilation, groups, extra, element):
    image, weight = drawn(*image_shape, element=element), drawn(*weight_shape, element=element)
    window = (stride, padding, dilation, groups, extra)
    result = aten.ops.aten.convolution(
        aten.from_numpy(image),
        aten.from_numpy(weight),
        None,
        stride,
        padding,
        dilation,
        True,
        extra,
        groups,
    )
    exact = transposed(image, weight, *window)
    size = transposed(numpy.abs(image), numpy.abs(weight), *window)
    assert_within(result, exact, size, weight_shape[0] * weight[0, 0].size, element)


def check_gradient(image_shape, weight_shape, stride, padding, dilation, groups, element):
    rank = len(image_shape) - 2
    image, weight = drawn(*image_shape, element=element), drawn(*weight_shape, element=element)
    shape = aten.ops.aten.convolution(
        aten.from_numpy(image),
        aten.from_numpy(weight),
        None,
        stride,
        padding,
        dilation,
        False,
        [0] * rank,
        groups,
    ).shape
    gradient = drawn(*shape, element=element, seed=5)
    results = aten.ops.aten.convolution_backward(
        aten.from_numpy(gradient),
        aten.from_numpy(image),
        aten.from_numpy(weight),
        None,
        stride,
        padding,
        dilation,
        False,
        [0] * rank,
        groups,
        [False, True, False],
    )
    window = (weight_shape[2:], stride, padding, dilation, groups)
    exact = gradient_of_weights(gradient, image, *window)
    size = gradient_of_weights(numpy.abs(gradient), numpy.abs(image), *window)
    assert_within(results[1], exact, size, gradient.size // shape[1], element)


TRANSPOSED = [
    ((1, 5, 7, 9), (5, 4, 3, 3), [1, 1], [1, 1], [1, 1], 1, [0, 0]),
    ((2, 16, 9, 8), (16, 24, 2, 2), [2, 2], [0, 0], [1, 1], 1, [0, 0]),
    ((1, 6, 8, 7), (6, 4, 4, 3), [2, 3], [1, 2], [1, 2], 2, [1, 2]),
    ((2, 4, 13, 14), (4, 1, 3, 3), [2, 2], [1, 1], [1, 1], 4, [1, 1]),
    ((1, 3, 40), (3, 8, 1), [5], [0], [1], 1, [4]),
    ((1, 3, 4), (3, 2, 3), [100], [0], [1], 1, [0]),
    ((1, 3, 4, 5, 6), (3, 7, 2, 3, 2), [1, 2, 2], [0, 1, 0], [2, 1, 1], 1, [0, 0, 0]),
]
GRADIENTS = [
    ((2, 5, 7, 7), (9, 5, 3, 3), [1, 1], [1, 1], [1, 1], 1),
    ((1, 70, 6, 6), (3, 70, 1, 1), [1, 1], [0, 0], [1, 1], 1),
    ((3, 16, 30, 31), (13, 16, 3, 3), [2, 2], [1, 1], [1, 1], 1),
    ((1, 3, 120, 130), (8, 3, 7, 7), [2, 2], [3, 3], [1, 1], 1),
    ((2, 6, 20, 21), (6, 1, 5, 5), [1, 1], [2, 2], [1, 1], 6),
    ((2, 6, 12, 13), (4, 3, 3, 2), [2, 1], [3, 2], [2, 3], 2),
    ((1, 4, 9000), (6, 4, 3), [1], [1], [1], 1),
    ((2, 3, 30), (4, 3, 2), [1], [100], [150], 1),
    ((2, 4, 5, 6, 7), (6, 2, 2, 3, 2), [1, 2, 1], [1, 0, 1], [1, 1, 2], 2),
]


@pytest.mark.parametrize("element", ["float32", "float64"])
@pytest.mark.parametrize("layer", TRANSPOSED, ids=str)
def test_transposed(width, layer, element):  # noqa: F811
    check_transposed(*layer, element)


@pytest.mark.parametrize("element", ["float32", "float64"])
@pytest.mark.parametrize("layer", GRADIENTS, ids=str)
def test_gradients_of_weights(width, layer, element):  # noqa: F811
    check_gradient(*layer, element)


def test_drawn_windows(width):  # noqa: F811
    for seed in range(60):
        choose = random.Random(seed)
        rank, groups = choose.choice((1, 2, 3)), choose.choice((1, 2, 5))
        inputs, outputs = choose.randint(1, 9), choose.randint(1, 9)
        kernel, stride, dilation = ([choose.randint(1, 3) for _ in range(rank)] for _ in range(3))
        padding = [d * (k - 1) // 2 for d, k in zip(dilation, kernel, strict=True)]
        sizes = [choose.randint(5, 20 if rank < 3 else 8) for _ in range(rank)]
        image = (choose.randint(1, 3), groups * inputs, *sizes)
        window = (stride, padding, dilation, groups)
        check_transposed(image, (groups * inputs, outputs, *kernel), *window, [0] * rank, "float32")
        check_gradient(image, (groups * outputs, inputs, *kernel), *window, "float32")


def test_neither_threads_nor_other_images_change_bits(width, threads):  # noqa: F811
    for groups, stride in ((1, 1), (1, 2), (8, 1), (8, 2)):
        image = aten.from_numpy(drawn(4, 8, 25, 26))
        weight = aten.from_numpy(drawn(24, 8 // groups, 3, 3))
        turned = aten.from_numpy(drawn(8, 24 // groups, 3, 3))
        gradient = aten.ones_like(aten.conv2d(image, weight, stride=stride, groups=groups))
        found = []
        for count in (1, 2, 3):
            aten.set_num_threads(count)
            spread = aten.conv_transpose2d(image, turned, stride=stride, groups=groups)
            made = aten.ops.aten.convolution_backward(
                gradient,
                image,
                weight,
                None,
                [stride] * 2,
                [0, 0],
                [1, 1],
                False,
                [0, 0],
                groups,
                [True, True, False],
            )
            found.append([one.numpy().tobytes() for one in (spread, made[0], made[1])])
        assert found[0] == found[1] == found[2]
        alone = aten.conv_transpose2d(image[2:3], turned, stride=stride, groups=groups)
        assert alone.numpy().tobytes() == spread[2].contiguous().numpy().tobytes()


def test_infinities_reach_only_the_taps_that_see_them(width):  # noqa: F811
    image = numpy.ones((1, 1, 9, 20), "float32")
    image[0, 0, 0, 0] = numpy.inf
    results = aten.ops.aten.convolution_backward(
        aten.ones(1, 1, 9, 20),
        aten.from_numpy(image),
        aten.ones(1, 1, 3, 3),
        None,
        [1, 1],
        [1, 1],
        [1, 1],
        False,
        [0, 0],
        1,
        [False, True, False],
    )
    expected = numpy.isinf(results[1].numpy())
    # The upper left element is seen by the taps of the window's lower right alone.
    assert expected[0, 0, :2, :2].all()
    assert expected.sum() == 4
    assert not numpy.isnan(results[1].numpy()).any()

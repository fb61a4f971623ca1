"""Transposed convolutions whose windows are as large as their steps against float64, for every
width of vectors.

An element of the result is a sum of as many products as channels are seen, and a bias; the bound is
that of such sums (see test_direct_convolution.py).
"""

from __future__ import annotations

import numpy
import pytest
from test_convolution_gradients import assert_within, transposed
from test_direct_convolution import drawn, threads, width  # noqa: F401

import aten

# Image, channels of the result for a group, window, groups: around vectors, strips and pieces of
# them; lines cut by pieces; few positions and many channels; windows of a line, of planes and of
# one element along some dimension.
LAYERS = [
    ((1, 16, 9, 8), 24, (2, 2), 1),
    ((2, 24, 7, 7), 33, (2, 2), 1),
    ((1, 130, 16, 15), 40, (2, 2), 1),
    ((1, 8, 30, 100), 3, (2, 2), 1),
    ((3, 40, 5, 6), 7, (3, 4), 2),
    ((2, 9, 6, 11), 3, (16, 16), 1),
    ((1, 32, 14, 13), 17, (1, 2), 4),
    ((1, 32, 14, 13), 17, (2, 1), 1),
    ((2, 20, 401), 6, (2,), 1),
    ((1, 300, 33), 70, (5,), 2),
    ((1, 16, 3, 4, 6), 5, (2, 2, 2), 1),
    ((2, 18, 3, 5, 4), 4, (3, 1, 2), 2),
]


def run(image, weight, bias, groups):
    window = list(weight.shape[2:])
    rank = len(window)
    none = [0] * rank
    return aten.ops.aten.convolution(
        image, weight, bias, window, none, [1] * rank, True, none, groups
    )


@pytest.mark.parametrize("element", ["float32", "float64"])
@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_layers(width, layer, element, threads):  # noqa: F811
    shape, outputs, window, groups = layer
    image = drawn(*shape, element=element)
    weight = drawn(shape[1], outputs, *window, element=element, seed=1)
    bias = drawn(outputs * groups, element=element, seed=2)
    given = [aten.from_numpy(one) for one in (image, weight, bias)]
    results = []
    for count in (1, 2, 3):
        aten.set_num_threads(count)
        results.append(run(*given, groups))
    rank = len(window)
    rest = (window, [0] * rank, [1] * rank, groups, [0] * rank)
    placed = bias.astype("float64").reshape(-1, *(1,) * rank)
    exact = transposed(image, weight, *rest) + placed
    size = transposed(numpy.abs(image), numpy.abs(weight), *rest) + numpy.abs(placed)
    assert_within(results[0], exact, size, shape[1] // groups + 2, element)
    for result in results[1:]:
        assert result.numpy().tobytes() == results[0].numpy().tobytes()
    alone = run(given[0][-1:], *given[1:], groups)
    assert alone.numpy().tobytes() == results[0][-1:].contiguous().numpy().tobytes()


@pytest.mark.parametrize("view", ["every other", "turned", "one number"])
def test_images_that_are_views(width, view):  # noqa: F811
    whole = aten.from_numpy(drawn(2, 16, 12, 18))
    image = {
        "every other": whole[:, :, ::2, ::3],
        "turned": whole.transpose(2, 3),
        "one number": whole[:1, :1, :1, :1].expand(2, 16, 6, 7),
    }[view]
    weight = aten.from_numpy(drawn(16, 20, 2, 2))
    results = [run(one, weight, None, 1).numpy() for one in (image, image.contiguous())]
    assert results[0].tobytes() == results[1].tobytes()


def test_small_integers_come_out_exactly(width):  # noqa: F811
    generator = numpy.random.default_rng(0)
    image = generator.integers(-8, 9, (2, 40, 7, 19)).astype("float32")
    weight = generator.integers(-8, 9, (40, 24, 2, 2)).astype("float32")
    result = run(aten.from_numpy(image), aten.from_numpy(weight), None, 1)
    exact = transposed(image, weight, [2, 2], [0, 0], [1, 1], 1, [0, 0])
    assert (result.numpy() == exact).all()


def test_what_is_not_finite_reaches_its_block_alone(width):  # noqa: F811
    image = numpy.ones((1, 16, 6, 7), "float32")
    image[0, 3, 2, 5] = numpy.inf
    result = run(aten.from_numpy(image), aten.ones(16, 4, 2, 2), None, 1).numpy()
    assert numpy.isposinf(result[:, :, 4:6, 10:12]).all()
    assert numpy.isfinite(result).sum() == result.size - 4 * 4


def test_gradients_of_patches(width):  # noqa: F811
    """A plain convolution without overlaps has such a gradient."""
    image, weight = drawn(2, 3, 32, 48), drawn(40, 3, 16, 16)
    gradient = drawn(2, 40, 2, 3, seed=4)
    given = [aten.from_numpy(one) for one in (gradient, image, weight)]
    made = aten.ops.aten.convolution_backward(
        *given, None, [16, 16], [0, 0], [1, 1], False, [0, 0], 1, [True, False, False]
    )[0]
    rest = ([16, 16], [0, 0], [1, 1], 1, [0, 0])
    exact = transposed(gradient, weight, *rest)
    size = transposed(numpy.abs(gradient), numpy.abs(weight), *rest)
    assert_within(made, exact, size, 41, "float32")

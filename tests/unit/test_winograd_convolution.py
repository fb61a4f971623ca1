"""Windows of three by three with fewer multiplications against float64, for all widths of vectors.

An element of a result is |A|ᵀ (|G||g||G|ᵀ ⊙ |B|ᵀ|d||B|) |A| of its tile and weights in size, summed
over c channels: with the matrices' own roundings, two for what a tile sees, four for a weight, four
for what is joined, and one for the bias, it is off by at most (c + 12) u times that, and the bias's
share (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1), u = 2^-24.
"""

from __future__ import annotations

import numpy
import pytest
from test_direct_convolution import convolved, drawn, threads, width  # noqa: F401

import aten

UNIT = 2.0**-24
SEES = numpy.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]])
WEIGHS = numpy.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])
JOINS = numpy.array([[1, 1, 1, 0], [0, 1, -1, -1]])

# Image, channels of the result, padding, groups: around tiles, vectors and strips of them, blocks
# of channels; few weights, and so many that they are made while they are multiplied.
LAYERS = [
    ((1, 16, 10, 10), 16, 1, 1),
    ((2, 17, 13, 18), 19, 1, 1),
    ((1, 20, 4, 300), 37, 1, 1),
    ((3, 33, 14, 15), 24, 0, 1),
    ((2, 64, 14, 14), 70, 2, 2),
    ((1, 16, 30, 31), 16, (1, 0), 1),
    ((1, 16, 56, 56), 130, 1, 1),
    ((3, 150, 14, 15), 131, 1, 1),
    ((2, 260, 11, 10), 256, 1, 2),
    ((1, 300, 28, 29), 65, 1, 1),
]


def sizes_of(image, weight, padding, groups):
    """What the algorithm gives for the sizes of all numbers and coefficients, in float64."""
    pad = (padding, padding) if isinstance(padding, int) else padding
    rows, columns = (image.shape[dim + 2] + 2 * pad[dim] - 2 for dim in range(2))
    batch, outputs = image.shape[0], weight.shape[0]
    image = numpy.abs(image.astype("float64"))
    image = numpy.pad(image, [(0, 0), (0, 0), *((one, one + 1) for one in pad)])
    seen = numpy.lib.stride_tricks.sliding_window_view(image, (4, 4), (2, 3))[:, :, ::2, ::2]
    parts = numpy.einsum("ri,sj,nchwij->nchwrs", abs(SEES), abs(SEES), seen)
    weights = numpy.einsum(
        "ri,sj,ocij->ocrs", abs(WEIGHS), abs(WEIGHS), numpy.abs(weight.astype("float64"))
    )
    parts = parts.reshape(batch, groups, -1, *parts.shape[2:])
    weights = weights.reshape(groups, outputs // groups, *weights.shape[1:])
    sums = numpy.einsum("ngchwrs,gocrs->ngohwrs", parts, weights, optimize=True)
    joined = numpy.einsum("ir,js,ngohwrs->ngohiwj", abs(JOINS), abs(JOINS), sums)
    height, length = joined.shape[3] * 2, joined.shape[5] * 2
    return joined.reshape(batch, outputs, height, length)[:, :, :rows, :columns]


def assert_near(result, image, weight, bias, padding, groups):
    pad = (padding, padding) if isinstance(padding, int) else padding
    window = ((1, 1), pad, (1, 1), groups)
    exact = convolved(image, weight, bias, *window)
    size = sizes_of(image, weight, padding, groups) + numpy.abs(bias).reshape(-1, 1, 1)
    error = numpy.abs(result.numpy() - exact)
    bound = (weight.shape[1] + 12) * UNIT * size
    assert (error <= bound).all(), f"{(error / bound).max():.3g} times the bound"


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_layers(width, layer, threads):  # noqa: F811
    shape, outputs, padding, groups = layer
    image, bias = drawn(*shape), drawn(outputs)
    weight = drawn(outputs, shape[1] // groups, 3, 3)
    given = [aten.from_numpy(one) for one in (image, weight, bias)]
    results = []
    for count in (1, 2, 3):
        aten.set_num_threads(count)
        results.append(aten.conv2d(*given, padding=padding, groups=groups))
    assert_near(results[0], image, weight, bias, padding, groups)
    for result in results[1:]:
        assert result.numpy().tobytes() == results[0].numpy().tobytes()
    alone = aten.conv2d(given[0][-1:], *given[1:], padding=padding, groups=groups)
    assert alone.numpy().tobytes() == results[0][-1:].contiguous().numpy().tobytes()


def test_small_integers_come_out_exactly(width):  # noqa: F811
    generator = numpy.random.default_rng(0)
    image = generator.integers(-8, 9, (2, 40, 17, 19)).astype("float32")
    weight = generator.integers(-8, 9, (24, 40, 3, 3)).astype("float32")
    result = aten.conv2d(aten.from_numpy(image), aten.from_numpy(weight), padding=1)
    exact = convolved(image, weight, None, (1, 1), (1, 1), (1, 1), 1)
    assert (result.numpy() == exact).all()


@pytest.mark.parametrize("channels", [16, 160])
@pytest.mark.parametrize("value", [numpy.nan, numpy.inf, -numpy.inf, 3e38])
def test_what_is_not_finite_reaches_who_sees_it_and_as_it_should(width, value, channels):  # noqa: F811
    """Differences of infinities are none of the definition's, nor are sums beyond all numbers."""
    image = numpy.ones((3, channels, 12, 14), "float32")
    image[1, 3, 5, 6] = value
    weight = numpy.full((channels, channels, 3, 3), 0.5, "float32")
    given = aten.from_numpy(image), aten.from_numpy(weight)
    result = aten.conv2d(*given, padding=1).numpy()
    expected = numpy.ones((12, 14), "float32") * channels * 4.5
    expected[[0, -1], :] = channels * 3
    expected[:, [0, -1]] = channels * 3
    expected[[0, 0, -1, -1], [0, -1, 0, -1]] = channels * 2
    assert (result[[0, 2]] == expected).all()
    expected[4:7, 5:8] = numpy.float32(value) * numpy.float32(0.5)
    numpy.testing.assert_allclose(result[1], numpy.broadcast_to(expected, result[1].shape), 1e-6)
    alone = aten.conv2d(given[0][1:2], given[1], padding=1).numpy()
    assert alone.tobytes() == result[1:2].tobytes()


@pytest.mark.parametrize("channels", [16, 160])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_what_follows(width, channels, activation):  # noqa: F811
    shape = (2, channels, 13, 14)
    image, residual, bias = drawn(*shape), drawn(*shape, seed=1), drawn(channels)
    image[1, 0, 3, 3] = numpy.inf
    weight = drawn(channels, channels, 3, 3)
    given = [aten.from_numpy(one) for one in (image, weight, bias, residual)]
    window = ([1, 1], [1, 1], [1, 1], 1)
    made = aten.ops.fused.convolution_epilogue(*given, *window, activation, [])
    plain = aten.conv2d(*given[:3], padding=1) + given[3]
    expected = getattr(aten.nn.functional, activation)(plain)
    numpy.testing.assert_allclose(made.numpy(), expected.numpy(), 1e-6, 1e-5)


def test_gradients_of_inputs(width, threads):  # noqa: F811
    gradient, weight = drawn(2, 24, 17, 18), drawn(24, 40, 3, 3)
    found = []
    for count in (1, 2):
        aten.set_num_threads(count)
        made = aten.ops.aten.convolution_backward(
            *(aten.from_numpy(one) for one in (gradient, drawn(2, 40, 17, 18), weight)),
            *(None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, False, False]),
        )[0]
        found.append(made.numpy().tobytes())
    assert found[0] == found[1]
    turned = numpy.ascontiguousarray(weight.transpose(1, 0, 2, 3)[:, :, ::-1, ::-1])
    assert_near(made, gradient, turned, numpy.zeros(40, "float32"), 1, 1)


def test_channels_last(width):  # noqa: F811
    image, weight, bias = drawn(2, 40, 14, 15), drawn(33, 40, 3, 3), drawn(33)
    residual = drawn(2, 33, 14, 15)
    given = [aten.from_numpy(one) for one in (image, weight, bias, residual)]
    last = [
        one.contiguous(memory_format=aten.channels_last) if one.dim() == 4 else one for one in given
    ]
    made = aten.conv2d(*last[:3], padding=1)
    assert made.is_contiguous(memory_format=aten.channels_last)
    assert_near(made, image, weight, bias, 1, 1)
    window = ([1, 1], [1, 1], [1, 1], 1)
    finished = [
        aten.ops.fused.convolution_epilogue(*one, *window, "relu", []) for one in (given, last)
    ]
    assert finished[1].is_contiguous(memory_format=aten.channels_last)
    assert finished[0].numpy().tobytes() == finished[1].contiguous().numpy().tobytes()

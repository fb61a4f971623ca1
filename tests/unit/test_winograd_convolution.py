"""Windows of three by three with fewer multiplications against float64, for all widths of vectors.

An element of a result is |A|ᵀ (|G||g||G|ᵀ ⊙ |B|ᵀ|d||B|) |A| of its tile and weights in size, summed
over c channels: with the matrices' own roundings, two for what a tile sees, four for a weight, four
for what is joined, and one for the bias, it is off by at most (c + 12) u times that, and the bias's
share (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1), u = 2^-24.
"""

from __future__ import annotations

import itertools

import numpy
import pytest
from test_direct_convolution import convolved, drawn, threads, width  # noqa: F401

import aten
from aten.backends.cpu.kernels.windows.tilings import second_cache, set_second_cache

UNIT = 2.0**-24
SEES = numpy.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]])
WEIGHS = numpy.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])
JOINS = numpy.array([[1, 1, 1, 0], [0, 1, -1, -1]])

# Image, channels of the result, padding, dilation, groups: around tiles, vectors and strips of
# them, blocks of channels; few weights, and so many that they are made while they are multiplied;
# lines that are cut; places between taps; lines alone; one and two tiles that are left over.
LAYERS = [
    ((1, 16, 10, 18), 16, 1, 1, 1),
    ((2, 17, 13, 18), 19, 1, 1, 1),
    ((1, 20, 4, 300), 37, 1, 1, 1),
    ((1, 16, 5, 900), 17, 1, 1, 1),
    ((3, 33, 16, 17), 24, 0, 1, 1),
    ((2, 64, 14, 14), 70, 2, 1, 2),
    ((1, 16, 30, 31), 16, (1, 0), 1, 1),
    ((1, 16, 56, 56), 130, 1, 1, 1),
    ((3, 150, 14, 15), 131, 1, 1, 1),
    ((2, 260, 14, 13), 256, 1, 1, 2),
    ((1, 300, 28, 29), 65, 1, 1, 1),
    ((1, 16, 10, 512), 24, 1, 1, 1),
    ((1, 130, 16, 16), 136, 1, 1, 1),
    ((1, 129, 64, 64), 128, 1, 1, 1),
    ((1, 132, 32, 40), 130, 1, 2, 1),
    ((2, 16, 33, 35), 20, 2, 2, 1),
    ((1, 17, 47, 43), 16, 3, 3, 1),
    ((1, 140, 31, 30), 130, 1, 2, 1),
    ((2, 81, 441), 80, 1, 1, 1),
    ((2, 170, 1000), 160, 4, 4, 1),
    ((1, 160, 707), 163, 2, 3, 1),
    ((2, 70, 14, 14), 33, 1, 1, 1),
    ((3, 16, 13, 14), 17, 1, 1, 1),
    ((2, 300, 10, 20), 262, 1, 1, 2),
    ((2, 20, 9, 26), 37, 1, 1, 1),
    ((1, 140, 12, 22), 130, 1, 1, 1),
    ((2, 40, 20, 10), 50, 1, 1, 1),
    # So many channels that they are summed a stretch after the other, for several strips.
    ((2, 520, 16, 18), 150, 1, 1, 1),
    ((1, 388, 24, 24), 100, 1, 2, 1),
    ((1, 1100, 700), 960, 1, 1, 1),
]


def sizes_of(image, weight, padding, dilation, groups):
    """What the algorithm gives for the sizes of all numbers and coefficients, in float64.

    Positions that leave the same remainder by the dilation are an image of their own.
    """
    rank = image.ndim - 2
    image = numpy.abs(image.astype("float64"))
    image = numpy.pad(image, [(0, 0), (0, 0), *((one, one) for one in padding)])
    seen = [size - 2 * dilation for size in image.shape[2:]]
    result = numpy.zeros((image.shape[0], weight.shape[0], *seen))
    for remainder in itertools.product(range(dilation), repeat=rank):
        every = (..., *(slice(one, None, dilation) for one in remainder))
        part = _sizes_of_plain(image[every], numpy.abs(weight.astype("float64")), groups)
        sizes = result[every].shape[2:]
        result[every] = part[(..., *map(slice, sizes))]
    return result


def _sizes_of_plain(image, weight, groups):
    """Without padding and dilation; with a tile more than there may be results."""
    rank = image.ndim - 2
    batch, outputs = image.shape[0], weight.shape[0]
    image = numpy.pad(image, [(0, 0), (0, 0), *((0, 3),) * rank])
    spatial = tuple(range(2, 2 + rank))
    tiles = numpy.lib.stride_tricks.sliding_window_view(image, (4,) * rank, spatial)
    tiles = tiles[(..., *(slice(None, None, 2),) * rank, *(slice(None),) * rank)]
    given, places, made = "ij"[:rank], "hw"[:rank], "rs"[:rank]
    sees, weighs = (
        [one for pair in zip(made, given, strict=True) for one in (abs(matrix), "".join(pair))]
        for matrix in (SEES, WEIGHS)
    )
    parts = numpy.einsum(f"{_pairs(sees)},nc{places}{given}->nc{places}{made}", *sees[::2], tiles)
    weights = numpy.einsum(f"{_pairs(weighs)},oc{given}->oc{made}", *weighs[::2], weight)
    parts = parts.reshape(batch, groups, -1, *parts.shape[2:])
    weights = weights.reshape(groups, outputs // groups, *weights.shape[1:])
    sums = numpy.einsum(
        f"ngc{places}{made},goc{made}->ngo{places}{made}", parts, weights, optimize=True
    )
    turns = "".join(place + one for place, one in zip(places, given, strict=True))
    joins = [one for pair in zip(given, made, strict=True) for one in (abs(JOINS), "".join(pair))]
    joined = numpy.einsum(f"{_pairs(joins)},ngo{places}{made}->ngo{turns}", *joins[::2], sums)
    return joined.reshape(batch, outputs, *(2 * size for size in joined.shape[3::2]))


def _pairs(given):
    return ",".join(given[1::2])


def assert_near(result, image, weight, bias, padding, groups, dilation=1):
    rank = image.ndim - 2
    pad = (padding,) * rank if isinstance(padding, int) else padding
    window = ((1,) * rank, pad, (dilation,) * rank, groups)
    exact = convolved(image, weight, bias, *window)
    size = sizes_of(image, weight, pad, dilation, groups)
    size = size + numpy.abs(bias).reshape(-1, *(1,) * rank)
    error = numpy.abs(result.numpy() - exact)
    bound = (weight.shape[1] + 12) * UNIT * size
    assert (error <= bound).all(), f"{(error / bound).max():.3g} times the bound"


@pytest.fixture
def caches():
    """Cuts images for a second cache of so many bytes."""
    found = second_cache()
    yield set_second_cache
    set_second_cache(found)


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_layers(width, layer, threads, caches):  # noqa: F811
    shape, outputs, padding, dilation, groups = layer
    image, bias = drawn(*shape), drawn(outputs)
    weight = drawn(outputs, shape[1] // groups, *(3,) * (len(shape) - 2))
    given = [aten.from_numpy(one) for one in (image, weight, bias)]
    window = {"padding": padding, "dilation": dilation, "groups": groups}
    run = aten.conv2d if len(shape) == 4 else aten.conv1d
    results = []
    for cache, count in itertools.product((1 << 18, 1 << 20, 1 << 21), (1, 2, 3)):
        caches(cache)
        aten.set_num_threads(count)
        results.append(run(*given, **window))
    assert_near(results[0], image, weight, bias, padding, groups, dilation)
    for result in results[1:]:
        assert result.numpy().tobytes() == results[0].numpy().tobytes()
    alone = run(given[0][-1:], *given[1:], **window)
    assert alone.numpy().tobytes() == results[0][-1:].contiguous().numpy().tobytes()


@pytest.mark.parametrize("shape", [(2, 18, 17, 19), (1, 130, 16, 16), (1, 130, 331)], ids=str)
@pytest.mark.parametrize("view", ["every other", "turned", "a part", "repeated"])
def test_images_that_are_views(width, shape, view):  # noqa: F811
    rank = len(shape) - 2
    wide = aten.from_numpy(drawn(*(2 * size for size in shape)))
    image = wide[tuple(slice(None, None, 2) for _ in shape)]
    if view == "turned":
        image = aten.from_numpy(drawn(*shape[:2], *shape[:1:-1])).permute(
            0, 1, *range(rank + 1, 1, -1)
        )
    elif view == "a part":
        image = wide[tuple(slice(1, size + 1) for size in shape)]
    elif view == "repeated":
        image = wide[:1, :1, ..., :1].expand(*shape[:2], *wide.shape[2:-1], 1)
        image = image[(..., *(slice(0, size) for size in shape[2:-1]), slice(None))].expand(shape)
    assert image.shape == shape
    weight = aten.from_numpy(drawn(129, shape[1], *(3,) * rank))
    run = aten.conv2d if rank == 2 else aten.conv1d
    results = [run(one, weight, padding=1).numpy() for one in (image, image.contiguous())]
    assert results[0].tobytes() == results[1].tobytes()


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


@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("shape", [(2, 16, 29, 30), (2, 160, 29, 30), (2, 160, 990)], ids=str)
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_what_follows(width, shape, activation, dilation):  # noqa: F811
    channels, rank = shape[1], len(shape) - 2
    image, residual, bias = drawn(*shape), drawn(*shape, seed=1), drawn(channels)
    image[1, 0, 3:4] = numpy.inf
    weight = drawn(channels, channels, *(3,) * rank)
    given = [aten.from_numpy(one) for one in (image, weight, bias, residual)]
    window = ([1] * rank, [dilation] * rank, [dilation] * rank, 1)
    made = aten.ops.fused.convolution_epilogue(*given, *window, activation, [])
    run = aten.conv2d if rank == 2 else aten.conv1d
    plain = run(*given[:3], padding=dilation, dilation=dilation) + given[3]
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

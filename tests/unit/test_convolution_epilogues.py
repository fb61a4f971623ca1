"""Convolutions with a residual and an activation against what they are made of.

Limits and residuals give the very numbers. Curves are computed in another way: with u = eps / 2,
exp is off by 3u of itself and its argument by u, so that a curve of a sum s is off by less than
8u max(|s|, 1), and so is what it is compared with. Against float64 the error of the sum comes
before it, at most (n + 2) u times the sum of the terms' sizes for n products, a bias and a residual
(Higham, Accuracy and Stability of Numerical Algorithms, section 3.1), which no curve stretches by
more than 1.13.
"""

from __future__ import annotations

import itertools

import numpy
import pytest
from window_operands import drawn

import aten
from aten.backends.cpu.kernels.windows.direct import vector_bytes
from aten.backends.cpu.kernels.windows.tilings import second_cache, set_second_cache
from aten.ops.windows.epilogues import ACTIVATIONS

UNIT = 2.0**-24
LIMITS = {"none": [], "relu": [], "hardtanh": [-0.5, 6.0]}
CURVES = {"sigmoid": [], "silu": [], "hardswish": [], "gelu": [], "gelu_tanh": []}
# Input, weight, stride, padding, dilation, groups: panels with and without positions that are left
# over, more channels than a stretch, few channels with lines of whole vectors and planes that keep
# each other out of caches, planes in lines and in any order, one and three dimensions.
LAYERS = [
    ((1, 3, 19, 21), (16, 3, 3, 3), [2, 2], [1, 1], [1, 1], 1),
    ((2, 40, 7, 7), (33, 40, 3, 3), [1, 1], [1, 1], [1, 1], 1),
    ((3, 300, 5, 5), (9, 300, 1, 1), [1, 1], [0, 0], [1, 1], 1),
    ((1, 16, 14, 15), (24, 16, 1, 1), [2, 1], [0, 0], [1, 1], 1),
    ((2, 6, 11, 12), (12, 3, 3, 2), [1, 2], [2, 0], [1, 2], 2),
    ((2, 5, 14, 14), (5, 1, 3, 3), [1, 1], [1, 1], [1, 1], 5),
    ((1, 3, 7, 7), (3, 1, 5, 5), [1, 1], [2, 2], [1, 1], 3),
    ((1, 3, 29, 31), (6, 1, 3, 3), [2, 2], [1, 1], [1, 1], 3),
    ((1, 3, 20, 23), (3, 1, 2, 3), [1, 3], [1, 0], [2, 1], 3),
    ((2, 3, 21, 64), (11, 3, 7, 7), [2, 2], [3, 3], [1, 1], 1),
    ((1, 3, 64, 64), (9, 3, 7, 7), [2, 2], [3, 3], [1, 1], 1),
    ((2, 8, 50), (24, 8, 3), [1], [1], [1], 1),
    ((1, 4, 6, 7, 8), (8, 2, 2, 3, 2), [2, 1, 2], [1, 0, 1], [1, 2, 1], 2),
]
op = aten.ops.fused.convolution_epilogue


pytestmark = pytest.mark.usefixtures("window_vectors")


def operands(layer, seed=0):
    """Input, weight, bias, and a residual that is like the result."""
    image, weight = drawn(*layer[0], seed=seed), drawn(*layer[1], seed=seed + 1)
    bias = drawn(layer[1][0], seed=seed + 2)
    shape = convolved(image, weight, bias, *layer[2:]).shape
    return image, weight, bias, drawn(*shape, seed=seed + 3)


def convolved(image, weight, bias, stride, padding, dilation, groups):
    return aten.ops.aten.convolution(
        image, weight, bias, stride, padding, dilation, False, [0] * len(stride), groups
    )


def composed(image, weight, bias, residual, *window, activation, values):
    sums = convolved(image, weight, bias, *window)
    if residual is not None:
        sums = sums + residual
    return sums, ACTIVATIONS[activation](sums, *values)


def assert_same(given, layer, activation, values):
    image, weight, bias, residual = given
    result = op(image, weight, bias, residual, *layer[2:], activation, values)
    sums, expected = composed(*given, *layer[2:], activation=activation, values=values)
    assert result.shape == expected.shape
    assert result.stride() == expected.stride()
    assert result.dtype is expected.dtype
    if activation in LIMITS:
        numpy.testing.assert_array_equal(result.numpy(), expected.numpy())
        return
    bound = 16 * UNIT * numpy.maximum(numpy.abs(sums.numpy()), 1)
    assert (numpy.abs(result.numpy() - expected.numpy()) <= bound).all()


@pytest.mark.parametrize("activation", [*LIMITS, *CURVES])
@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_it_is_its_parts(layer, activation):
    values = {**LIMITS, **CURVES}[activation]
    image, weight, bias, residual = operands(layer)
    for added, constant in itertools.product((residual, None), (bias, None)):
        assert_same((image, weight, constant, added), layer, activation, values)


@pytest.mark.parametrize("activation", CURVES)
@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_within_the_bound_of_float64(layer, activation):
    given = operands(layer)
    result = op(*given, *layer[2:], activation, [])
    wide = [one.double() for one in given]
    sums, expected = composed(*wide, *layer[2:], activation=activation, values=[])
    size = convolved(*(one.abs() for one in wide[:3]), *layer[2:]) + wide[3].abs()
    terms = int(numpy.prod(layer[1][1:])) + 2
    bound = 1.13 * terms * UNIT * size + 8 * UNIT * sums.abs().clamp(min=1)
    assert ((result.double() - expected).abs() <= bound).all()


@pytest.mark.parametrize("activation", [*LIMITS, *CURVES])
@pytest.mark.parametrize("groups", [1, 24])
def test_channels_last(activation, groups):
    values = {**LIMITS, **CURVES}[activation]
    layer = ((2, 24, 13, 12), (24, 24 // groups, 3, 3), [1, 1], [1, 1], [1, 1], groups)
    image, weight, bias, residual = operands(layer)
    last = aten.channels_last
    for added in (residual, residual.to(memory_format=last), None):
        given = (image.to(memory_format=last), weight, bias, added)
        assert_same(given, layer, activation, values)
        assert_same(
            (given[0], weight.to(memory_format=last), *given[2:]), layer, activation, values
        )
        assert_same((image, weight, bias, added), layer, activation, values)


def test_operands_that_do_not_lie_side_by_side():
    layer = LAYERS[1]
    image, weight, bias, residual = operands(layer)
    for view in (
        lambda x: aten.stack([x, x], -1)[..., 0],
        lambda x: x.transpose(-1, -2).contiguous().transpose(-1, -2),
        lambda x: aten.cat([x, x], 1)[:, : x.shape[1]],
    ):
        assert_same((view(image), weight, bias, residual), layer, "silu", [])
        assert_same((image, weight, bias, view(residual)), layer, "relu", [])
    assert_same((image, view(weight), bias, residual), layer, "relu", [])
    assert_same((image, weight, aten.stack([bias, bias], 1)[:, 0], residual), layer, "relu", [])


@pytest.mark.parametrize("shape", [(33, 1, 1), (1,), (2, 33, 7, 7)])
def test_residuals_that_broadcast(shape):
    layer = LAYERS[1]
    image, weight, bias, _ = operands(layer)
    assert_same((image, weight, bias, drawn(*shape)), layer, "relu", [])


EXTREMES = [
    *(numpy.nan, numpy.inf, -numpy.inf, 1e30, -1e30, -200.0, -104.0, -90.0, -20.0, -10.0, -3.0),
    *(0.0, 1e-30, -1e-30, 3.0, 88.0, 89.0, 200.0, 3e38, -3e38),
]


@pytest.mark.parametrize("activation", [*LIMITS, *CURVES])
@pytest.mark.parametrize("channels", [1, 8])
def test_extreme_sums(activation, channels):
    values = {**LIMITS, **CURVES}[activation]
    line = numpy.array(EXTREMES, "float32").reshape(1, 1, -1)
    window = ([1], [0], [1], 1)
    given = (aten.from_numpy(line), aten.ones(channels, 1, 1), None, None)
    result = op(*given, *window, activation, values).numpy()
    with numpy.errstate(all="ignore"):
        expected = composed(*given, *window, activation=activation, values=values)[1].numpy()
    assert (numpy.isnan(result) == numpy.isnan(expected)).all()
    numpy.testing.assert_allclose(result, expected, 16 * UNIT, 1e-6)


@pytest.mark.parametrize("element", ["float32", "float64"])
@pytest.mark.parametrize("outputs", [5, 8, 17, 40])
@pytest.mark.parametrize("depth", [1, 15, 64, 300])
def test_images_with_no_room_in_the_second_cache(depth, outputs, element):
    """What they see and what is added is asked for ahead, in tiles that follow each other and in
    the last one, and over several stretches of the depth; it changes no number."""
    image = drawn(2, depth, 10, 31, seed=1).to(getattr(aten, element))
    weight, bias = (
        drawn(*one, seed=2).to(image.dtype) for one in ((outputs, depth, 1, 1), (outputs,))
    )
    residual = drawn(2, outputs, 10, 31, seed=3).to(image.dtype)
    window = ([1, 1], [0, 0], [1, 1])
    before, made = second_cache(), []
    try:
        for bytes_of_cache in (1 << 40, 1):
            set_second_cache(bytes_of_cache)
            made.append(aten.conv2d(image, weight, bias).numpy().tobytes())
            if image.dtype is aten.float32:
                settled = op(image, weight, bias, residual, *window, 1, "relu", [])
                made[-1] += settled.numpy().tobytes()
    finally:
        set_second_cache(before)
    assert made[0] == made[1]


def test_hardswish_is_divided_as_numbers_are():
    """By six, and rounded once, where products are summed before they are rounded; results that are
    zero keep their sign, and what is infinite or no number stays so."""
    generator = numpy.random.default_rng(0)
    signs = generator.choice([-1.0, 1.0], 1 << 15)
    given = numpy.concatenate(
        [
            generator.uniform(-4, 4, 1 << 15),
            signs * 10.0 ** generator.uniform(-37, 37, 1 << 15),
            numpy.repeat([0.0, numpy.inf, -numpy.inf, numpy.nan, 3e38, -3e38, 3, -3], 64),
        ]
    ).astype("float32")
    image = aten.from_numpy(given).view(1, 1, -1, 64)
    made = op(image, aten.ones(1, 1, 1, 1), None, None, [1, 1], [0, 0], [1, 1], 1, "hardswish", [])
    with numpy.errstate(over="ignore", invalid="ignore"):
        limited = numpy.clip(given + numpy.float32(3), 0, 6).astype("float32")
        expected = given * limited / numpy.float32(6)
    result = made.numpy().ravel()
    if vector_bytes() > 16:
        numpy.testing.assert_array_equal(result, expected)
    else:
        numpy.testing.assert_array_max_ulp(result, expected, 1)
    # A sum that begins as zero is never a negative one.
    there = ~numpy.isnan(expected) & (given != 0)
    assert (numpy.signbit(result) == numpy.signbit(expected))[there].all()


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_neither_threads_nor_other_images_change_bits(layer):
    image, weight, bias, residual = operands(layer)
    before = aten.get_num_threads()
    found = []
    try:
        for count in (1, 2, 3):
            aten.set_num_threads(count)
            found.append(op(image, weight, bias, residual, *layer[2:], "gelu", []).numpy())
    finally:
        aten.set_num_threads(before)
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()
    alone = op(image[-1:], weight, bias, residual[-1:], *layer[2:], "gelu", []).numpy()
    assert alone.tobytes() == found[0][-1:].tobytes()


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("side", [7, 14, 60])
@pytest.mark.parametrize("activation", ["relu", "hardswish"])
def test_planes_are_the_same_alone_and_beside_others(activation, side, step):
    layer = ((2, 75, side, side), (75, 1, 5, 5), [step] * 2, [2, 2], [1, 1], 75)
    image, weight, bias, residual = operands(layer)
    together = op(image, weight, bias, residual, *layer[2:], activation, [])
    for place in (0, 1, 40, 41, 42, 74):
        own = slice(place, place + 1)
        parts = (image[1:, own], weight[own], bias[own], residual[1:, own])
        alone = op(*(one.contiguous() for one in parts), *layer[2:5], 1, activation, [])
        assert alone.numpy().tobytes() == together[1:, own].numpy().tobytes()


@pytest.mark.parametrize("sides", [[0, 0, 1, 1], [2, 0, 0, 1], [1, 1, 1, 1]])
@pytest.mark.parametrize("layer", [one for one in LAYERS if len(one[0]) == 4], ids=str)
def test_padding_on_sides_of_its_own(layer, sides):
    image, weight, bias, _ = operands(layer)
    stride, _, dilation, groups = layer[2:]
    top, left, bottom, right = sides
    wide = [one.double() for one in (image, weight, bias)]
    wide[0] = aten.nn.functional.pad(wide[0], (left, right, top, bottom))
    window = (stride, [0, 0], dilation, groups)
    expected = op(*wide, None, *window, "relu", [])
    sizes = op(*(one.abs() for one in wide), None, *window, "relu", [])
    terms = int(numpy.prod(layer[1][1:])) + 2
    for given in (image, image.to(memory_format=aten.channels_last)):
        result = op(given, weight, bias, None, stride, sides, dilation, groups, "relu", [])
        assert ((result.double() - expected).abs() <= terms * UNIT * sizes).all()


def test_padding_of_another_length():
    image, weight, bias, _ = operands(LAYERS[0])
    for padding in ([1, 1, 1], [1] * 6, [1, 1, 1, -1]):
        with pytest.raises(RuntimeError, match="padding"):
            op(image, weight, bias, None, [2, 2], padding, [1, 1], 1, "none", [])
    with pytest.raises(RuntimeError, match="padding"):
        aten.conv2d(image, weight, bias, [2, 2], [1, 1, 1, 1])


@pytest.mark.parametrize("seed", range(40))
def test_planes_as_they_lie(seed):
    """Square windows over one channel each, of all sizes, paddings and steps, beside float64."""
    draw = numpy.random.default_rng(seed).integers
    side, step = int(draw(1, 4)) * 2 + 1, int(draw(1, 4))
    sides = [int(draw(0, side + 2)) for _ in range(4)]
    height, width = int(draw(1, 70)), int(draw(1, 70))
    height = max(height, side - sides[0] - sides[2])
    width = max(width, side - sides[1] - sides[3])
    channels, dilation = int(draw(1, 9)), 1 + int(draw(0, 8) == 0)
    if (side - 1) * dilation >= min(height + sides[0] + sides[2], width + sides[1] + sides[3]):
        dilation = 1
    image = drawn(2, channels, height, width, seed=seed)
    weight, bias = drawn(channels, 1, side, side, seed=seed), drawn(channels, seed=seed)
    window = ([step] * 2, sides, [dilation] * 2, channels)
    result = op(image, weight, bias, None, *window, "none", [])
    wide = (image.double(), weight.double(), bias.double())
    expected = op(*wide, None, *window, "none", [])
    sizes = op(*(one.abs() for one in wide), None, *window, "none", [])
    bound = (side * side + 2) * UNIT * sizes
    assert ((result.double() - expected).abs() <= bound).all()
    alone = op(image[1:, :1], weight[:1], bias[:1], None, *window[:3], 1, "none", [])
    assert alone.numpy().tobytes() == result[1:, :1].contiguous().numpy().tobytes()


@pytest.mark.parametrize("dtype", [aten.float64, aten.bfloat16])
@pytest.mark.parametrize("activation", ["relu", "silu"])
def test_other_types(dtype, activation):
    layer = LAYERS[1]
    given = [one.to(dtype) for one in operands(layer)]
    result = op(*given, *layer[2:], activation, [])
    _, expected = composed(*given, *layer[2:], activation=activation, values=[])
    assert result.dtype is dtype
    assert aten.equal(result, expected)


@pytest.mark.parametrize("device", ["meta", "reference"])
def test_other_devices(device):
    layer = LAYERS[5]
    given = operands(layer)
    there = op(*(one.to(device) for one in given), *layer[2:], "relu", [])
    here = op(*given, *layer[2:], "relu", [])
    assert there.device.type == device
    assert there.shape == here.shape
    if device == "reference":
        numpy.testing.assert_allclose(there.cpu().numpy(), here.numpy(), 1e-4, 1e-5)


def test_gradients_are_those_of_the_parts():
    layer = LAYERS[1]
    found = []
    for made in (
        lambda *given: op(*given, *layer[2:], "silu", []),
        lambda *given: composed(*given, *layer[2:], activation="silu", values=[])[1],
    ):
        given = [one.requires_grad_() for one in operands(layer)]
        made(*given).square().sum().backward()
        found.append([one.grad.numpy() for one in given])
    for one, other in zip(*found, strict=True):
        numpy.testing.assert_allclose(one, other, 1e-4, 1e-4)


def test_it_is_taken_apart():
    from aten.transforms import Decompose

    layer = LAYERS[1]
    given = operands(layer)
    with Decompose("core") as apart:
        result = op(*given, *layer[2:], "relu", [])
    assert aten.equal(result, op(*given, *layer[2:], "relu", []))
    assert apart.called["aten::convolution"] == 1


def test_kernels_registered_above_are_met():
    layer = LAYERS[1]
    given = operands(layer)
    met = []

    def counted(*arguments):
        met.append(len(arguments))
        return arguments[0]

    library = aten.library.Library("fused", "IMPL", "CPU")
    try:
        with pytest.warns(UserWarning, match="is overridden"):
            library.impl("convolution_epilogue", counted)
        op(*given, *layer[2:], "relu", [])
    finally:
        library._destroy()
    assert met == [10]
    assert_same(given, layer, "relu", [])


def test_steps_of_another_number_than_dimensions():
    image, weight, bias, _ = operands(LAYERS[1])
    for steps in ([1, 1, 1], [1, 1, 1, 1, 1, 1]):
        with pytest.raises(RuntimeError, match="expected stride to be a single integer"):
            op(image, weight, bias, None, steps, [1, 1], [1, 1], 1, "relu", [])
    alone = op(image, weight, bias, None, [1], [1], [1], 1, "relu", [])
    assert aten.equal(alone, op(image, weight, bias, None, [1, 1], [1, 1], [1, 1], 1, "relu", []))


def test_limits_that_are_none():
    image, weight, bias, residual = operands(LAYERS[1])
    nowhere = float("nan")
    for limits in ([2.0, 1.0], [nowhere, 1.0], [0.0, nowhere]):
        result = op(image, weight, bias, residual, *LAYERS[1][2:], "hardtanh", limits)
        sums = convolved(image, weight, bias, *LAYERS[1][2:]) + residual
        numpy.testing.assert_array_equal(
            result.numpy(), ACTIVATIONS["hardtanh"](sums, *limits).numpy()
        )


def test_no_images():
    given = (aten.ones(0, 3, 5, 5), aten.ones(4, 3, 3, 3), None, None)
    assert op(*given, [1, 1], [0, 0], [1, 1], 1, "relu", []).shape == (0, 4, 3, 3)
    given = (aten.ones(2, 0, 5, 5), aten.ones(4, 0, 3, 3), -aten.ones(4), None)
    assert (op(*given, [1, 1], [1, 1], [1, 1], 1, "relu", []) == 0).all()


def test_what_it_refuses():
    image, weight, bias, residual = operands(LAYERS[1])
    window = LAYERS[1][2:]
    with pytest.raises(RuntimeError, match="expected activation to be one of none, relu"):
        op(image, weight, bias, residual, *window, "swish", [])
    with pytest.raises(RuntimeError, match="expected 2 values for the activation hardtanh, got 1"):
        op(image, weight, bias, residual, *window, "hardtanh", [1.0])
    with pytest.raises(RuntimeError, match="must match the size"):
        op(image, weight, bias, drawn(2, 5, 7, 7), *window, "relu", [])
    with pytest.raises(RuntimeError, match="channels"):
        op(image[:, :3], weight, bias, residual, *window, "relu", [])

"""`fused::expanded_convolution` and the two convolutions it stands for: the very same bits.

Only where the first one's positions leave one or two over of sixteen, which are summed in another
order then, may they differ by rounding: for n products by 2n u times the sum of the terms' sizes
(Higham, Accuracy and Stability of Numerical Algorithms, section 3.1), which the second one's taps
weigh again.
"""

from __future__ import annotations

import numpy
import pytest
from window_operands import drawn, numbers_of_both

import aten
from aten.backends.cpu.kernels.windows import expanding
from aten.compiler import ahead
from aten.ops.windows.epilogues import ACTIVATIONS

op = aten.ops.fused.expanded_convolution
one = aten.ops.fused.convolution_epilogue
# Images, channels, first window, stride and padding, second window, stride and padding: bands and
# blocks that are cut, planes of one band, rows and columns beyond the image on either side.
PAIRS = [
    ((2, 16, 32, 48), 24, 1, 1, 0, 3, 1, 1),
    ((1, 16, 112, 112), 33, 1, 1, 0, 3, 2, [0, 0, 1, 1]),
    ((1, 3, 96, 80), 40, 3, 2, [0, 0, 1, 1], 3, 1, 1),
    ((1, 4, 64, 64), 17, 3, 2, 1, 5, 2, 2),
    ((2, 8, 16, 16), 20, 1, 1, 0, 7, 1, 3),
    ((1, 8, 120, 120), 16, 1, 1, [0, 0, 8, 8], 3, 1, 0),
    ((1, 8, 120, 120), 16, 1, 1, [8, 8, 0, 0], 3, 2, 2),
    ((1, 300, 80, 96), 19, 1, 1, 0, 3, 3, 0),
    ((1, 5, 128, 128), 18, 2, 2, 0, 3, 4, 1),
]


pytestmark = pytest.mark.usefixtures("window_vectors")


def operands(pair, with_bias=True):
    sizes, channels, first, _, _, second, *_ = pair
    weights = drawn(channels, sizes[1], first, first), drawn(channels, 1, second, second, seed=1)
    biases = (drawn(channels), drawn(channels, seed=1)) if with_bias else (None, None)
    return drawn(*sizes), *weights, *biases


def numbers(pair, activations=("none", "none"), dilation=1):
    *_, first_step, first_padding, _, step, padding = pair
    return numbers_of_both(first_step, first_padding, step, padding, activations, dilation)


def apart(image, expansion, weight, bias, last_bias, *given):
    expanded = one(image, expansion, bias, None, *given[:3], 1, *given[3:5])
    channels = expansion.shape[0]
    return one(expanded, weight, last_bias, None, *given[5:8], channels, *given[8:])


def assert_same(given, said):
    found, expected = op(*given, *said), apart(*given, *said)
    assert found.shape == expected.shape
    assert found.stride() == expected.stride()
    numpy.testing.assert_array_equal(found.numpy(), expected.numpy())


@pytest.mark.parametrize("pair", PAIRS, ids=str)
@pytest.mark.parametrize("with_bias", [True, False])
def test_it_is_both(pair, with_bias):
    given = operands(pair, with_bias)
    assert expanding.convolved(*given, *numbers(pair)) is not None
    assert_same(given, numbers(pair))


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations(activation):
    for activations in ((activation, "none"), ("relu", activation), (activation, activation)):
        assert_same(operands(PAIRS[1]), numbers(PAIRS[1], activations))


def test_positions_that_are_left_over():
    pair = ((1, 16, 65, 65), 24, 1, 1, 0, 3, 1, 1)
    assert 65 * 65 % 16 == 1
    given, said = operands(pair), numbers(pair)
    sizes = (one.double().abs() for one in given)
    # Sums of 16 products and a bias, weighed and summed over nine taps and another bias.
    bound = 2 * (17 + 10) * 2.0**-24 * apart(*sizes, *said).numpy()
    assert (numpy.abs(op(*given, *said).numpy() - apart(*given, *said).numpy()) <= bound).all()


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_neither_threads_nor_other_images_change_bits(pair):
    image, *others = operands(pair)
    image = aten.cat([drawn(*image.shape, seed=7), image])
    before = aten.get_num_threads()
    found = []
    try:
        for count in (1, 2, 3):
            aten.set_num_threads(count)
            found.append(op(image, *others, *numbers(pair)).numpy().tobytes())
    finally:
        aten.set_num_threads(before)
    assert found[0] == found[1] == found[2]
    alone = op(image[-1:], *others, *numbers(pair)).numpy().tobytes()
    assert found[0].endswith(alone)


@pytest.mark.parametrize("where", ["image", "expansion", "weight"])
@pytest.mark.parametrize("value", [numpy.nan, numpy.inf])
def test_what_is_not_finite(where, value):
    given = [one.clone() for one in operands(PAIRS[1])]
    given[["image", "expansion", "weight"].index(where)].view(-1)[3] = value
    assert_same(given, numbers(PAIRS[1]))


def test_calls_that_are_not_for_the_kernel():
    pair = PAIRS[0]
    image, expansion, weight, bias, last_bias = operands(pair)
    said = numbers(pair)
    strided = aten.stack([image, image], -1)[..., 0]
    for given in (
        (strided, expansion, weight, bias, last_bias),
        (image.to(memory_format=aten.channels_last), expansion, weight, bias, last_bias),
        (image.double(), expansion.double(), weight.double(), bias.double(), last_bias.double()),
        (image[:0], expansion, weight, bias, last_bias),
    ):
        assert expanding.convolved(*given, *said) is None
        assert_same(given, said)
    assert_same((image, expansion, weight, bias, last_bias), numbers(pair, dilation=9))
    winograd = drawn(24, 16, 3, 3)
    padded = (said[0], [1, 1], *said[2:])
    assert expanding.convolved(image, winograd, weight, bias, last_bias, *padded) is None
    assert_same((image, winograd, weight, bias, last_bias), padded)


@pytest.mark.parametrize(
    ("place", "value"),
    [(1, (24, 15, 1, 1)), (2, (23, 1, 3, 3)), (2, (24, 2, 3, 3)), (3, (23,)), (4, (25,))],
)
def test_sizes_that_do_not_go_together(place, value):
    given = list(operands(PAIRS[0]))
    given[place] = drawn(*value)
    with pytest.raises(RuntimeError):
        op(*given, *numbers(PAIRS[0]))


def test_windows_larger_than_the_image():
    given = (drawn(1, 3, 4, 4), drawn(5, 3, 1, 1), drawn(5, 1, 7, 7), None, None)
    with pytest.raises(RuntimeError):
        op(*given, *numbers((None, 5, 1, 1, 0, 7, 1, 1)))


def test_programs_compiled_ahead_call_it(tmp_path):
    module = aten.nn.Sequential(
        aten.nn.Conv2d(8, 40, 1),
        aten.nn.ReLU6(),
        aten.nn.ZeroPad2d((0, 1, 0, 1)),
        aten.nn.Conv2d(40, 40, 3, stride=2, groups=40),
        aten.nn.SiLU(),
    ).eval()
    path, image = tmp_path / "expanding.atenc", drawn(1, 8, 112, 112)
    ahead.compile_program(aten.export.export(module, (image,)), path)
    assert b"expanded_convolution" in path.read_bytes()
    with aten.no_grad():
        (found,) = ahead.load(path).flat_call([image])
        numpy.testing.assert_allclose(found.numpy(), module(image).numpy(), 1e-5, 1e-5)

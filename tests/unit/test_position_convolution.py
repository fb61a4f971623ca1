"""Convolutions of images with channels last whose windows are one position: rows of a product."""

import pytest

import aten

SHAPES = ((1, 8, 5, 7, 3), (2, 64, 6, 6, 40), (3, 2, 1, 9, 1), (1, 33, 9, 1, 65), (2, 16, 2, 2, 16))


def image(*shape, dtype=aten.float32):
    return aten.randn(*shape, dtype=dtype).to(memory_format=aten.channels_last)


@pytest.mark.parametrize("dtype", [aten.float32, aten.float64])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_it_is_a_layer_over_positions(shape, dtype):
    batch, channels, height, width, outputs = shape
    input, weight = image(*shape[:4], dtype=dtype), aten.randn(outputs, channels, 1, 1, dtype=dtype)
    for bias in (None, aten.randn(outputs, dtype=dtype), aten.randn(2 * outputs, dtype=dtype)[::2]):
        for one in (weight, weight.to(memory_format=aten.channels_last), weight.flip(1).flip(1)):
            made = aten.conv2d(input, one, bias)
            layer = aten.nn.functional.linear(input.permute(0, 2, 3, 1), weight[:, :, 0, 0], bias)
            assert made.shape == (batch, outputs, height, width)
            assert aten.allclose(made, layer.permute(0, 3, 1, 2), rtol=1e-5, atol=1e-5)
            assert made.is_contiguous(memory_format=aten.channels_last)


def test_a_position_has_its_bits_whatever_is_beside_it():
    input, weight, bias = image(4, 96, 14, 14), aten.randn(50, 96, 1, 1), aten.randn(50)
    whole = aten.conv2d(input, weight, bias)
    threads = aten.get_num_threads()
    try:
        aten.set_num_threads(1)
        assert aten.equal(aten.conv2d(input, weight, bias), whole)
    finally:
        aten.set_num_threads(threads)
    for part in (slice(0, 1), slice(1, 3)):
        assert aten.equal(aten.conv2d(input[part], weight, bias), whole[part])


def test_other_windows_and_memory_go_as_before():
    """Beside the same image without channels last."""
    input, weight = image(2, 12, 8, 8), aten.randn(6, 12, 1, 1)
    plain = input.contiguous()
    options = (
        {"stride": 2},
        {"padding": 1},
        {"padding": (0, 2)},
        {"stride": (1, 3), "padding": (1, 0)},
        {"dilation": 3},
    )
    for given in options:
        made, expected = (aten.conv2d(one, weight, **given) for one in (input, plain))
        assert aten.allclose(made, expected, rtol=1e-5, atol=1e-5)
    grouped = aten.randn(6, 4, 1, 1)
    made, expected = (aten.conv2d(one, grouped, groups=3) for one in (input, plain))
    assert aten.allclose(made, expected, rtol=1e-5, atol=1e-5)
    for part in (input[:, :, ::2], input[:, :, :, 1:5], input[:, 2:10], input.flip(3)):
        one = weight[:, : part.shape[1]]
        expected = aten.conv2d(part.contiguous(), one)
        assert aten.allclose(aten.conv2d(part, one), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("weight", "bias", "options"),
    [
        ((6, 11, 1, 1), None, {}),
        ((6, 12, 1, 1), (5,), {}),
        ((6, 12, 1, 1), (6, 1), {}),
        ((6, 12, 1, 1), None, {"dilation": 0}),
        ((6, 12, 1, 1), None, {"stride": (1, 0)}),
        ((6, 12, 1, 1), None, {"padding": -1}),
        ((6, 12, 1, 1), None, {"groups": 0}),
        ((6, 12, 1), None, {}),
    ],
)
def test_what_does_not_fit_is_refused_as_for_any_image(weight, bias, options):
    input = image(2, 12, 8, 8)
    weight, bias = aten.randn(*weight), None if bias is None else aten.randn(*bias)
    refusals = []
    for one in (input, input.contiguous()):
        with pytest.raises(RuntimeError) as refused:
            aten.conv2d(one, weight, bias, **options)
        refusals.append(str(refused.value))
    assert refusals[0] == refusals[1]


def test_types_that_differ_are_refused():
    with pytest.raises(RuntimeError, match=r"expected|same|type"):
        aten.conv2d(image(1, 4, 3, 3), aten.randn(4, 4, 1, 1, dtype=aten.float64))


def test_gradients():
    input, weight, bias = image(2, 6, 4, 5), aten.randn(3, 6, 1, 1), aten.randn(3)
    found = []
    for one in (input, input.contiguous()):
        given = [tensor.clone().requires_grad_() for tensor in (one, weight, bias)]
        made = aten.conv2d(*given)
        found.append(aten.autograd.grad((made * made).sum(), given))
    for one, other in zip(*found, strict=True):
        assert aten.allclose(one, other, rtol=1e-4, atol=1e-4)

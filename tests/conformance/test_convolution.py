"""Convolutions against torch: drawn sizes, strides, padding, dilation, groups, types, layouts."""

from __future__ import annotations

import random

import pytest
from comparison import assert_same_metadata, compare, to_torch, torch, translated

import aten

# The type that the sums of products are done in.
ARITHMETIC = {
    "float16": torch.float32,
    "bfloat16": torch.float32,
    "float32": torch.float32,
    "float64": torch.float64,
}


# What a convolution of a few dozen products in float32 may be off by.
CLOSE = {"tolerance": 1e-5, "absolute": 1e-5}


def draw(seed, element):
    """Arguments of a convolution that may or may not fit together."""
    choose = random.Random(seed)
    generator = torch.Generator().manual_seed(seed)

    def values(*shape):
        made = torch.randn(shape, generator=generator, dtype=torch.float64) * 3
        return made.to(getattr(torch, element))

    rank = choose.choice((1, 2, 2, 3))
    groups = choose.choice((1, 1, 2, 3))
    inputs, outputs = groups * choose.randint(1, 3), groups * choose.randint(1, 4)
    transposed = choose.random() < 0.4
    plain = choose.random() < 0.2
    kernel = [1] * rank if plain else [choose.randint(1, 3) for _ in range(rank)]
    stride = [1] * rank if plain else [choose.randint(1, 3) for _ in range(rank)]
    padding = [0] * rank if plain else [choose.randint(0, 2) for _ in range(rank)]
    dilation = [choose.randint(1, 2) for _ in range(rank)]
    extra = [choose.randint(0, 1) if transposed else 0 for _ in range(rank)]
    sizes = [choose.randint(1, 9) for _ in range(rank)]
    input = values(choose.randint(1, 3), inputs, *sizes)
    channels = (inputs, outputs // groups) if transposed else (outputs, inputs // groups)
    weight = values(*channels, *kernel)
    if choose.random() < 0.3:
        input = input.transpose(1, -1).contiguous().transpose(1, -1)
        weight = weight.transpose(0, -1).contiguous().transpose(0, -1)
    bias = values(outputs) if choose.random() < 0.5 else None
    return input, weight, bias, stride, padding, dilation, transposed, extra, groups


def in_float64(arguments):
    return [one.double() if isinstance(one, torch.Tensor) else one for one in arguments]


def magnitude(arguments):
    """The same sums over what the products' sizes are."""
    wide = in_float64(arguments)
    return torch.ops.aten.convolution(
        *[one.abs() if isinstance(one, torch.Tensor) else one for one in wide]
    )


def assert_within_rounding(result, exact, size, terms, element, arithmetic):
    """`result` is what a sum of `terms` products, done in `arithmetic`, may be.

    Its error is at most terms u size, u the unit of rounding and size the sum of the products'
    sizes, in whatever order they are added (Higham, Accuracy and Stability of Numerical
    Algorithms, section 3.1); a narrower type of the result adds half a unit of its own.
    """
    bound = terms * torch.finfo(arithmetic).eps / 2 * size
    if element is not arithmetic:
        # Below the smallest normal number the units are all of one size.
        narrow = torch.finfo(element)
        bound = bound + narrow.eps / 2 * exact.abs().add(bound).clamp_min(narrow.tiny)
    error = (to_torch(result).double() - exact).abs()
    assert torch.all(error <= bound), f"{(error / bound).max().item():.3g} times the bound"


@pytest.mark.parametrize("element", list(ARITHMETIC))
def test_drawn_convolutions(element):
    """Values against float64; torch's own are further from it in half types.

    Its kernels of those read memory that nobody wrote on some processors: the sizes of seed 41
    gave 1e38 on one with AMX.
    """
    compared = 0
    for seed in range(120):
        arguments = draw(seed, element)
        try:
            expected = torch.ops.aten.convolution(*arguments)
        except RuntimeError:
            with pytest.raises(RuntimeError):
                aten.ops.aten.convolution(*translated(arguments))
            continue
        result = aten.ops.aten.convolution(*translated(arguments))
        assert_same_metadata(result, expected)
        weight, transposed, groups = arguments[1], arguments[6], arguments[8]
        channels = weight.shape[0] // groups if transposed else weight.shape[1]
        assert_within_rounding(
            result,
            torch.ops.aten.convolution(*in_float64(arguments)),
            magnitude(arguments),
            channels * weight[0, 0].numel() + 1,  # and the bias
            expected.dtype,
            ARITHMETIC[element],
        )
        compared += 1
    assert compared > 60


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths")
@pytest.mark.parametrize("padding", ["same", "valid", 1, (2, 0)])
@pytest.mark.parametrize("kernel", [(3, 3), (2, 4), (1, 1)])
def test_padding_by_name(padding, kernel):
    generator = torch.Generator().manual_seed(1)
    image = torch.randn(2, 3, 8, 9, generator=generator)
    weight = torch.randn(4, 3, *kernel, generator=generator)
    for input in (image, image[0]):
        compare(
            lambda library, x, w: library.conv2d(x, w, padding=padding, dilation=(1, 2)),
            input,
            weight,
            **CLOSE,
        )


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_transposed(rank):
    generator = torch.Generator().manual_seed(rank)
    image = torch.randn(2, 4, *([5] * rank), generator=generator)
    weight = torch.randn(4, 3, *([3] * rank), generator=generator)
    bias = torch.randn(6, generator=generator)
    compare(
        lambda library, x, w, b: getattr(library, f"conv_transpose{rank}d")(
            x, w, b, stride=2, padding=1, output_padding=1, groups=2
        ),
        image,
        weight,
        bias,
        **CLOSE,
    )


def test_threads_do_not_change_bits():
    generator = torch.Generator().manual_seed(1)
    image = translated(torch.randn(3, 16, 40, 40, generator=generator))
    weight = translated(torch.randn(16, 16, 3, 3, generator=generator))
    before = aten.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3):
            aten.set_num_threads(threads)
            forward = aten.conv2d(image, weight, padding=[1, 1])
            backward = aten.conv_transpose2d(image, weight, stride=[2, 2])
            results.append((forward.numpy().tobytes(), backward.numpy().tobytes()))
    finally:
        aten.set_num_threads(before)
    assert len(set(results)) == 1


ERRORS = [
    ((1, 3, 8, 8), (4, 2, 3, 3), {}),
    ((1, 4, 8, 8), (3, 2, 3, 3), {"groups": 2}),
    ((1, 4, 8, 8), (3, 2, 3, 3), {"groups": 0}),
    ((8, 8), (4, 2, 3, 3), {}),
    ((1, 3, 2, 2), (4, 3, 3, 3), {}),
    ((1, 3, 2, 2), (4, 3, 5, 5), {"padding": 1}),
    ((1, 3, 8, 8), (4, 3, 3, 3), {"stride": 0}),
    ((1, 3, 8, 8), (4, 3, 3, 3), {"padding": -1}),
    ((1, 3, 8, 8), (4, 3, 3, 3), {"dilation": 0}),
    ((1, 3, 8, 8), (4, 3, 3, 3), {"stride": (1, 1, 1)}),
    ((1, 3, 8, 8), (4, 3, 3, 3), {"padding": "same", "stride": 2}),
    ((1, 3, 8, 8), (4, 3, 3, 3), {"padding": "fair"}),
]


@pytest.mark.parametrize(("input", "weight", "options"), ERRORS, ids=str)
def test_messages_are_torchs(input, weight, options):
    with pytest.raises(RuntimeError) as theirs:
        torch.conv2d(torch.zeros(input), torch.zeros(weight), **options)
    with pytest.raises(RuntimeError) as ours:
        aten.conv2d(aten.zeros(input), aten.zeros(weight), **options)
    assert str(ours.value) == str(theirs.value)


def test_metadata_alone():
    image, weight = torch.zeros(2, 3, 8, 8, device="meta"), torch.zeros(4, 3, 3, 3, device="meta")
    compare(lambda library, x, w: library.conv2d(x, w, stride=2, padding=1), image, weight)


@pytest.mark.parametrize(
    ("pad", "mode"),
    [
        ((1, 2), "constant"),
        ((-1, 2, 0, -2), "constant"),
        ((1, 1, 0, 2, 1, 0), "constant"),
        ((-3, -3), "constant"),
        ((1,), "constant"),
        ((3, 2, 1, 2), "reflect"),
        ((4, 1, 0, 0), "reflect"),
        ((7, 2, 1, 2), "replicate"),
        ((3, 2, 1, 4), "circular"),
        ((5, 2, 1, 2), "circular"),
        ((1, 1, 1, 1), "fair"),
    ],
)
def test_pad(pad, mode):
    image = torch.randn(2, 3, 4, 4, generator=torch.Generator().manual_seed(1))
    compare(lambda library, x: library.ops.aten.pad(x, pad, mode), image)
    if mode == "constant":
        compare(lambda library, x: library.ops.aten.pad(x, pad, mode, 2.5), image)


def gradients(library, arguments, gradient, mask):
    input, weight, bias, *window = arguments
    sizes = None if bias is None else list(bias.shape)
    found = library.ops.aten.convolution_backward(gradient, input, weight, sizes, *window, mask)
    return [one for one, given in zip(found, mask, strict=True) if given]


@pytest.mark.parametrize("element", list(ARITHMETIC))
def test_gradients(element):
    """Sums of as many products as elements of the gradient, or weights, meet in an element."""
    compared = 0
    for seed in range(100):
        arguments = draw(seed, element)
        try:
            out = torch.ops.aten.convolution(*arguments)
        except RuntimeError:
            continue
        weight = arguments[1]
        mask = [seed % 3 != 1, seed % 3 != 2, arguments[2] is not None]
        gradient = torch.full_like(out, 2)
        expected = gradients(torch, arguments, gradient, mask)
        results = gradients(aten, translated(arguments), translated(gradient), mask)
        wide = in_float64(arguments)
        exact = gradients(torch, wide, gradient.double(), mask)
        sizes = [one.abs() if isinstance(one, torch.Tensor) else one for one in wide]
        bounds = gradients(torch, sizes, gradient.double(), mask)
        terms = max(out.numel() // out.shape[1], weight.numel())
        for made, theirs, right, size in zip(results, expected, exact, bounds, strict=True):
            assert_same_metadata(made, theirs)
            assert_within_rounding(made, right, size, terms, theirs.dtype, ARITHMETIC[element])
        compared += 1
    assert compared > 50


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("spatial", [(4, 0, 3), (0, 2), (2, 0), (0,)])
def test_images_without_elements_are_refused(transposed, spatial):
    rank = len(spatial)
    name = f"conv{'_transpose' if transposed else ''}{rank}d"
    for library in (torch, aten):
        image, weight = library.ones(2, 7, *spatial), library.ones(7, 7, *(2,) * rank)
        with pytest.raises(RuntimeError, match="Only zero batch or zero channel inputs"):
            getattr(library.nn.functional, name)(image, weight, padding=2)

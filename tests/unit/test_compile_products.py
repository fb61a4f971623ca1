"""Weights of products in compiled functions."""

import subprocess
import sys

import pytest

import aten
from aten.backends.cpu.kernels.matrix import matrix_tiles
from aten.backends.cpu.kernels.matrix.strips import multiplied, width_of_strips
from aten.compiler import ahead, functions
from aten.compiler.rewrites.choosing import Choices
from aten.nn import Linear

PRODUCT = "fused.strips_product.default"
CONVOLUTION = "fused.strips_convolution.default"
ACTIVATIONS = {
    "none": lambda x: x,
    "relu": aten.relu,
    "sigmoid": aten.sigmoid,
    "silu": aten.nn.functional.silu,
    "hardswish": aten.nn.functional.hardswish,
    "hardtanh": lambda x: aten.nn.functional.hardtanh(x, -0.5, 2.0),
    "gelu": aten.nn.functional.gelu,
}


def right_operands(compiled):
    """What the products of its first program read on the right, as they run; None: no strips."""
    program = compiled.programs()[0]
    prepared = dict(
        zip(
            [node for node in program.graph.placeholders if node.name.startswith("prepared_")],
            program.preparation(),
            strict=True,
        )
    )
    nodes = [one for one in program.graph.nodes if "mm" in one.target or one.target == PRODUCT]
    return [prepared[one.args[1]] if one.target == PRODUCT else None for one in nodes]


def joined(strips, columns):
    count, depth, width = strips.shape
    return strips.permute(1, 0, 2).reshape(depth, count * width)[:, :columns]


def in_strips(matrix):
    """What a compiled program makes of a matrix."""
    depth, columns = matrix.shape
    width = width_of_strips(str(matrix.dtype).removeprefix("aten."), columns)
    count = -(-columns // width)
    padded = aten.nn.functional.pad(matrix, [0, count * width - columns])
    return padded.reshape(depth, count, width).permute(1, 0, 2).contiguous()


@pytest.fixture(params=[16, 32, 64])
def width(request):
    """Each width of vectors that the processor has."""
    before = matrix_tiles.vector_bytes()
    if request.param > before:
        pytest.skip("the processor has no vectors of this width")
    matrix_tiles.set_vector_bytes(request.param)
    yield request.param
    matrix_tiles.set_vector_bytes(before)


@pytest.mark.parametrize("element", [aten.float32, aten.float64])
@pytest.mark.parametrize("columns", [2, 48, 50])
@pytest.mark.parametrize("bias", [False, True])
def test_steady_weights_are_laid_out_in_strips(element, columns, bias):
    layer = Linear(70, columns, bias=bias, dtype=element)
    compiled = aten.compile(lambda x: layer(x))
    image = aten.randn(33, 70, dtype=element)
    with aten.no_grad():
        aten.testing.assert_close(compiled(image), layer(image))
        (strips,) = right_operands(compiled)
        assert aten.equal(joined(strips, columns), layer.weight.t())


def test_weights_that_lie_by_rows_are_laid_out_too_and_keep_the_bits():
    weight, bias = aten.randn(300, 130), aten.randn(130)
    compiled = aten.compile(lambda x: aten.addmm(bias, x, weight))
    for rows in (1, 7, 33, 130):
        image = aten.randn(rows, 300)
        assert aten.equal(compiled(image), aten.addmm(bias, image, weight))
    assert right_operands(compiled)[0] is not None


def test_weights_are_laid_out_again_when_they_were_written_to():
    layer = Linear(24, 16)
    compiled = aten.compile(lambda x: layer(x))
    image = aten.randn(5, 24)
    with aten.no_grad():
        compiled(image)
        layer.weight.mul_(2)
        aten.testing.assert_close(compiled(image), layer(image))
        (strips,) = right_operands(compiled)
        assert aten.equal(joined(strips, 16), layer.weight.t())


def test_a_weight_of_several_products_is_laid_out_once():
    layer = Linear(16, 16, bias=False)
    compiled = aten.compile(lambda x: layer(layer(x)))
    with aten.no_grad():
        compiled(aten.randn(4, 16))
    first, second = right_operands(compiled)
    assert first is second


def test_arguments_and_weights_of_inference_mode_stay_as_they_lie():
    with aten.inference_mode():
        weight = aten.randn(16, 24)
    compiled = aten.compile(lambda x: x @ weight.t())
    given = aten.compile(lambda x, y: x @ y.t())
    image = aten.randn(5, 24)
    with aten.no_grad():
        aten.testing.assert_close(compiled(image), image @ weight.t())
        given(image, aten.randn(16, 24))
    assert right_operands(compiled) == [None]
    assert right_operands(given) == [None]


@pytest.mark.parametrize(
    "call",
    [
        lambda x, w, b: aten.addmm(b, x, w, beta=0.5),
        lambda x, w, b: aten.addmm(b, x, w, alpha=2),
        lambda x, w, b: aten.addmm(b[:1], x, w),
        lambda x, w, b: aten.addmm(b.expand(9, 20), x, w),
        lambda x, w, b: x.double() @ w.double() + b,
        lambda x, w, b: x.bfloat16() @ w.bfloat16() + b,
        lambda x, w, b: x @ w[:, :1] + b,
        lambda x, w, b: x.t()[:9, :9] @ w[:9] + b,
    ],
)
def test_other_products_give_what_they_gave(call):
    weight, bias = aten.randn(30, 20), aten.randn(20)
    image = aten.randn(9, 30)
    compiled = aten.compile(lambda x: call(x, weight, bias))
    aten.testing.assert_close(compiled(image), call(image, weight, bias))


def test_a_size_that_is_a_symbol():
    layer = Linear(40, 30)
    compiled = aten.compile(lambda x: layer(x), dynamic=True)
    with aten.no_grad():
        for rows in (2, 3, 17, 40, 300):
            image = aten.randn(rows, 40)
            aten.testing.assert_close(compiled(image), layer(image))
    assert right_operands(compiled)[0] is not None


def test_a_kernel_that_somebody_registered_is_met():
    weight = aten.randn(12, 8)
    compiled = aten.compile(lambda x: x @ weight)
    image = aten.randn(3, 12)
    assert aten.equal(compiled(image), image @ weight)
    library = aten.library.Library("aten", "IMPL")
    with pytest.warns(UserWarning, match="mm"):
        library.impl("mm", lambda left, right: aten.zeros(3, 8), "CPU")
    try:
        assert compiled(image).abs().sum() == 0
    finally:
        library._destroy()
    assert aten.equal(compiled(image), image @ weight)


@pytest.mark.parametrize("element", [aten.float32, aten.float64])
@pytest.mark.parametrize(
    ("rows", "depth", "columns"),
    [(1, 1, 1), (1, 300, 70), (5, 129, 97), (16, 128, 48), (33, 515, 50), (130, 300, 1100)],
)
def test_bits_of_products_as_they_lie(width, element, rows, depth, columns):
    left, right = aten.randn(rows, depth, dtype=element), aten.randn(depth, columns, dtype=element)
    bias = aten.randn(columns, dtype=element)
    strips = in_strips(right)
    product = aten.ops.fused.strips_product
    stepped = aten.randn(2 * rows, 2 * depth, dtype=element)[::2, ::2]
    for given in (left, left.t().contiguous().t(), stepped):
        for added in (None, bias):
            found = multiplied(given, strips, added, columns)
            assert aten.equal(found, product(given, strips, added, columns))
            exact = given.double() @ right.double()
            exact = exact if added is None else exact + added.double()
            aten.testing.assert_close(found.double(), exact, rtol=1e-4, atol=1e-4)
            for row in {0, rows // 2, rows - 1}:
                alone = product(given[row : row + 1], strips, added, columns)
                assert aten.equal(alone, found[row : row + 1])


def test_threads_do_not_change_bits():
    left, right = aten.randn(100, 700), aten.randn(700, 500)
    strips, threads = in_strips(right), aten.get_num_threads()
    product = aten.ops.fused.strips_product
    found = product(left, strips, None, 500)
    try:
        aten.set_num_threads(1)
        assert aten.equal(product(left, strips, None, 500), found)
    finally:
        aten.set_num_threads(threads)


def test_strips_of_another_width_and_wrong_ones():
    left, right = aten.randn(6, 20), aten.randn(20, 10)
    product = aten.ops.fused.strips_product
    narrow = right.reshape(20, 2, 5).permute(1, 0, 2).contiguous()
    aten.testing.assert_close(product(left, narrow, None, 10), left @ right)
    aten.testing.assert_close(product(left, narrow, None, 7), left @ right[:, :7])
    assert product(left[:0], narrow, None, 10).shape == (0, 10)
    strips = in_strips(right)
    for wrong in [
        (left, strips, None, strips.shape[2] + 1),
        (left, strips[0], None, 10),
        (left[:, :5], strips, None, 10),
        (left, strips, aten.randn(4), 10),
        (left, strips.double(), None, 10),
        (left[0], strips, None, 10),
        (left, strips, None, -1),
    ]:
        assert multiplied(*wrong) is None
        with pytest.raises((RuntimeError, IndexError)):
            product(*wrong)


def targets(compiled):
    return {node.target for node in compiled.programs()[0].graph.nodes}


class Always(Choices):
    """All rewrites wherever they are right."""

    def fuses(self, kind, nodes, steady, rule):
        return True


@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("size", [(1, 1), (7, 7), (8, 8), (5,), (2, 3, 4)])
def test_small_images_are_rows_of_products(activation, residual, size, monkeypatch):
    monkeypatch.setattr(functions, "chooser", lambda mode: Always)
    convolve = getattr(aten.nn.functional, f"conv{len(size)}d")
    weight, bias = aten.randn(50, 70, *[1] * len(size)), aten.randn(50)
    added = aten.randn(2, 50, *size)

    def function(x):
        sums = convolve(x, weight, bias)
        return ACTIVATIONS[activation](sums + added if residual else sums)

    compiled = aten.compile(function, mode="default")
    image = aten.randn(2, 70, *size)
    found, expected = compiled(image), function(image)
    aten.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    assert found.stride() == expected.stride()
    assert CONVOLUTION in targets(compiled)


@pytest.mark.parametrize(
    "call",
    [
        lambda x, w: aten.nn.functional.conv2d(x, w, stride=2),
        lambda x, w: aten.nn.functional.conv2d(x, w, padding=1),
        lambda x, w: aten.nn.functional.conv2d(x, w[:, :3], groups=3),
        lambda x, w: aten.nn.functional.conv2d(x.double(), w.double()),
        lambda x, w: aten.nn.functional.conv2d(x.transpose(2, 3), w),
        lambda x, w: aten.nn.functional.conv2d(x.to(memory_format=aten.channels_last), w),
        lambda x, w: aten.nn.functional.conv2d(x.repeat(1, 1, 2, 3), w),
        lambda x, w: aten.nn.functional.conv2d(x, w.expand(9, 9, 2, 2)),
        lambda x, w: aten.nn.functional.conv2d(x[0], w),
        lambda x, w: aten.nn.functional.conv_transpose2d(x, w),
        lambda x, w: aten.nn.functional.conv2d(x, w) + x[:, :, :1, :1],
    ],
)
def test_other_convolutions_give_what_they_gave(call):
    weight = aten.randn(9, 9, 1, 1)
    image = aten.randn(3, 9, 6, 6)
    compiled = aten.compile(lambda x: call(x, weight))
    found, expected = compiled(image), call(image, weight)
    aten.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    assert found.stride() == expected.stride()


def test_an_image_has_its_bits_whatever_is_beside_it():
    strips = in_strips(aten.randn(300, 200))
    convolution = aten.ops.fused.strips_convolution
    threads = aten.get_num_threads()
    for size in ((1, 1), (7, 7), (3,)):
        images = aten.randn(5, 300, *size)
        ones = [1] * len(size)
        window = (ones, ones, [0] * len(size), ones, "silu", [])
        found = convolution(images, strips, None, None, 200, *window)
        for image in range(5):
            alone = convolution(images[image : image + 1], strips, None, None, 200, *window)
            assert aten.equal(alone, found[image : image + 1])
        try:
            aten.set_num_threads(1)
            again = convolution(images, strips, None, None, 200, *window)
        finally:
            aten.set_num_threads(threads)
        assert aten.equal(again, found)


WINDOWS = [
    ((3, 3), {"padding": 1}, (7, 7)),
    ((3, 3), {"padding": 1, "stride": 2}, (14, 14)),
    ((1, 1), {"stride": 2}, (14, 13)),
    ((3, 2), {"padding": (2, 1), "stride": (3, 1), "dilation": (2, 3)}, (19, 8)),
    ((5, 5), {"padding": 2}, (3, 2)),
    ((2, 2), {}, (2, 2)),
]


@pytest.mark.parametrize(("kernel", "options", "size"), WINDOWS)
@pytest.mark.parametrize("residual", [False, True])
def test_few_positions_see_copies(kernel, options, size, residual):
    taps = kernel[0] * kernel[1]
    channels, results = 130, -(-(1 << 17) // (130 * taps))
    weight, bias = aten.randn(results, channels, *kernel), aten.randn(results)
    images = aten.randn(3, channels, *size)
    plain = aten.nn.functional.conv2d(images, weight, bias, **options)
    added = aten.randn(plain.shape)

    def function(x):
        sums = aten.nn.functional.conv2d(x, weight, bias, **options)
        return aten.nn.functional.silu(sums + added[: len(x)]) if residual else sums

    compiled = aten.compile(function)
    found, expected = compiled(images), function(images)
    aten.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)
    assert found.stride() == expected.stride()
    assert CONVOLUTION in targets(compiled)
    strips = next(one for one in compiled.programs()[0].preparation() if one.dim() == 3)
    for image in range(3):
        one = images[image : image + 1]
        alone = aten.ops.fused.strips_convolution(
            one, strips, bias, None, results, *of(options, kernel)
        )
        every = aten.ops.fused.strips_convolution(
            images, strips, bias, None, results, *of(options, kernel)
        )
        assert aten.equal(alone, every[image : image + 1])


@pytest.mark.parametrize("window", [1, 3])
def test_no_images(window):
    weight = aten.randn(128, 128, window, window)
    compiled = aten.compile(lambda x: aten.relu(aten.nn.functional.conv2d(x, weight)))
    assert compiled(aten.randn(0, 128, 7, 7)).shape == (0, 128, 8 - window, 8 - window)
    assert (CONVOLUTION in targets(compiled)) == (window > 1)


@pytest.mark.parametrize(
    ("images", "channels", "size", "window", "padding"),
    [(80, 256, 7, 3, 1), (700, 128, 6, 6, 0), (70, 256, 8, 1, 0), (3000, 70, 1, 1, 0)],
)
def test_many_images_in_rounds(images, channels, size, window, padding):
    strips = in_strips(aten.randn(channels * window * window, 50))
    bias = aten.randn(50)
    shape = ([window] * 2, [1, 1], [padding] * 2, [1, 1], "silu", [])
    convolution = aten.ops.fused.strips_convolution
    x = aten.randn(images, channels, size, size)
    residual = aten.randn(convolution(x, strips, bias, None, 50, *shape).shape)
    found = convolution(x, strips, bias, residual, 50, *shape)
    for image in (0, images // 2, images - 1):
        one = slice(image, image + 1)
        alone = convolution(x[one], strips, bias, residual[one], 50, *shape)
        assert aten.equal(alone, found[one])
    weight = joined(strips, 50).t().reshape(50, window, window, channels).permute(0, 3, 1, 2)
    exact = aten.nn.functional.conv2d(x, weight, bias, padding=padding) + residual
    aten.testing.assert_close(found, aten.nn.functional.silu(exact), rtol=1e-3, atol=2e-3)


def of(options, kernel):
    """What an operator is given for these options: lists, and no activation."""
    listed = [
        list(found) if isinstance(found := options.get(name, one), tuple) else [found, found]
        for name, one in (("stride", 1), ("padding", 0), ("dilation", 1))
    ]
    return (list(kernel), *listed, "none", [])


def test_wrong_convolutions_with_strips():
    strips, image = in_strips(aten.randn(6, 10)), aten.randn(2, 6, 4, 4)
    convolution = aten.ops.fused.strips_convolution
    window = ([1, 1], [1, 1], [0, 0], [1, 1])
    for wrong in [
        (image[:, :5], strips, None, None, 10, *window, "none", []),
        (image, strips[0], None, None, 10, *window, "none", []),
        (image, strips, aten.randn(4), None, 10, *window, "none", []),
        (image, strips, None, aten.randn(7), 10, *window, "none", []),
        (image, strips, None, None, strips.shape[2] + 1, *window, "none", []),
        (image, strips, None, None, 10, *window, "tan", []),
        (image, strips, None, None, 10, *window, "hardtanh", [1.0]),
        (image, strips, None, None, 10, [2, 2], *window[1:], "none", []),
        (image, strips, None, None, 10, [1, 1], [0, 1], *window[2:], "none", []),
        (image, strips, None, None, 10, [1, 1], [1, 1], [-1, 0], [1, 1], "none", []),
        (image, strips, None, None, 10, [1, 1], [1, 1], [0, 0], [1, 0], "none", []),
        (image, strips, None, None, 10, [9, 9], *window[1:], "none", []),
    ]:
        with pytest.raises((RuntimeError, IndexError)):
            convolution(*wrong)


def test_files_keep_strips(tmp_path):
    class Net(aten.nn.Module):
        def __init__(self):
            super().__init__()
            self.squeeze = aten.nn.Conv2d(6, 4, 1)
            self.last = aten.nn.Linear(4, 5)

        def forward(self, x):
            mean = x.mean((2, 3), keepdim=True)
            return self.last(aten.relu(self.squeeze(mean)).flatten(1))

    net, image = Net().eval(), aten.randn(2, 6, 3, 3)
    program, file = tmp_path / "net.pt2", tmp_path / "net.atenc"
    aten.export.save(aten.export.export(net, (image,)), program)
    command = [sys.executable, "-m", "aten.cli", "compile", str(program), "-o", str(file)]
    subprocess.run(command, check=True, capture_output=True)
    loaded = ahead.load(file)
    (found,) = loaded.flat_call([image])
    aten.testing.assert_close(found, net(image))
    assert b"strips_convolution" in file.read_bytes()

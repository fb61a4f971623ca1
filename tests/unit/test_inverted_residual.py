"""`fused::inverted_residual` and the convolutions it stands for: the very same bits."""

from __future__ import annotations

import numpy
import pytest
from window_operands import drawn, numbers_of_both

import aten
from aten.backends.cpu.kernels.windows import expanding
from aten.compiler import ahead
from aten.nn import functional

op = aten.ops.fused.inverted_residual
pair = aten.ops.fused.expanded_convolution
one = aten.ops.fused.convolution_epilogue
# Images, channels, first window, stride and padding, second window, stride and padding, results:
# bands that are cut and whole ones, several images, rows beyond the image on either side, more
# channels than a stretch of the last one's sums, windows with gaps.
BLOCKS = [
    ((2, 16, 32, 48), 24, 1, 1, 0, 3, 1, 1, 16),
    ((1, 16, 112, 112), 96, 1, 1, 0, 3, 2, [0, 0, 1, 1], 24),
    ((1, 3, 96, 80), 40, 3, 2, [0, 0, 1, 1], 3, 1, 1, 16),
    ((3, 4, 64, 64), 17, 3, 2, 1, 5, 2, 2, 33),
    ((1, 8, 120, 120), 16, 1, 1, [0, 0, 8, 8], 3, 1, 0, 9),
    ((1, 24, 56, 56), 144, 1, 1, 0, 3, 1, 1, 24),
    ((1, 6, 40, 250), 130, 1, 1, 0, 3, 1, 1, 7),
    ((5, 4, 6, 8), 8, 1, 1, 0, 3, 1, 1, 4),
    ((1, 5, 128, 128), 18, 2, 2, 0, 3, 4, 1, 5),
]


pytestmark = pytest.mark.usefixtures("window_vectors")


def numbers(block, activations=("none", "none"), dilation=1):
    *_, first_step, first_padding, _, step, padding, _ = block
    return numbers_of_both(first_step, first_padding, step, padding, activations, dilation)


def operands(block, with_bias=True, with_residual=False):
    sizes, channels, first, _, _, second, *_, results = block
    weights = (
        drawn(channels, sizes[1], first, first),
        drawn(channels, 1, second, second, seed=1),
        drawn(results, channels, 1, 1, seed=2),
    )
    biases = (drawn(channels), drawn(channels, seed=1), drawn(results)) if with_bias else [None] * 3
    given = [drawn(*sizes), *weights, *biases, None]
    if with_residual:
        given[-1] = drawn(*apart(given, numbers(block)).shape, seed=3)
    return given


def apart(given, said):
    image, expansion, weight, projection, first_bias, bias, last_bias, residual = given
    seen = pair(image, expansion, weight, first_bias, bias, *said)
    window = ([1, 1], [0, 0], [1, 1], 1, "none", [])
    return one(seen, projection, last_bias, residual, *window)


def assert_same(given, said):
    found, expected = op(*given, *said), apart(given, said)
    assert found.shape == expected.shape
    assert found.stride() == expected.stride()
    numpy.testing.assert_array_equal(found.numpy(), expected.numpy())


@pytest.mark.parametrize("block", BLOCKS, ids=str)
@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("with_residual", [True, False])
def test_it_is_all_three(block, with_bias, with_residual):
    given = operands(block, with_bias, with_residual)
    assert expanding.projected(*given, *numbers(block)) is not None
    assert_same(given, numbers(block))
    assert_same(given, numbers(block, ("hardtanh", "silu")))


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_neither_threads_nor_other_images_change_bits(block):
    image, *others = operands(block)
    image = aten.cat([drawn(*image.shape, seed=7), image])
    before = aten.get_num_threads()
    found = []
    try:
        for count in (1, 2, 3, 5):
            aten.set_num_threads(count)
            found.append(op(image, *others, *numbers(block)).numpy().tobytes())
    finally:
        aten.set_num_threads(before)
    assert len(set(found)) == 1
    assert found[0].endswith(op(image[-1:], *others, *numbers(block)).numpy().tobytes())


@pytest.mark.parametrize("place", range(8))
@pytest.mark.parametrize("value", [numpy.nan, numpy.inf])
def test_what_is_not_finite(place, value):
    given = [part.clone() for part in operands(BLOCKS[0], with_residual=True)]
    given[place].view(-1)[3] = value
    assert_same(given, numbers(BLOCKS[0]))


def test_calls_that_are_not_for_the_kernel():
    given, said = operands(BLOCKS[0], with_residual=True), numbers(BLOCKS[0])

    def changed(place, value):
        return [*given[:place], value, *given[place + 1 :]]

    strided = aten.stack([given[0], given[0]], -1)[..., 0]
    turned = given[-1].to(memory_format=aten.channels_last)
    for call in (
        changed(0, strided),
        changed(0, given[0].to(memory_format=aten.channels_last)),
        [part.double() for part in given],
        changed(7, turned),
        changed(7, given[7][:1].expand_as(given[7])),
        changed(7, given[7][:1]),
    ):
        assert expanding.projected(*call, *said) is None
        found, expected = op(*call, *said), apart(call, said)
        aten.testing.assert_close(found, expected, check_stride=True)
    # One or two positions of sixteen are summed in another order.
    left_over = operands(((1, 4, 5, 13), 8, 1, 1, 0, 3, 1, 1, 4))
    assert expanding.projected(*left_over, *said) is None
    assert_same(left_over, said)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        *[(1, (24, 15, 1, 1)), (2, (23, 1, 3, 3)), (2, (24, 2, 3, 3)), (4, (23,)), (5, (25,))],
        *[(3, (16, 23, 1, 1)), (3, (16, 24, 1)), (6, (15,)), (7, (2, 16, 31, 48))],
    ],
)
def test_sizes_that_do_not_go_together(place, value):
    given = operands(BLOCKS[0])
    given[place] = drawn(*value)
    with pytest.raises(RuntimeError):
        op(*given, *numbers(BLOCKS[0]))


class Inverted(aten.nn.Module):
    """The block of MobileNet-v2, which adds its input where sizes allow."""

    def __init__(self, channels=8, results=8, stride=1, activation=functional.relu6):
        super().__init__()
        self.first = aten.nn.Conv2d(channels, 40, 1)
        self.second = aten.nn.Conv2d(40, 40, 3, stride=stride, padding=1, groups=40)
        self.third = aten.nn.Conv2d(40, results, 1)
        self.adds, self.activation = channels == results and stride == 1, activation

    def forward(self, x):
        made = self.activation(self.second(self.activation(self.first(x))))
        return self.third(made) + x if self.adds else self.third(made)


def targets(compiled):
    return [node.target for node in compiled._compiled.programs()[0].graph.nodes]


@pytest.mark.parametrize(
    "settings", [{}, {"results": 5}, {"stride": 2, "activation": functional.silu}]
)
def test_blocks_of_compiled_programs_are_one_call(settings):
    module = Inverted(**settings).eval()
    compiled, image = aten.compile(module), drawn(2, 8, 112, 112)
    with aten.no_grad():
        numpy.testing.assert_allclose(
            compiled(image).numpy(), module(image).numpy(), rtol=1e-4, atol=1e-5
        )
    assert targets(compiled).count("fused.inverted_residual.default") == 1
    assert "fused.expanded_convolution.default" not in targets(compiled)


def test_what_others_read_or_change_stays_apart():
    module, image = Inverted().eval(), drawn(1, 8, 112, 112)

    class Read(aten.nn.Module):
        def __init__(self):
            super().__init__()
            self.block = module

        def forward(self, x):
            seen = functional.relu6(module.second(functional.relu6(module.first(x))))
            return functional.relu(module.third(seen)), seen.sum(1)

    compiled = aten.compile(Read().eval())
    with aten.no_grad():
        for found, expected in zip(compiled(image), Read().eval()(image), strict=True):
            numpy.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-4, atol=1e-4)
    assert "fused.inverted_residual.default" not in targets(compiled)


def test_kernels_of_others_are_met():
    module, image = Inverted().eval(), drawn(1, 8, 112, 112)
    compiled, library = aten.compile(module), aten.library.Library("aten", "IMPL")

    def nothing(image, weight, *others):
        return aten.zeros(1, len(weight), 112, 112)

    with aten.no_grad():
        expected = compiled(image)
        with pytest.warns(UserWarning, match="convolution"):
            library.impl("convolution", nothing, "CPU")
        try:
            assert aten.equal(compiled(image), image)
        finally:
            library._destroy()
        assert aten.equal(compiled(image), expected)


def test_programs_compiled_ahead_call_it(tmp_path):
    module, image = Inverted().eval(), drawn(1, 8, 112, 112)
    path = tmp_path / "inverted.atenc"
    ahead.compile_program(aten.export.export(module, (image,)), path)
    assert b"inverted_residual" in path.read_bytes()
    with aten.no_grad():
        (found,) = ahead.load(path).flat_call([image])
        numpy.testing.assert_allclose(found.numpy(), module(image).numpy(), 1e-4, 1e-5)

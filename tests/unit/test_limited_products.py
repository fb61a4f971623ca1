"""Products by matrices in strips whose results are cut off."""

import pytest

import aten
from aten import nn
from aten.backends.cpu.kernels.matrix.strips import multiplied, width_of_strips
from aten.compiler import ahead

product = aten.ops.fused.strips_product
LIMITS = [(0.0, None), (0.0, 6.0), (-0.5, 0.25), (None, 1.0), (None, None), (-float("inf"), 2.0)]


@pytest.fixture(autouse=True)
def _threads():
    before = aten.get_num_threads()
    yield
    aten.set_num_threads(before)


def operands(rows, depth, columns, dtype):
    matrix = aten.randn(depth, columns, dtype=dtype)
    strips = aten.ops.fused.strips(matrix, width_of_strips(dtype.name, columns))
    return aten.randn(rows, depth, dtype=dtype), strips, aten.randn(columns, dtype=dtype)


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("dtype", [aten.float32, aten.float64])
@pytest.mark.parametrize("sizes", [(1, 9, 5), (3, 70, 130), (64, 40, 33), (300, 65, 500)], ids=str)
def test_it_is_the_product_cut_off(sizes, dtype, limits):
    left, strips, bias = operands(*sizes, dtype)
    for added in (bias, None):
        plain = product(left, strips, added, sizes[2])
        given = {"min": limits[0], "max": limits[1]}
        expected = plain if limits == (None, None) else aten.clamp(plain, **given)
        for threads in (1, 2, 3):
            aten.set_num_threads(threads)
            made = product(left, strips, added, sizes[2], *limits)
            assert made.numpy().tobytes() == expected.numpy().tobytes()
        assert aten.equal(multiplied(left, strips, added, sizes[2], *limits), expected)
    assert aten.equal(
        multiplied(left, strips, bias, sizes[2]), product(left, strips, bias, sizes[2])
    )


def test_what_is_no_number_stays_and_infinities_are_cut_off():
    left, strips, bias = operands(4, 6, 7, aten.float32)
    bias[0], bias[1], bias[2] = float("nan"), float("inf"), -float("inf")
    made = product(left, strips, bias, 7, 0.0, 6.0)
    assert made[:, 0].isnan().all()
    assert (made[:, 1] == 6).all()
    assert (made[:, 2] == 0).all()


@pytest.mark.parametrize("limits", [(float("nan"), None), (1, 2), (3.0, -1.0)], ids=str)
def test_limits_that_others_know(limits):
    """What is no ordinary limit is what `clamp` makes of it."""
    left, strips, bias = operands(4, 6, 7, aten.float32)
    expected = aten.clamp(product(left, strips, bias, 7), *limits)
    made = product(left, strips, bias, 7, *limits)
    assert aten.equal(made.nan_to_num(9), expected.nan_to_num(9))


class Cut(nn.Module):
    """Activations right behind products, behind views, and where they are no limits."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Linear(*sizes) for sizes in ((64, 700), (700, 900), (900, 33), (33, 20), (20, 20))
        )

    def forward(self, x):
        cuts = (nn.functional.relu, nn.functional.relu6, nn.functional.hardtanh)
        for layer, cut in zip(self.layers, cuts, strict=False):
            x = cut(layer(x))
        return nn.functional.gelu(self.layers[3](x)), nn.functional.relu(
            self.layers[4](x[..., :20])
        )


def targets(compiled):
    return [node.target for node in compiled.programs()[-1].graph.nodes]


@pytest.mark.parametrize("shape", [(7, 64), (3, 5, 64), (200, 64)], ids=str)
def test_compiled_programs_take_limits_into_products(shape):
    model = Cut().eval()
    compiled = aten.compile(lambda x: model(x))
    x = aten.randn(*shape)
    with aten.no_grad():
        expected = model(x)
        # The first call lays weights out a piece at a time.
        for _ in range(3):
            for made, one in zip(compiled(x), expected, strict=True):
                aten.testing.assert_close(made, one)
                assert made._base is None
    called = targets(compiled)
    assert "aten.relu6.default" not in called
    assert "aten.hardtanh.default" not in called
    # A result is no view: behind one the activation stays.
    assert called.count("aten.relu.default") == (len(shape) == 3)


def test_first_calls_have_the_same_bits():
    model = nn.Sequential(nn.Linear(300, 3000), nn.ReLU(), nn.Linear(3000, 40)).eval()
    compiled = aten.compile(lambda x: model(x))
    x = aten.randn(5, 300)
    with aten.no_grad():
        results = [compiled(x).numpy().tobytes() for _ in range(3)]
    assert results[0] == results[1] == results[2]


def test_what_something_else_reads_is_not_cut_off():
    layer = nn.Linear(30, 40)

    def function(x):
        made = layer(x)
        return made.relu(), made + 1

    compiled = aten.compile(function)
    x = aten.randn(6, 30)
    with aten.no_grad():
        for made, expected in zip(compiled(x), function(x), strict=True):
            assert aten.equal(made, expected)


def test_kernels_that_somebody_registers_are_met():
    layer = nn.Linear(30, 40)
    compiled = aten.compile(lambda x: layer(x).relu())
    x = aten.randn(6, 30)
    library = aten.library.Library("aten", "IMPL", "CPU")
    with aten.no_grad():
        expected = compiled(x)
        try:
            with pytest.warns(UserWarning, match="is overridden"):
                library.impl("relu", lambda x: x - x)
            assert (compiled(x) == 0).all()
        finally:
            library._destroy()
        assert aten.equal(compiled(x), expected)


def test_files_have_them(tmp_path):
    model = nn.Sequential(nn.Linear(30, 50), nn.ReLU(), nn.Linear(50, 20), nn.ReLU6()).eval()
    x = aten.randn(6, 30)
    with aten.no_grad():
        program = aten.export.export(model, (x,))
        aten.export.save(program, tmp_path / "cut.pt2")
        loaded = aten.export.load(tmp_path / "cut.pt2")
        ahead.compile_program(loaded, tmp_path / "cut.atenc")
        made = ahead.load(tmp_path / "cut.atenc").flat_call([x])[0]
        assert aten.allclose(made, model(x), atol=1e-6)
        assert aten.equal(made, aten.compile(loaded.module())(x))

"""`aten.compile`: programs give what they give eagerly, by fewer kernels."""

from __future__ import annotations

import threading

import pytest

import aten
from aten import nn
from aten.compiler import explain
from aten.nn import functional


def fused(compiled) -> list[str]:
    """The kernels of a compiled function, as `explain` names them."""
    lines = explain(compiled).splitlines()
    return [line.partition("one kernel for ")[2] for line in lines if "one kernel" in line]


def same(given, expected) -> None:
    """The same bits, and the same steps through memory."""
    assert (given.dtype, given.shape) == (expected.dtype, expected.shape)
    assert given.stride() == expected.stride()
    assert bool(((given == expected) | ((given != given) & (expected != expected))).all())


def normalized(x, weight, bias):
    hidden = functional.gelu(x * weight + bias)
    return (hidden - hidden.mean(-1, keepdim=True)) / hidden.std(-1, keepdim=True)


def test_a_chain_with_folds_is_one_kernel():
    compiled = aten.compile(normalized)
    x, weight, bias = aten.randn(64, 96), aten.randn(96), aten.randn(96)
    same(compiled(x, weight, bias), normalized(x, weight, bias))
    same(compiled(x, weight, bias), normalized(x, weight, bias))
    assert fused(compiled) == ["mul, add, gelu, mean, sub, std, div"]


@pytest.mark.parametrize("dtype", [aten.bfloat16, aten.float16, aten.float64, aten.complex64])
def test_what_lies_between_two_operators_is_rounded_to_its_type(dtype):
    def program(x, y):
        return (x * y + x) * y - x, (x + y) * 0.3

    compiled = aten.compile(program)
    x, y = aten.randn(33, 7).to(dtype), aten.randn(7).to(dtype)
    for given, expected in zip(compiled(x, y), program(x, y), strict=True):
        same(given, expected)
    assert len(fused(compiled)) >= 1


@pytest.mark.parametrize("dtype", [aten.bfloat16, aten.float16, aten.float64, aten.complex64])
def test_numbers_to_choose_are_of_the_type_that_is_chosen(dtype):
    def program(x, y):
        return aten.where(x.real > 0, x * y, 0), aten.where(x.real > 0, 2, x), x.where(y == 1, 0.5)

    compiled = aten.compile(program)
    x, y = aten.randn(33, 7).to(dtype), aten.randn(7).to(dtype)
    for given, expected in zip(compiled(x, y), program(x, y), strict=True):
        same(given, expected)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (5, 1, 4)])
def test_shapes(shape):
    def program(x):
        return (x.relu() + 1).exp(), x * x - x

    compiled = aten.compile(program)
    x = aten.randn(shape)
    for given, expected in zip(compiled(x), program(x), strict=True):
        same(given, expected)


def test_strides():
    def program(x, y):
        return (x + y) * x.sigmoid()

    compiled = aten.compile(program)
    whole = aten.randn(6, 8, 10)
    for x in (whole.transpose(0, 2), whole[::2, 1::3].mT, whole[0].expand(3, 8, 10)):
        same(compiled(x, x[:1]), program(x, x[:1]))
    assert len(compiled.programs()) == 3


def test_arguments_and_results_are_nests():
    @aten.compile
    def program(pair, *, scale, names=()):
        return {"sum": (pair["x"] + pair["y"][0]) * scale, "names": names, "none": None}

    x = aten.ones(3)
    made = program({"x": x, "y": [x]}, scale=2.0, names=("a", "b"))
    assert made["sum"].tolist() == [4, 4, 4]
    assert made["names"] == ("a", "b")
    assert made["none"] is None
    assert program({"x": x, "y": [x]}, scale=3.0)["sum"].tolist() == [6, 6, 6]


def test_writes_to_arguments_are_there():
    @aten.compile
    def program(x, y):
        x.add_(1).mul_(y)
        x[0] = 7
        return x + 1

    x = aten.tensor([1.0, 2.0])
    assert program(x, aten.tensor([3.0, 4.0])).tolist() == [8, 13]
    assert x.tolist() == [7, 12]
    assert program(x, aten.tensor([3.0, 4.0])).tolist() == [8, 53]


def test_returned_arguments_and_views_of_them():
    @aten.compile
    def program(x):
        return x, x.t(), (x + 1)[0]

    x = aten.zeros(2, 3)
    itself, turned, row = program(x)
    assert itself is x
    turned.add_(1)
    assert x.tolist() == [[1, 1, 1]] * 2
    assert row.tolist() == [1, 1, 1]


def test_arguments_that_share_memory():
    def program(x, y):
        return x.add_(1) * y

    compiled = aten.compile(program)
    x, other = aten.ones(3), aten.ones(3)
    assert compiled(x, x[:1]).tolist() == program(other, other[:1]).tolist() == [4, 4, 4]
    assert compiled(aten.ones(3), aten.ones(1)).tolist() == [2, 2, 2]
    assert compiled(x, x[:1]).tolist() == [9, 9, 9]
    assert "share memory" in explain(compiled)


def test_moments_are_counted():
    module = nn.BatchNorm2d(3)
    other = nn.BatchNorm2d(3)
    x = aten.randn(4, 3, 5, 5)
    with aten.no_grad():
        compiled = aten.compile(module)
        for _ in range(3):
            given, expected = compiled(x), other(x)
            assert aten.allclose(given, expected, atol=1e-6)
    assert module.num_batches_tracked.item() == 3
    assert aten.allclose(module.running_var, other.running_var)


def test_batch_norms_are_taken_into_convolutions():
    module = nn.Sequential(nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU()).eval()
    x = aten.randn(2, 3, 9, 9)
    compiled = aten.compile(module)
    with aten.no_grad():
        module[1].running_mean.copy_(aten.randn(8))
        for change in (1.0, 2.0, 3.0):
            module[1].weight.mul_(change)  # what was computed from it is computed again
            module[0].weight.add_(0.1)
            assert aten.allclose(compiled(x), module(x), atol=1e-5)
    assert "native_batch_norm" not in str(compiled._compiled.programs()[0].graph)


def test_weights_are_those_of_the_module_now():
    module = nn.Linear(3, 2)
    compiled = aten.compile(module)
    x = aten.randn(4, 3)
    with aten.no_grad():
        same(compiled(x), module(x))
        module.weight.zero_()
        same(compiled(x), module(x))
        module.weight.data = aten.ones(2, 3)
        same(compiled(x), module(x))
        module.weight = nn.Parameter(aten.full((2, 3), 2.0))
        same(compiled(x), module(x))
    assert compiled.weight is module.weight
    assert [*compiled.state_dict()] == ["_orig_mod.weight", "_orig_mod.bias"]


_FACTOR = 2.0


def test_what_is_around_the_function_is_looked_at(monkeypatch):
    shift = aten.ones(2)
    add = 1

    @aten.compile
    def program(x):
        return x * _FACTOR + shift + add

    x = aten.ones(2)
    assert program(x).tolist() == [4, 4]
    add = 5
    assert program(x).tolist() == [8, 8]
    monkeypatch.setitem(globals(), "_FACTOR", 3.0)
    assert program(x).tolist() == [9, 9]
    shift = aten.zeros(2)
    assert program(x).tolist() == [8, 8]
    assert "changed: add" in explain(program)


def test_calls_with_many_operands():
    def program(x):
        return aten.stack([x * place for place in range(100)]).sum(0)

    x = aten.randn(5)
    same(aten.compile(program)(x), program(x))


def test_what_depends_on_data_runs_eagerly_and_is_named():
    def program(x):
        if x.sum() > 0:
            return x + 1
        return x - 1

    compiled = aten.compile(program)
    assert compiled(aten.ones(2)).tolist() == [2, 2]
    assert compiled(-aten.ones(2)).tolist() == [-2, -2]
    assert "test_compile.py" in explain(compiled)
    with pytest.raises(RuntimeError, match="not one graph: item"):
        aten.compile(program, fullgraph=True)(aten.ones(2))


def test_other_tensors_run_eagerly():
    compiled = aten.compile(lambda x: (x + 1) * 2)
    assert compiled(aten.ones(2, device="meta")).is_meta
    conjugate = aten.tensor([1 + 2j]).conj()
    assert compiled(conjugate).tolist() == [4 - 4j]
    assert aten.vmap(compiled)(aten.ones(2, 3)).tolist() == [[4.0] * 3] * 2
    assert explain(compiled).count("run eagerly") >= 2


def test_autocast_decides_what_operators_are():
    def program(x):
        return (x @ x).softmax(-1) * 2

    compiled = aten.compile(program)
    x = aten.randn(4, 4)
    same(compiled(x), program(x))
    with aten.autocast("cpu", dtype=aten.bfloat16):
        same(compiled(x), program(x))
    same(compiled(x), program(x))


def test_programs_are_bounded():
    compiled = aten.compile(lambda x: (x + 1) * 2)
    for size in range(1, 200):
        assert compiled(aten.ones(size)).shape == (size,)
    assert len(compiled.programs()) <= 64


def test_random_numbers_are_those_of_the_program():
    def program(x):
        return functional.dropout(x + 1, 0.5) * aten.rand(4)

    compiled = aten.compile(program)
    x = aten.ones(4)
    for _ in range(2):
        aten.manual_seed(3)
        given = compiled(x), compiled(x)
        aten.manual_seed(3)
        for one, other in zip(given, (program(x), program(x)), strict=True):
            same(one, other)


def test_kernels_of_others_are_met():
    library = aten.library.Library("aten", "IMPL")
    compiled = aten.compile(lambda x: (x + 1).sigmoid() * 2)
    x = aten.zeros(2)
    before = compiled(x)
    library.impl("sigmoid", lambda self: aten.full_like(self, 5.0), "AutogradCPU")
    try:
        assert compiled(x).tolist() == [10, 10]
    finally:
        library._destroy()
    same(compiled(x), before)


def test_threads():
    compiled = aten.compile(normalized)
    found: list[bool] = []

    def work(seed: int) -> None:
        generator = aten.Generator().manual_seed(seed)
        for size in (16, 24, 16):
            x = aten.randn(size, 32, generator=generator)
            weight = aten.randn(32, generator=generator)
            given = compiled(x, weight, weight)
            found.append(bool((given == normalized(x, weight, weight)).all()))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert found == [True] * 18


def gradients(module, function, *inputs):
    for one in module.parameters():
        one.grad = None
    loss = function(*inputs)
    loss.backward()
    return [loss, *(one.grad for one in module.parameters())]


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gradients_are_those_of_the_program(approximate):
    module = nn.Sequential(
        nn.Linear(8, 16), nn.GELU(approximate), nn.LayerNorm(16), nn.Dropout(0.5), nn.Linear(16, 4)
    )

    def loss(x, target):
        return functional.cross_entropy(module(x), target)

    compiled = aten.compile(loss)
    x, target = aten.randn(5, 8, requires_grad=True), aten.tensor([0, 1, 2, 3, 0])
    for _ in range(2):
        aten.manual_seed(0)
        expected = gradients(module, loss, x, target)
        aten.manual_seed(0)
        given = gradients(module, compiled, x, target)
        for one, other in zip(given, expected, strict=True):
            assert aten.allclose(one, other, rtol=1e-5, atol=1e-7)
    assert not compiled.breaks
    (first,) = aten.autograd.grad(compiled(x, target), x, create_graph=True)
    with pytest.raises(RuntimeError, match="second time"):
        first.sum().backward()


def test_some_results_without_gradients():
    weight = nn.Parameter(aten.randn(3))

    def program(x):
        scaled = x * weight
        return scaled.tanh() * 2, scaled.argmax(), x + 1, scaled.exp().sum()

    compiled = aten.compile(program)
    x = aten.randn(3)
    first, place, plain, last = compiled(x)
    assert [one.requires_grad for one in (first, place, plain, last)] == [True, False, False, True]
    last.backward()  # nothing comes back of the first
    found, weight.grad = weight.grad, None
    program(x)[3].backward()
    assert aten.allclose(found, weight.grad)


def test_writes_to_what_is_read_on_the_way_back_run_eagerly():
    weight = nn.Parameter(aten.ones(2))

    def program(x):
        return x.mul_(2) * weight

    compiled = aten.compile(program)
    x = aten.ones(2)
    compiled(x).sum().backward()
    assert weight.grad.tolist() == [2, 2]
    assert x.tolist() == [2, 2]
    assert "written to" in explain(compiled)


def test_moments_are_counted_with_gradients():
    modules = [nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU()) for _ in range(2)]
    modules[1].load_state_dict(modules[0].state_dict())
    x = aten.randn(4, 2, 6, 6)
    compiled = aten.compile(modules[0])
    for _ in range(3):
        for module, call in zip(modules, (compiled, modules[1]), strict=True):
            for one in module.parameters():
                one.grad = None
            call(x).square().mean().backward()
        for one, other in zip(*(module.parameters() for module in modules), strict=True):
            assert aten.allclose(one.grad, other.grad, rtol=1e-4, atol=1e-6)
    assert not compiled._compiled.breaks
    for one, other in zip(*(module.buffers() for module in modules), strict=True):
        assert aten.allclose(one, other, rtol=1e-5, atol=1e-6)


def test_wrong_calls():
    with pytest.raises(ValueError, match="expected a backend"):
        aten.compile(lambda x: x, backend="nowhere")
    with pytest.raises(TypeError, match="what aten"):
        explain(len)
    with pytest.raises(RuntimeError, match="must match"):
        aten.compile(lambda x, y: x + y)(aten.ones(2), aten.ones(3))


def test_nothing_is_compiled_where_that_is_asked():
    def program(x):
        return x

    assert aten.compile(program, disable=True) is program
    assert aten.compile(program, backend="eager") is program
    told = aten.compile(lambda x: x * (2 if aten.compiler.is_compiling() else 3))
    assert told(aten.ones(1)).item() == 2
    aten.compiler.reset()


@pytest.mark.parametrize(
    "function",
    [
        *(aten.sigmoid, aten.tanh, aten.exp, aten.log, aten.sin, aten.cos, aten.tan, aten.atan),
        *(aten.erf, aten.rsqrt, aten.expm1, aten.log1p, aten.sinh, aten.asin, aten.lgamma),
        *(functional.silu, functional.gelu, functional.mish, functional.softplus),
        lambda x: aten.atan2(x, x + 1),
        lambda x: x.abs() ** 1.7,
        lambda x: aten.fmod(x, 0.7),
    ],
)
def test_functions_are_as_exact_in_folds_as_alone(function):
    """A loop with folds does not test for what is rare: values are right all the same."""
    x = aten.randn(4, 300) * aten.tensor([[0.01], [1.0], [10.0], [200.0]])
    program = aten.compile(lambda x: function(x) + x.amax(-1, keepdim=True) * 0)
    given, exact = program(x).double(), function(x.double())
    assert len(fused(program)) == 1
    alone = function(x).double()
    error, least = (given - exact).abs(), 2.0**-23 * exact.abs() + 1e-37
    assert bool(((error <= 2 * least) | (error <= (alone - exact).abs()) | exact.isnan()).all())


def convolved(activation, residual=False, groups=1, channels=8):
    class Convolved(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Conv2d(channels, channels, 3, padding=1, groups=groups)
            self.norm = nn.BatchNorm2d(channels)
            self.second = nn.Conv2d(channels, channels, 1)

        def forward(self, x):
            found = self.norm(self.first(x))
            if residual:
                found = found + self.second(x)
            return activation(found)

    return Convolved().eval()


TAKEN = (
    *(functional.relu, functional.relu6, functional.silu, functional.hardswish, aten.sigmoid),
    *(functional.gelu, lambda x: functional.gelu(x, approximate="tanh")),
)


@pytest.mark.parametrize("activation", [*TAKEN, lambda x: x, aten.sin])
@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("groups", [1, 8])
def test_convolutions_take_what_follows_them(activation, residual, groups):
    module = convolved(activation, residual, groups)
    compiled = aten.compile(module)
    for x in (aten.randn(2, 8, 9, 7), aten.randn(2, 8, 9, 7).to(memory_format=aten.channels_last)):
        with aten.no_grad():
            found, expected = compiled(x), module(x)
        assert aten.allclose(found, expected, rtol=1e-4, atol=1e-5)
        assert found.stride() == expected.stride()
    calls = [
        node
        for node in compiled._compiled.programs()[0].graph.nodes
        if node.target == "fused.convolution_epilogue.default"
        or (
            node.target == "fused.strips_convolution.default" and node.args[3:6:2] != (None, "none")
        )
    ]
    assert len(calls) == int(residual or activation in TAKEN)


@pytest.mark.parametrize(
    "sizes",
    [(1, 1, 2, 2), (0, 0, 1, 1), (1, 0, 1, 0), (0, 1, 0, 1), (0, 1, 3, 0), (1, 1, -1, -1), (2, 2)],
)
def test_convolutions_take_paddings(sizes):
    layer = nn.Conv2d(3, 4, 3, stride=2, padding=1).eval()
    compiled = aten.compile(lambda x: layer(functional.pad(x, sizes)))
    x = aten.randn(2, 3, 9, 8)
    with aten.no_grad():
        found, expected = compiled(x), layer(functional.pad(x, sizes))
    assert found.stride() == expected.stride()
    assert aten.allclose(found, expected, rtol=1e-5, atol=1e-6)
    targets = [node.target for node in compiled.programs()[0].graph.nodes]
    is_taken = len(sizes) == 4 and min(sizes) >= 0
    assert ("aten.constant_pad_nd.default" in targets) != is_taken


def test_paddings_that_others_read_stay():
    layer = nn.Conv2d(3, 4, 3).eval()

    def program(x):
        padded = functional.pad(x, (0, 1, 0, 1))
        return layer(padded), padded * 2

    x = aten.randn(2, 3, 9, 8)
    with aten.no_grad():
        for found, expected in zip(aten.compile(program)(x), program(x), strict=True):
            assert aten.allclose(found, expected, rtol=1e-5, atol=1e-6)


def expanding(size, channels, padded, following=nn.Identity):
    return nn.Sequential(
        nn.Conv2d(8, channels, 1),
        nn.ReLU6(),
        nn.ZeroPad2d((0, 1, 0, 1)) if padded else nn.Identity(),
        nn.Conv2d(channels, channels, 3, stride=2, padding=0 if padded else 1, groups=channels),
        nn.SiLU(),
        following(),
    ).eval()


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize(("size", "expected"), [(112, 1), (12, 0)])
def test_large_expansions_are_not_written(size, expected, padded):
    module = expanding(size, 40, padded)
    compiled = aten.compile(module)
    x = aten.randn(2, 8, size, size)
    with aten.no_grad():
        found, other = compiled(x), module(x)
    assert aten.allclose(found, other, rtol=1e-5, atol=1e-6)
    calls = [node.target for node in compiled._compiled.programs()[0].graph.nodes]
    assert calls.count("fused.expanded_convolution.default") == expected
    assert "aten.constant_pad_nd.default" not in calls


def test_expansions_that_others_read_are_written():
    first, second = nn.Conv2d(8, 40, 1).eval(), nn.Conv2d(40, 40, 3, groups=40).eval()

    def program(x):
        expanded = first(x)
        return second(expanded), expanded.mean()

    x = aten.randn(1, 8, 112, 112)
    compiled = aten.compile(program)
    with aten.no_grad():
        for found, expected in zip(compiled(x), program(x), strict=True):
            assert aten.allclose(found, expected, rtol=1e-5, atol=1e-5)
    calls = [node.target for node in compiled.programs()[0].graph.nodes]
    assert "fused.expanded_convolution.default" not in calls


def test_convolutions_leave_what_others_read():
    first, second = nn.Conv2d(3, 3, 1).eval(), nn.Conv2d(3, 3, 1).eval()

    def program(x):
        one, other = first(x), second(x)
        both = one + other
        return both.relu(), other * 2, functional.hardtanh(one, -0.5, 0.5), first(x).double().relu()

    x = aten.randn(1, 3, 4, 4)
    with aten.no_grad():
        for found, expected in zip(aten.compile(program)(x), program(x), strict=True):
            assert aten.allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_kernels_of_activations_are_met_by_convolutions():
    layer = nn.Conv2d(3, 3, 1).eval()
    compiled = aten.compile(lambda x: layer(x).relu())
    x = aten.randn(1, 3, 4, 4)
    library = aten.library.Library("aten", "IMPL")
    with aten.no_grad():
        compiled(x)
        library.impl("relu", lambda self: aten.full_like(self, 5.0), "AutogradCPU")
        try:
            assert compiled(x).unique().tolist() == [5.0]
        finally:
            library._destroy()
        assert compiled(x).unique().tolist() != [5.0]


class Transposed(nn.Module):
    """An image that is transposed once, sums of it, and norms of their rows."""

    def __init__(self, reads_sum=False):
        super().__init__()
        self.embed = nn.Conv1d(5, 16, 3, padding=1)
        self.norms = nn.ModuleList(nn.LayerNorm(16) for _ in range(3))
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(3))
        self.register_buffer("places", aten.randn(12, 16))
        self.reads_sum = reads_sum

    def forward(self, x):
        x = self.embed(x).permute(0, 2, 1) + self.places
        for norm, layer in zip(self.norms, self.layers, strict=True):
            x = x + layer(norm(x))
        return x if self.reads_sum else self.norms[0](x)


@pytest.mark.parametrize("reads_sum", [False, True])
def test_sums_of_transposed_images_become_row_major_where_nobody_sees_it(reads_sum):
    module = Transposed(reads_sum).eval()
    compiled = aten.compile(module)
    x = aten.randn(1, 5, 12)
    with aten.no_grad():
        found, expected = compiled(x), module(x)
    assert aten.allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert found.stride() == expected.stride()
    graph = compiled._compiled.programs()[0].graph
    copies = [node for node in graph.nodes if node.target == "aten.clone.default"]
    # A sum that is a result keeps the order that operators give, and so do those it is made of:
    # each norm reads a copy then.
    assert len(copies) == (3 if reads_sum else 1)

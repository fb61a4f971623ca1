"""What compiled programs compute once: of constants, and of factories."""

import numpy
import pytest

import aten


def targets(compiled):
    (program,) = compiled.programs()
    return [node.target for node in program.graph.nodes if node.op == "call_function"]


@pytest.mark.parametrize(
    "function",
    [
        lambda x, w: (w + 1, x * 2),
        lambda x, w: ((w + 1).view(1, 3), x * 2),
        lambda x, w: (list((w + 1).split(1))[1], x * 2),
        lambda x, w: ((w + 1)[None].expand(4, 3).t()[1:], x * 2),
        lambda x, w: (aten.zeros(3), x * 2),
        lambda x, w: (aten.arange(6.0).view(2, 3)[1], x * 2),
        lambda x, w: ((w + 1).contiguous(), x * 2),
        lambda x, w: ((w + 1).detach().reshape(3), x * 2),
        lambda x, w: (aten.ones(3), x + aten.ones(3)),
    ],
)
def test_what_callers_get_is_theirs(function):
    """Whoever writes to a result changes nothing of later calls."""
    weight, x = aten.rand(3), aten.rand(3)
    compiled = aten.compile(lambda x: function(x, weight))
    expected = [one.clone() for one in function(x, weight)]
    for _ in range(3):
        found = compiled(x)
        for one, other in zip(found, expected, strict=True):
            assert aten.equal(one, other)
        found[0].contiguous()
        found[0].as_strided((1,), (1,), found[0].storage_offset()).add_(7)
        found[1].add_(7)


def test_views_of_constants_are_theirs_still():
    weight, x = aten.rand(2, 3), aten.rand(3)
    compiled = aten.compile(lambda x: (weight.t(), x * 2))
    compiled(x)
    compiled(x)[0].mul_(2)
    assert aten.equal(compiled(x)[0], weight.t())
    weight.add_(1)
    assert aten.equal(compiled(x)[0], weight.t())
    assert compiled(x)[0].data_ptr() == weight.data_ptr()


def test_factories_run_once():
    def function(x):
        places = aten.arange(x.shape[1])
        mask = aten.full((4, 4), -1e9).triu(1) + (places[None] > places[:, None]) * 2.0
        return x + mask + aten.eye(4) + aten.linspace(0, 1, 4) + aten.zeros(4)

    x = aten.rand(4, 4)
    compiled = aten.compile(function)
    for _ in range(2):
        aten.testing.assert_close(compiled(x), function(x))
    assert not {"arange", "full", "triu", "gt", "eye", "linspace", "zeros"} & {
        one.split(".")[1] for one in targets(compiled)
    }


def test_large_factories_and_random_ones_run_in_every_call():
    compiled = aten.compile(lambda x: x + aten.ones(1025, 1024).sum() + aten.rand(3))
    x = aten.zeros(3)
    assert not aten.equal(compiled(x), compiled(x))
    called = {one.split(".")[1] for one in targets(compiled)}
    assert {"ones", "rand"} <= called


def test_a_factory_that_is_written_to_is_made_anew():
    def function(x):
        total = aten.zeros(3)
        for one in x:
            total += one
        total[1] = 5
        return total

    compiled = aten.compile(function)
    for _ in range(3):
        x = aten.rand(4, 3)
        aten.testing.assert_close(compiled(x), function(x))


def test_factories_have_the_default_dtype_of_the_call():
    compiled = aten.compile(lambda x: x + aten.ones(3))
    x = aten.zeros(3)
    assert compiled(x).dtype is aten.float32
    aten.set_default_dtype(aten.float64)
    try:
        assert compiled(x).dtype is aten.float64
    finally:
        aten.set_default_dtype(aten.float32)
    assert compiled(x).dtype is aten.float32


def test_gradients_of_what_factories_scale():
    compiled = aten.compile(lambda x: (x * aten.arange(3.0)).sum())
    x = aten.rand(3, requires_grad=True)
    for _ in range(2):
        x.grad = None
        compiled(x).backward()
        assert x.grad.tolist() == [0, 1, 2]


@pytest.mark.parametrize("element", [aten.float32, aten.float64])
def test_norms_of_turned_images_read_copies(element):
    image = aten.rand(2, 24, 5, 7, dtype=element)
    scale, shift = aten.rand(24, dtype=element), aten.rand(24, dtype=element)

    def function(x):
        rows = x.flatten(2).transpose(1, 2)
        first = aten.nn.functional.layer_norm(rows, (24,), scale, shift)
        return first, aten.nn.functional.layer_norm(first, (24,), shift, scale)

    compiled = aten.compile(function)
    for one, other in zip(compiled(image), function(image), strict=True):
        assert one.stride() == other.stride()
        aten.testing.assert_close(one, other)
    assert "aten.clone.default" in targets(compiled)
    rows = image.flatten(2).transpose(1, 2).contiguous()
    plain = aten.compile(lambda x: aten.nn.functional.layer_norm(x, (24,), scale, shift))
    plain(rows)
    assert "aten.clone.default" not in targets(plain)
    # Strides of single elements are no order.
    single = aten.rand(7, 1, 24, dtype=element).transpose(0, 1)
    plain = aten.compile(lambda x: aten.nn.functional.layer_norm(x, (24,), scale, shift))
    plain(single)
    assert "aten.clone.default" not in targets(plain)


def test_the_first_call_keeps_nothing():
    """What is computed of constants is there while it is read, and kept from the second call on."""
    first, second = aten.randn(96, 64), aten.randn(48, 96)
    scale = aten.rand(48)

    def function(x):
        hidden = aten.nn.functional.relu(aten.nn.functional.linear(x, first))
        made = aten.nn.functional.linear(hidden, second)
        return made * scale.exp() + scale.exp().sum()

    x = aten.randn(5, 64)
    compiled = aten.compile(function)
    found = [compiled(x) for _ in range(3)]
    (program,) = compiled.programs()
    assert any(node.name.startswith("prepared_") for node in program.graph.placeholders)
    assert aten.equal(found[0], found[1])
    assert aten.equal(found[1], found[2])
    first.mul_(2)
    aten.testing.assert_close(compiled(x), function(x))


def test_a_chain_of_constants_is_computed_by_the_first_call():
    """Thousands of calls one on the other, of which the program reads the last and the first."""
    weight = aten.ones(3)

    def function(x):
        value = begin = weight + 0.5
        for _ in range(3000):
            value = value + begin
        return x * value + begin

    x = aten.rand(3)
    compiled = aten.compile(function)
    found = compiled(x)
    aten.testing.assert_close(found, function(x))
    assert aten.equal(compiled(x), found)


WRITES = {
    "in place": lambda weight: weight.mul_(-1),
    "by .data": lambda weight: weight.data.mul_(-1),
    "by a view of .data": lambda weight: weight.data[::2].mul_(-1),
    "by NumPy": lambda weight: numpy.negative(weight.numpy(), out=weight.numpy()),
    "by a buffer": lambda weight: memoryview(weight.untyped_storage()).cast("f").__setitem__(0, 9),
    "other memory": lambda weight: setattr(weight, "data", -weight),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("calls", [1, 2, 3])
@pytest.mark.parametrize("size", [3, 300])
def test_all_writes_to_constants_are_seen(name, calls, size):
    weight, x = aten.rand(size, size), aten.rand(size, size)
    compiled = aten.compile(lambda x: x @ (weight * 2).t())
    for _ in range(calls):
        compiled(x)
    with aten.no_grad():
        WRITES[name](weight)
    for _ in range(2):
        found, expected = compiled(x), x @ (weight * 2).t()
        assert aten.allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_clones_of_constants_are_no_writes():
    weight, x = aten.rand(300, 300), aten.rand(300, 300)
    compiled = aten.compile(lambda x: x @ (weight * 2).t())
    for _ in range(2):
        compiled(x)
    (program,) = compiled.programs()
    (before,) = program.preparation()
    copied = weight.clone()
    assert program.preparation()[0] is before
    copied.zero_()
    assert program.preparation()[0] is before
    weight.zero_()
    assert not compiled(x).any()

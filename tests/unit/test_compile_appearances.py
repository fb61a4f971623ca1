"""Compiled functions that read in Python what tensors are and hold, or change what they are."""

import pytest

import aten


def _same_after(function, *changes):
    compiled = aten.compile(function)
    x = aten.arange(3.0)
    compiled(x)
    for change in (*changes, lambda: None):
        change()
        assert str(compiled(x)) == str(function(x))
    return compiled


@pytest.mark.parametrize(
    "read",
    [
        aten.Tensor.item,
        float,
        int,
        bool,
        aten.Tensor.tolist,
        lambda w: [1, 2, 3, 4][w],
        lambda w: len(str(w)),
    ],
)
@pytest.mark.parametrize("is_data", [False, True])
def test_elements_that_python_reads_may_change(read, is_data):
    w = aten.tensor(1)

    def fill(value):
        (w.data if is_data else w).fill_(value)

    compiled = _same_after(lambda x: x * read(w), lambda: fill(0), lambda: fill(2))
    assert not compiled.breaks


def test_elements_of_module_buffers():
    module = aten.nn.Module()
    module.register_buffer("scale", aten.tensor(2.0))
    module.forward = lambda x: x * module.scale.item()
    _same_after(module, lambda: module.scale.fill_(3), lambda: module.scale.copy_(aten.tensor(4.0)))


def test_elements_that_others_may_write_to_are_read_eagerly():
    w = aten.ones(2)
    array = w.numpy()
    compiled = _same_after(lambda x: x * w.tolist()[0], lambda: array.fill(3))
    assert "others may write to" in aten.compiler.explain(compiled)


def test_sizes_gradients_and_attributes_may_change():
    w = aten.ones(5)
    w.scale = 2
    read = _same_after(
        lambda x: x * w.shape[0] * w.scale,
        lambda: w.resize_(2),
        lambda: setattr(w, "scale", 3),
        lambda: w.set_(aten.ones(4)),
    )
    assert not read.breaks
    assert len(read.recompilations) == 3

    p = aten.ones(3, requires_grad=True)
    _same_after(
        lambda x: x if p.grad is None else x + p.grad,
        lambda: setattr(p, "grad", aten.ones(3)),
        lambda: p.grad.add_(1),
        lambda: setattr(p, "grad", None),
    )


def test_a_tensor_around_that_comes_to_need_gradients():
    w = aten.ones(3)
    compiled = aten.compile(lambda x: x * w)
    assert not compiled(aten.ones(3)).requires_grad
    w.requires_grad_()
    assert compiled(aten.ones(3)).requires_grad


def _shown(x):
    return tuple(x.shape), x.stride(), x.requires_grad, x.tolist(), vars(x), str(x.grad)


CHANGES = [
    lambda x: x.t_(),
    lambda x: x.unsqueeze_(0),
    lambda x: x.set_(aten.ones(4)),
    lambda x: x.resize_(3),
    lambda x: x.requires_grad_(),
    lambda x: setattr(x, "data", aten.ones(4)),
    lambda x: setattr(x, "grad", aten.ones(2, 3)),
    lambda x: setattr(x, "name_of_its_own", 3),
]


@pytest.mark.parametrize("change", CHANGES)
def test_arguments_become_what_the_function_makes_them(change):
    def function(x):
        change(x)
        return x.detach() + 1

    compiled = aten.compile(function)
    for _ in range(2):
        given, expected = (aten.arange(6.0).view(2, 3) for _ in range(2))
        assert str(compiled(given)) == str(function(expected))
        assert _shown(given) == _shown(expected)
    assert "it changes sizes, memory, gradients or attributes" in compiled.breaks[0]


@pytest.mark.parametrize("change", CHANGES)
def test_tensors_around_become_what_the_function_makes_them(change):
    def function(x):
        change(held[0])
        return x + 1

    compiled = aten.compile(function)
    for _ in range(2):
        held = [aten.arange(6.0).view(2, 3)]
        given = held[0]
        result = compiled(aten.ones(3))
        held = [aten.arange(6.0).view(2, 3)]
        assert str(result) == str(function(aten.ones(3)))
        assert _shown(given) == _shown(held[0])


def test_an_empty_tensor_to_write_to():
    compiled = aten.compile(lambda x, out: aten.add(x, 1, out=out))
    for _ in range(2):
        out = aten.empty(0)
        assert compiled(aten.ones(3), out) is out
        assert out.tolist() == [2, 2, 2]

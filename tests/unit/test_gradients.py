"""Gradients: how they add up, their types, those of gradients, and those of some layers."""

import math

import pytest

import aten
from aten.autograd import Function


def leaf(*numbers):
    return aten.tensor(list(numbers), dtype=aten.float64, requires_grad=True)


def test_gradients_of_leaves_add_up():
    x = leaf(1, 2, 3)
    (x * x).sum().backward()
    assert x.grad.tolist() == [2, 4, 6]
    (x * 3).sum().backward()
    assert x.grad.tolist() == [5, 7, 9]
    x.grad = None
    assert x.grad is None


def test_leaves_do_not_share_their_gradients():
    x, y = leaf(1, 2), leaf(3, 4)
    (x + y).sum().backward()
    x.grad.mul_(10)
    assert y.grad.tolist() == [1, 1]


def test_gradients_that_somebody_has_are_not_added_to():
    x = leaf(1, 2, 3)
    kept, given = [], aten.ones(3, dtype=aten.float64)
    doubled, squared = x * 2, x * x
    for one in (doubled, squared):
        one.register_hook(kept.append)
        one.retain_grad()
    between = doubled + squared
    (between + between * between).backward(given)
    assert given.tolist() == [1, 1, 1]
    assert kept[0].tolist() == kept[1].tolist() == [7, 17, 31]
    assert doubled.grad.tolist() == squared.grad.tolist() == [7, 17, 31]
    assert x.grad.tolist() == [7 * 4, 17 * 6, 31 * 8]


def test_gradients_that_functions_keep_are_not_added_to():
    class Keeps(Function):
        @staticmethod
        def forward(context, operand):
            return operand * 3

        @staticmethod
        def backward(context, gradient):
            grown = gradient * 3
            kept.append(grown if len(kept) % 2 else grown.view(-1))
            return grown

    kept = []
    x = leaf(1, 2)
    y = x * 1.5
    (Keeps.apply(y) + Keeps.apply(y) + y.sin()).sum().backward()
    assert [one.tolist() for one in kept] == [[3, 3], [3, 3]]
    assert x.grad.tolist() == pytest.approx([1.5 * (6 + math.cos(one)) for one in (1.5, 3)])


def test_gradients_of_rows_are_added_to_those_of_all_rows():
    x = leaf(1, 2)
    scale = aten.ones(3, 1, dtype=aten.float64) * aten.tensor([[1.0], [2], [3]])
    found = aten.func.vmap(aten.func.grad(lambda y, s: y.sum() + (y * s).sum() + y.sum() * s.sum()))
    assert found(x.detach().expand(3, 2), scale).tolist() == [[3, 3], [5, 5], [7, 7]]
    assert aten.func.jacrev(lambda y: (y + y.exp() * 0 + y * 2, y))(x.detach())[0].tolist() == [
        [3, 0],
        [0, 3],
    ]


@pytest.mark.parametrize("factor", [1, 1.0, 2, -1, 1j])
@pytest.mark.parametrize("name", ["add", "sub", "rsub"])
def test_factors_of_sums(name, factor):
    x, y = (leaf(1, 2).to(aten.complex128).detach().requires_grad_() for _ in range(2))
    result = getattr(aten, name)(x, y, alpha=factor)
    result.backward(aten.tensor([1 + 2j, 3]))
    signs = {"add": (1, factor), "sub": (1, -factor), "rsub": (-factor, 1)}[name]
    for one, sign in zip((x, y), signs, strict=True):
        conjugate = complex(sign).conjugate()
        assert one.grad.tolist() == [(1 + 2j) * conjugate, 3 * conjugate]


def test_what_broadcasting_repeats_is_summed():
    x, y = leaf(1, 2, 3), aten.ones(2, 1, dtype=aten.float64, requires_grad=True)
    (x * y).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]
    assert y.grad.tolist() == [[6], [6]]


def test_types_of_gradients_are_those_of_their_tensors():
    x = aten.ones(2, requires_grad=True)
    y = aten.ones(2, dtype=aten.float64, requires_grad=True)
    z = aten.ones(2, dtype=aten.complex128, requires_grad=True)
    (x * y * z).sum().real.backward()
    assert [one.grad.dtype for one in (x, y, z)] == [aten.float32, aten.float64, aten.complex128]


def test_gradients_of_gradients():
    x = leaf(2)
    first = aten.autograd.grad(x**4, x, aten.ones_like(x), create_graph=True)[0]
    second = aten.autograd.grad(first, x, aten.ones_like(x), create_graph=True)[0]
    third = aten.autograd.grad(second, x, aten.ones_like(x))[0]
    assert (first.item(), second.item(), third.item()) == (32, 48, 48)


def test_numbers_that_scale_scale_gradients():
    x, y = leaf(1, 2), leaf(3, 4)
    aten.add(x, y, alpha=3).sum().backward()
    aten.sub(x, y, alpha=0.5).sum().backward()
    assert x.grad.tolist() == [2, 2]
    assert y.grad.tolist() == [2.5, 2.5]
    z = x * 1
    z.add_(y, alpha=2).sum().backward()
    assert y.grad.tolist() == [4.5, 4.5]


def test_a_number_for_what_requires_gradients():
    assert leaf(2).sum().is_nonzero()


def test_deep_derivatives_of_kernels_with_many_operands() -> None:
    x = aten.tensor([-1.0, 0.5], dtype=aten.float64, requires_grad=True)
    found = aten.nn.functional.elu(x).sum()
    for _ in range(5):
        (slope,) = aten.autograd.grad(found, x, create_graph=True)
        found = slope.sum()
    assert aten.allclose(slope, aten.tensor([-1.0]).exp().double() * aten.tensor([1.0, 0.0]))


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_recurrent_layers_have_right_gradients_of_both_orders(kind) -> None:
    aten.manual_seed(0)
    layer = getattr(aten.nn, kind)(2, 3, bidirectional=True).double()
    x = aten.randn(3, 2, 2, dtype=aten.float64).requires_grad_()

    def everything(x, *_):
        out, last = layer(x)
        return (out, *last) if kind == "LSTM" else (out, last)

    assert aten.autograd.gradcheck(everything, (x, *layer.parameters()))
    assert aten.autograd.gradgradcheck(lambda x: everything(x)[-1], (x,))


@pytest.mark.parametrize("name", ["clip", "clip_", "clamp"])
def test_other_names_have_the_same_formulas(name):
    x = leaf(1, 2, -3)
    bound = aten.tensor([0.5], dtype=aten.float64)
    for bounds, wanted in (((None, bound), [0, 0, 1]), ((bound, None), [1, 1, 0])):
        (found,) = aten.autograd.grad(getattr(x * 1, name)(*bounds).sum(), x)
        assert found.tolist() == wanted


def test_draws_from_distributions_of_parameters_that_require_gradients() -> None:
    rate = aten.full((3,), 0.5).requires_grad_()
    for drawn in (aten.poisson(rate), aten.binomial(aten.full((3,), 4.0), rate)):
        assert not drawn.requires_grad
        assert bool((drawn >= 0).all())


def test_a_leaf_of_another_dtype_since_gets_gradients_of_its_own():
    leaf = aten.ones(2, requires_grad=True)
    product = leaf * 3
    assert product.grad_fn.next_functions[0][0].name() == "AccumulateGrad"
    leaf.data = leaf.data.double()
    product.sum().backward()
    assert leaf.grad.dtype == aten.float64
    assert leaf.grad.tolist() == [3, 3]

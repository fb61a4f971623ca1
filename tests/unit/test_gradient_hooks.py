"""Hooks of tensors, nodes and what is saved, and functions with derivatives of their own."""

import gc
import warnings
import weakref

import pytest

import aten
from aten.autograd import Function
from aten.autograd.graph import saved_tensors_hooks


def leaf(*numbers):
    return aten.tensor(list(numbers), dtype=aten.float64, requires_grad=True)


def test_hooks_of_tensors():
    x = leaf(1, 2)
    seen = []
    handle = x.register_hook(lambda gradient: gradient * 2)
    y = x * 3
    y.register_hook(seen.append)
    y.sum().backward()
    assert x.grad.tolist() == [6, 6]
    assert seen[0].tolist() == [1, 1]
    handle.remove()
    (x * 1).sum().backward()
    assert x.grad.tolist() == [7, 7]


def test_hooks_that_give_nonsense_are_refused():
    x = leaf(1, 2)
    x.register_hook(lambda gradient: gradient[:1])
    with pytest.raises(RuntimeError, match="shape"):
        x.sum().backward()
    y = leaf(1)
    y.register_hook(lambda gradient: 3)
    with pytest.raises(TypeError, match="int"):
        y.sum().backward()


def test_hooks_of_nodes_and_of_leaves():
    x = leaf(1, 2)
    y = (x * 3).sum()
    order = []
    y.grad_fn.register_prehook(lambda gradients: order.append("before"))
    y.grad_fn.register_hook(lambda given, gradients: order.append("after"))
    x.register_post_accumulate_grad_hook(lambda tensor: order.append(tensor.grad.tolist()))
    y.backward()
    assert order == ["before", "after", [3, 3]]


def test_tensors_between_keep_their_gradients_when_asked():
    x = leaf(1, 2)
    y = x * 2
    y.retain_grad()
    (y * y).sum().backward()
    assert y.grad.tolist() == [4, 8]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert (x * 2).grad is None


def test_saved_tensors_go_through_hooks():
    x = leaf(1, 2)
    packed = []

    def pack(tensor):
        packed.append(tensor)
        return tensor.tolist()

    with saved_tensors_hooks(pack, lambda kept: aten.tensor(kept, dtype=aten.float64)):
        y = (x * x).sum()
    y.backward()
    assert len(packed) == 2
    assert x.grad.tolist() == [2, 4]


class Scaled(Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.factor, None


def test_functions_with_derivatives_of_their_own():
    x = leaf(1, 2)
    Scaled.apply(x, 5).sum().backward()
    assert x.grad.tolist() == [5, 5]
    assert Scaled.apply(x, 5).grad_fn.name() == "ScaledBackward"
    with aten.no_grad():
        assert Scaled.apply(x, 5).grad_fn is None


def test_functions_with_a_context_of_its_own():
    class Square(Function):
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            return gradient * 2 * x

    x = leaf(3)
    first = aten.autograd.grad(Square.apply(x), x, aten.ones_like(x), create_graph=True)[0]
    assert first.tolist() == [6]
    assert aten.autograd.grad(first, x, aten.ones_like(x))[0].tolist() == [2]


def test_functions_that_give_too_few_gradients_are_named():
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, gradient):
            return gradient

    x, y = leaf(1), leaf(1)
    with pytest.raises(RuntimeError, match="WrongBackward"):
        Wrong.apply(x, y).sum().backward()


def test_a_function_forgets_what_it_saved_with_the_graph():
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            return 2 * x * gradient

    x = leaf(3)
    between = x * 1
    y = Square.apply(between)
    kept = weakref.ref(between)
    del between
    y.backward(aten.ones(1, dtype=aten.float64), retain_graph=True)
    assert kept() is not None
    y.backward(aten.ones(1, dtype=aten.float64))
    assert x.grad.tolist() == [12]
    assert kept() is None
    with pytest.raises(RuntimeError, match=r"SquareBackward.*retain_graph"):
        y.backward(aten.ones(1, dtype=aten.float64))


def test_a_write_to_a_view_forgets_what_it_saved():
    x = leaf(1, 2, 3)
    base = x * 1
    base[:2].mul_(leaf(4, 5))
    total = base.sum()
    total.backward()
    with pytest.raises(RuntimeError, match=r"MulBackward0.*retain_graph"):
        total.backward()


def test_hooks_of_a_leaf_among_the_nodes():
    leaf = aten.ones(2, requires_grad=True)
    seen = []
    first = leaf * 2
    node = first.grad_fn.next_functions[0][0]
    assert node.variable is leaf
    assert first.grad_fn.next_functions[0][0] is node
    node.register_prehook(lambda gradients: seen.append("before") or (gradients[0] * 10,))
    node.register_hook(lambda given, arrived: seen.append((given, arrived[0].tolist())))
    del node
    # Another graph reaches the same end, and so does a walk that asks for the leaf alone.
    (leaf * 3).sum().backward()
    assert seen == ["before", ((), [30, 30])]
    assert aten.autograd.grad(first.sum(), leaf, retain_graph=True)[0].tolist() == [20, 20]
    assert seen[2:] == ["before"]
    del first
    gc.collect()
    leaf.grad = None
    (leaf * 3).sum().backward()
    assert seen[3:] == []
    assert leaf.grad.tolist() == [3, 3]

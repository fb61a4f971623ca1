"""The graph and the walk back: leaves, hooks, views, writes in place, functions, modes, errors."""

import copy
import gc
import math
import pickle
import threading
import warnings
import weakref

import pytest

import aten
from aten.autograd import Function
from aten.autograd.graph import get_gradient_edge, saved_tensors_hooks


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


def test_inputs_that_are_not_used():
    x, y = leaf(1), leaf(2)
    with pytest.raises(RuntimeError, match="allow_unused"):
        aten.autograd.grad(x * 2, [x, y], aten.ones_like(x))
    given = aten.autograd.grad(x * 2, [x, y], aten.ones_like(x), allow_unused=True)
    assert given[1] is None
    given = aten.autograd.grad(x * 2, [x, y], aten.ones_like(x), materialize_grads=True)
    assert given[1].tolist() == [0]


def test_a_second_walk_needs_the_graph_retained():
    x = leaf(2)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [8]
    with pytest.raises(RuntimeError, match="retain_graph"):
        y.backward()


def test_writing_to_what_was_saved_is_found():
    x = leaf(1, 2)
    y = x * 2
    z = y * y
    y.add_(1)
    with pytest.raises(RuntimeError, match="written to in place"):
        z.sum().backward()
    x = leaf(1, 2)
    y = x.exp()
    y.mul_(2)
    with pytest.raises(RuntimeError, match="result 0"):
        y.sum().backward()


def test_writing_to_what_was_not_saved_is_none_of_its_business():
    x = leaf(1, 2)
    y = x + 1
    y.mul_(3)
    y.sub_(x)
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_functions_of_what_is_overwritten_keep_what_was_there():
    x = leaf(0.5, 1)
    y = x * 1
    y.sin_()
    y.sum().backward()
    assert aten.allclose(x.grad, x.detach().cos())


def test_leaves_and_their_views_are_not_written_to():
    x = leaf(1, 2)
    with pytest.raises(RuntimeError, match="leaf"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="view of a leaf"):
        x[0].add_(1)
    with pytest.raises(RuntimeError, match="leaf"):
        x.zero_()
    with aten.no_grad():
        x.add_(1)
    assert x.tolist() == [2, 3]


def test_a_write_to_a_view_is_one_to_its_base():
    x, w = leaf(1, 2, 3), leaf(10)
    base = x * 2
    view = base[1:]
    view.mul_(w)
    assert base.tolist() == [2, 40, 60]
    (base * aten.tensor([1.0, 2, 3], dtype=aten.float64)).sum().backward()
    assert x.grad.tolist() == [2, 40, 60]
    assert w.grad.tolist() == [4 * 2 + 6 * 3]


def test_a_view_follows_a_write_to_its_base():
    x = leaf(1, 2, 3)
    base = x * 2
    view = base[1:]
    base.mul_(5)
    view.sum().backward()
    assert x.grad.tolist() == [0, 10, 10]


def test_a_tensor_without_gradients_gets_some_by_a_write():
    w = leaf(2)
    base = aten.zeros(3, dtype=aten.float64)
    base[1] = w[0] * 3
    assert base.requires_grad
    base.sum().backward()
    assert w.grad.tolist() == [3]


def test_bases_and_views():
    x = aten.ones(4)
    view = x[1:].reshape(3, 1)
    assert view._base is x
    assert view._is_view()
    assert not x._is_view()
    assert x.detach()._base is None


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


def test_modes():
    x = leaf(1)
    with aten.no_grad():
        assert not (x * 2).requires_grad
        with aten.enable_grad():
            assert (x * 2).requires_grad
    with aten.inference_mode():
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad
    with aten.set_grad_enabled(False):
        assert not aten.is_grad_enabled()


def test_threads_have_modes_of_their_own():
    found = []
    with aten.no_grad():
        thread = threading.Thread(target=lambda: found.append((leaf(1) * 2).requires_grad))
        thread.start()
        thread.join()
    assert found == [True]


def test_threads_walk_back_at_once():
    x = leaf(*range(100))
    results = []

    def work():
        for _ in range(50):
            results.append(aten.autograd.grad((x * x).sum(), x)[0])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 200
    assert all(one.tolist() == [2 * number for number in range(100)] for one in results)


def test_what_cannot_be_walked_back_from():
    x = leaf(1, 2)
    with pytest.raises(RuntimeError, match="several elements"):
        (x * 2).backward()
    with pytest.raises(RuntimeError, match="does not require grad"):
        aten.ones(1).backward()
    with pytest.raises(RuntimeError, match="shape"):
        (x * 2).backward(aten.ones(3, dtype=aten.float64))
    with pytest.raises(RuntimeError, match="inexact"):
        aten.ones(2, dtype=aten.int64).requires_grad_()
    with pytest.raises(RuntimeError, match="out="):
        aten.add(x, x, out=aten.empty(2, dtype=aten.float64))


def test_anomalies_name_the_line():
    x = leaf(0)
    with aten.autograd.detect_anomaly(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        y = aten.sqrt(x) * 0
        with pytest.raises(RuntimeError, match=r"SqrtBackward0.*nan"):
            y.sum().backward()
    assert "test_gradients.py" in str(caught[-1].message)


def test_deep_graphs():
    x = leaf(1)
    y = x
    for _ in range(100_000):
        y = y + 1
    y.sum().backward()
    assert x.grad.tolist() == [1]
    y = x
    for _ in range(100_000):
        y = y * 1.0
    del y


def test_graphs_are_let_go_of():
    x = leaf(1)
    y = x.exp()
    gone = weakref.ref(y)
    z = y.sum()
    del y
    gc.collect()
    assert gone() is None or z is not None
    node = weakref.ref(z.grad_fn)
    del z
    gc.collect()
    assert node() is None


def test_nodes_show_the_graph():
    x = leaf(1, 2)
    y = (x * 3).sum()
    assert y.grad_fn.name() == "SumBackward0"
    product = y.grad_fn.next_functions[0][0]
    assert product.name() == "MulBackward0"
    accumulate = product.next_functions[0][0]
    assert accumulate.name() == "AccumulateGrad"
    assert accumulate.variable is x
    assert get_gradient_edge(y).node is y.grad_fn
    assert str(y) == "tensor(9., dtype=aten.float64, grad_fn=<SumBackward0>)"


def test_calls_without_gradients_meet_nothing_of_it():
    x = aten.ones(2)
    assert "AutogradRecording" not in str(x._dispatch_keys())
    lines = []
    with aten.trace_dispatch(lines):
        x + x
    assert not any("AutogradRecording" in line for line in lines)


def test_numbers_that_scale_scale_gradients():
    x, y = leaf(1, 2), leaf(3, 4)
    aten.add(x, y, alpha=3).sum().backward()
    aten.sub(x, y, alpha=0.5).sum().backward()
    assert x.grad.tolist() == [2, 2]
    assert y.grad.tolist() == [2.5, 2.5]
    z = x * 1
    z.add_(y, alpha=2).sum().backward()
    assert y.grad.tolist() == [4.5, 4.5]


def test_copies_of_leaves_are_leaves():
    x = leaf(1, 2)
    (x * x).sum().backward()
    copied = copy.deepcopy(x)
    assert copied.requires_grad
    assert copied.grad.tolist() == [2, 4]
    assert pickle.loads(pickle.dumps(x)).requires_grad
    with pytest.raises(RuntimeError, match="leaves"):
        copy.deepcopy(x * 2)


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


def test_a_number_for_what_requires_gradients():
    assert leaf(2).sum().is_nonzero()


def test_parameters_are_no_views():
    data = aten.ones(2)
    made = aten.nn.Parameter(data)
    assert not made._is_view()
    assert made._base is None
    assert made.data_ptr() == data.data_ptr()


def test_pieces_of_a_split_are_one_node_and_go_back_as_one_tensor() -> None:
    x = aten.arange(12.0).reshape(3, 4).requires_grad_()
    for pieces in (
        x.split(2, 1),
        x.split([1, 3], 1),
        x.unbind(1),
        x.chunk(2, 1),
        aten.split_with_sizes(x, [2, 2], 1),
        aten.unsafe_split(x, 3, 1),
    ):
        assert len({id(piece.grad_fn) for piece in pieces}) == 1
        assert all(piece.untyped_storage() is x.untyped_storage() for piece in pieces)
        (found,) = aten.autograd.grad(pieces[-1].sum(), x)
        expected = aten.zeros(3, 4)
        width = pieces[-1].numel() // 3
        expected[:, 4 - width :] = 1
        assert found.tolist() == expected.tolist()


def test_writes_to_a_piece_reach_the_gradient_of_the_whole() -> None:
    x = aten.ones(2, 4).requires_grad_()
    whole = x * 1
    first, _ = whole.tensor_split(2, 1)
    first.mul_(3)
    whole.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[3, 3, 1, 1]] * 2


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


def test_leaves_are_told_apart_whatever_their_class_thinks_equal():
    class Same(aten.Tensor):
        def __hash__(self):
            return 1

        def __eq__(self, other):
            raise AssertionError("no engine compares tensors")

    one, other = (
        aten.tensor([2.0, 3.0]).as_subclass(Same).requires_grad_(),
        aten.tensor([5.0, 7.0]).as_subclass(Same).requires_grad_(),
    )
    (one * other + one).sum().backward()
    assert one.grad.tolist() == [6, 8]
    assert other.grad.tolist() == [2, 3]
    found = aten.autograd.grad((one * other).sum(), [other, one])
    assert [gradient.tolist() for gradient in found] == [[2, 3], [5, 7]]


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


def test_a_graph_keeps_its_leaves():
    def made():
        leaf = aten.ones(2, requires_grad=True)
        told = weakref.ref(leaf)
        return leaf * 2, told

    product, told = made()
    gc.collect()
    assert told() is not None
    product.sum().backward()
    assert told().grad.tolist() == [2, 2]
    assert product.grad_fn.next_functions[0][0].variable is told()
    del product
    gc.collect()
    assert told() is None


@pytest.mark.parametrize("count", [1, 6, 7, 40])
def test_operands_of_many_edges(count):
    leaves = [aten.full((2,), float(place), requires_grad=True) for place in range(count)]
    halves = [half for leaf in leaves for half in (leaf * 2).unbind()]
    stacked = aten.stack([*halves, leaves[-1].sum()])
    (stacked * aten.arange(float(2 * count + 1))).sum().backward()
    for place, leaf in enumerate(leaves):
        extra = 2 * count if place == count - 1 else 0
        assert leaf.grad.tolist() == [4 * place + extra, 4 * place + 2 + extra]
    edges = stacked.grad_fn.next_functions
    assert [output for _, output in edges] == [0, 1] * count + [0]


def test_a_leaf_of_another_dtype_since_gets_gradients_of_its_own():
    leaf = aten.ones(2, requires_grad=True)
    product = leaf * 3
    assert product.grad_fn.next_functions[0][0].name() == "AccumulateGrad"
    leaf.data = leaf.data.double()
    product.sum().backward()
    assert leaf.grad.dtype == aten.float64
    assert leaf.grad.tolist() == [3, 3]

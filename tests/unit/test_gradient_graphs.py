"""The graph and the walk back: modes, threads, nodes, how long graphs live, errors."""

import copy
import gc
import pickle
import threading
import warnings
import weakref

import pytest

import aten
from aten.autograd.graph import get_gradient_edge


def leaf(*numbers):
    return aten.tensor(list(numbers), dtype=aten.float64, requires_grad=True)


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
    assert "test_gradient_graphs.py" in str(caught[-1].message)


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


def test_copies_of_leaves_are_leaves():
    x = leaf(1, 2)
    (x * x).sum().backward()
    copied = copy.deepcopy(x)
    assert copied.requires_grad
    assert copied.grad.tolist() == [2, 4]
    assert pickle.loads(pickle.dumps(x)).requires_grad
    with pytest.raises(RuntimeError, match="leaves"):
        copy.deepcopy(x * 2)


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

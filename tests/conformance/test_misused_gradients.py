"""What goes wrong with gradients: torch's exception types, and messages that name the call."""

from __future__ import annotations

import copy
import warnings

import pytest
import torch

import aten


def leaf(library, *numbers):
    return library.tensor(numbers or (1.0, 2.0), dtype=library.float64, requires_grad=True)


def twice(library):
    y = leaf(library).exp().sum()
    y.backward()
    y.backward()


def twice_through_a_function(library):
    class Square(library.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, gradient):
            return 2 * ctx.saved_tensors[0] * gradient

    y = Square.apply(leaf(library)).sum()
    y.backward()
    y.backward()


def written_operand(library):
    y = leaf(library) * 1
    z = y.sin()
    y.add_(1)
    z.sum().backward()


def written_result(library):
    y = leaf(library).exp()
    y.add_(1)
    y.sum().backward()


def written_through_a_view(library):
    y = leaf(library) * 1
    z = y.sin()
    y[0] = 3.0
    z.sum().backward()


def written_leaf(library):
    leaf(library).mul_(2)


def written_view_of_a_leaf(library):
    leaf(library)[0].mul_(2)


def _pieces(made):
    """Writes to what `made` gives of a graph, of a leaf, and of neither, with a recorded number."""

    def of_a_graph(library):
        made(library.ones(4, 4, requires_grad=True) * 1).mul_(2)

    def of_a_leaf(library):
        made(library.ones(4, 4, requires_grad=True)).mul_(2)

    def of_neither(library):
        made(library.ones(4, 4)).mul_(library.tensor(2.0, requires_grad=True))

    def stale(library):
        base = library.ones(4, 4, requires_grad=True) * 1
        piece = made(base)
        base.mul_(2)
        piece.sum().backward()

    def told(library):
        base = library.ones(4, 4)
        piece = made(base)
        base.mul_(library.tensor(2.0, requires_grad=True))
        piece.sum().backward()

    return of_a_graph, of_a_leaf, of_neither, stale, told


PIECES = {
    "split": lambda base: base.split(2)[0],
    "split by sizes": lambda base: base.split([1, 3])[1],
    "split_with_sizes": lambda base: base.split_with_sizes([2, 2])[0],
    "chunk": lambda base: base.chunk(2)[1],
    "unbind": lambda base: base.unbind()[0],
    "iteration": lambda base: next(iter(base)),
    "one piece": lambda base: base.split(4)[0],
    "view of a piece": lambda base: base.unbind()[0].view(-1),
    "row of a piece": lambda base: base.chunk(2)[0][0],
    "piece of a row": lambda base: base[0].unbind()[0],
}


@pytest.mark.parametrize("name", PIECES)
def test_views_made_along_with_others_are_not_written_to(name):
    for misuse in _pieces(PIECES[name]):
        for library in (torch, aten):
            with pytest.raises(RuntimeError, match="view"):
                misuse(library)


@pytest.mark.parametrize("split", ["tensor_split", "hsplit", "unsafe_split", "unsafe_chunk"])
def test_other_pieces_are_written_to(split):
    gradients = []
    for library in (torch, aten):
        x = library.ones(4, 4, requires_grad=True)
        base = x * 1
        getattr(base, split)(2)[0].mul_(3)
        base.sum().backward()
        gradients.append(x.grad.tolist())
    if not split.startswith("unsafe"):
        assert gradients[0] == gradients[1]


def test_pieces_are_written_to_where_nothing_is_recorded():
    for library in (torch, aten):
        piece = library.ones(4).chunk(2)[0]
        piece.add_(1)
        with library.no_grad():
            (library.ones(4, requires_grad=True) * 1).chunk(2)[0].add_(1)
        piece.detach().mul_(library.ones(2, requires_grad=True))


def written_assignment(library):
    leaf(library)[0] = 2.0


def out_with_gradients(library):
    x = leaf(library)
    library.add(x, x, out=library.empty(2, dtype=library.float64))


def gradient_of_another_shape(library):
    (leaf(library) * 2).backward(library.ones(3, dtype=library.float64))


def gradient_of_another_type(library):
    (leaf(library) * 2).backward(library.ones(2, dtype=library.complex128))


def gradient_that_is_no_tensor(library):
    (leaf(library) * 2).backward([1.0, 2.0])


def no_gradient_for_several_elements(library):
    (leaf(library) * 2).backward()


def too_few_gradients(library):
    x = leaf(library)
    library.autograd.backward([x * 2, x * 3], [library.ones(2, dtype=library.float64)])


def _returning(library, made):
    class Wrong(library.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, gradient):
            return made(gradient)

    Wrong.apply(leaf(library)).sum().backward()


def function_with_another_shape(library):
    _returning(library, lambda gradient: gradient.new_ones(3))


def function_with_too_many(library):
    _returning(library, lambda gradient: (gradient, gradient))


def function_with_no_tensor(library):
    _returning(library, lambda gradient: 3)


def function_twice_differentiated_once(library):
    class Once(library.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @library.autograd.function.once_differentiable
        def backward(ctx, gradient):
            return 2 * ctx.saved_tensors[0] * gradient

    x, seed = leaf(library), leaf(library)
    (first,) = library.autograd.grad(Once.apply(x), x, seed, create_graph=True)
    first.sum().backward()


def nan_under_detection(library):
    with library.autograd.detect_anomaly():
        (leaf(library, 0.0).sqrt() * 0).sum().backward()


def integers(library):
    library.tensor([1, 2], requires_grad=True)


def integers_later(library):
    library.tensor([1, 2]).requires_grad_()


def integers_by_attribute(library):
    library.tensor([1, 2]).requires_grad = True


def no_graph(library):
    library.ones(1).backward()


def nothing_required(library):
    x = leaf(library)
    library.autograd.grad((x * 2).sum(), library.ones(2))


def not_used(library):
    x, y = leaf(library), leaf(library)
    library.autograd.grad((x * 2).sum(), [x, y])


def no_inputs(library):
    (leaf(library) * 2).sum().backward(inputs=[])


def requirement_of_a_result(library):
    (leaf(library) * 2).requires_grad = False


def numbers_of_a_graph(library):
    leaf(library).numpy()


def copy_of_a_result(library):
    copy.deepcopy(leaf(library) * 2)


def grad_of_another_shape(library):
    leaf(library).grad = library.ones(3, dtype=library.float64)


def grad_of_another_type(library):
    leaf(library).grad = library.ones(2)


def grad_that_is_no_tensor(library):
    leaf(library).grad = 3


def hook_without_a_graph(library):
    library.ones(1).register_hook(print)


def hook_with_another_shape(library):
    x = leaf(library)
    x.register_hook(lambda gradient: gradient.new_ones(3))
    (x * 2).sum().backward()


def hook_with_no_tensor(library):
    x = leaf(library)
    x.register_hook(lambda gradient: 3)
    (x * 2).sum().backward()


def kept_without_a_graph(library):
    library.ones(1).retain_grad()


def detached_view(library):
    (leaf(library) * 1)[0].detach_()


def edge_without_a_graph(library):
    library.autograd.graph.get_gradient_edge(library.ones(1))


def contradicting_options(library):
    x = leaf(library)
    library.autograd.grad(x.sum(), x, allow_unused=False, materialize_grads=True)


# And what the message has to name.
MISUSES = {
    twice: "Exp|retain_graph",
    twice_through_a_function: "SquareBackward",
    written_operand: "SinBackward0",
    written_result: "ExpBackward0",
    written_through_a_view: "SinBackward0",
    written_leaf: "mul_",
    written_view_of_a_leaf: "mul_",
    written_assignment: "leaf",
    out_with_gradients: "add",
    gradient_of_another_shape: r"\[3\].*\[2\]",
    gradient_of_another_type: "complex128.*float64",
    gradient_that_is_no_tensor: "list|float|gradients",
    no_gradient_for_several_elements: "backward",
    too_few_gradients: "2 tensors and 1",
    function_with_another_shape: "WrongBackward",
    function_with_too_many: "WrongBackward",
    function_with_no_tensor: "WrongBackward",
    function_twice_differentiated_once: "once_differentiable",
    nan_under_detection: "SqrtBackward0",
    integers: "int64",
    integers_later: "int64",
    integers_by_attribute: "int64",
    no_graph: "grad_fn",
    nothing_required: "require",
    not_used: "allow_unused",
    no_inputs: "inputs",
    requirement_of_a_result: "leaf|leaves",
    numbers_of_a_graph: "detach",
    copy_of_a_result: "leaf|leaves|graph",
    grad_of_another_shape: r"\[3\]",
    grad_of_another_type: "float32",
    grad_that_is_no_tensor: "int",
    hook_without_a_graph: "register_hook",
    hook_with_another_shape: r"\[3\]",
    hook_with_no_tensor: "int",
    kept_without_a_graph: "retain_grad",
    detached_view: "detach_",
    edge_without_a_graph: "get_gradient_edge",
    contradicting_options: "materialize_grads",
}


@pytest.mark.parametrize("misuse", list(MISUSES), ids=lambda one: one.__name__)
def test_exceptions_are_torchs(misuse):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception) as theirs:
            misuse(torch)
        with pytest.raises(theirs.type, match=MISUSES[misuse]):
            misuse(aten)


def test_the_grad_of_a_result_warns():
    for library in (torch, aten):
        y = leaf(library) * 2
        with pytest.warns(UserWarning, match="leaf"):
            assert y.grad is None


def test_modes_left_in_another_order():
    for library in (torch, aten):
        outer, inner = library.no_grad(), library.enable_grad()
        outer.__enter__()
        inner.__enter__()
        outer.__exit__(None, None, None)
        assert library.is_grad_enabled()
        inner.__exit__(None, None, None)
        # Each puts back what it found.
        assert not library.is_grad_enabled()
        library.set_grad_enabled(True)


def test_detection_names_the_line():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(RuntimeError, match="nan"):
            nan_under_detection(aten)
    assert any("nan_under_detection" in str(one.message) for one in caught)

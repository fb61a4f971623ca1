"""Derivatives of views and of picking elements against torch."""

from __future__ import annotations

import itertools

import pytest
from derivatives import compare, numbers, torch

import aten

TYPES = ["float32", "float64", "bfloat16", "complex64", "int64", "bool"]


def gradient_of(result, element: str):
    return (numbers(*result.shape) * 3).to(getattr(torch, element))


@pytest.mark.parametrize("element", TYPES)
def test_views(element):
    sizes = [4, 3, 5]
    whole = torch.zeros(sizes)
    for dim, index in itertools.product((0, 1, -1), (0, 2, -1)):
        gradient = gradient_of(whole.select(dim, index), element)
        assert compare("select_backward", gradient, sizes, dim, index)
        for start, end, step in ((0, 3, 1), (1, 9, 2), (2, 2, 1), (0, 2**63 - 1, 3)):
            shown = torch.ops.aten.slice(whole, dim, start, end, step)
            gradient = gradient_of(shown, element)
            assert compare("slice_backward", gradient, sizes, dim, start, end, step)
    for offset, dims in itertools.product((0, 1, -2, 7), ((0, 1), (2, 0), (-1, 1))):
        gradient = gradient_of(whole.diagonal(offset, *dims), element)
        assert compare("diagonal_backward", gradient, sizes, offset, *dims)
    assert compare("trace_backward", gradient_of(torch.ones(()), element), [3, 4])
    compare("trace_backward", torch.ones(()), [3])
    compare("select_backward", torch.ones(3), [3], 1, 0)
    compare("select_backward", torch.ones(2), [3, 4], 0, 5)
    compare("slice_backward", torch.ones(2), [5], 0, 0, 4, 1)


@pytest.mark.parametrize("element", ["float32", "float64", "bfloat16"])
def test_windows(element):
    whole = torch.zeros(6, 5)
    for dim, size, step in ((0, 2, 1), (0, 3, 2), (1, 5, 1), (-1, 2, 3), (0, 0, 1)):
        gradient = gradient_of(whole.unfold(dim, size, step), element).round()
        call = (gradient, [6, 5], dim, size, step)
        assert compare("unfold_backward", *call)
        assert compare("unfold_backward.out", *call, out=gradient.new_empty(0))


@pytest.mark.parametrize("name", ["select", "slice", "diagonal"])
def test_forms(name):
    places = {"select": (0, 1), "slice": (0, 1, 2, 1), "diagonal": (0, 0, 1)}[name]
    shown = {
        "select": lambda x: x.select(0, 1),
        "slice": lambda x: x[1:2],
        "diagonal": lambda x: x.diagonal(),
    }[name](torch.zeros(3, 4))
    call = (numbers(*shown.shape), [3, 4], *places)
    assert compare(f"{name}_backward.out", *call, out=torch.empty(0))


@pytest.mark.parametrize("element", TYPES)
def test_picking(element):
    operand = numbers(4, 5).to(getattr(torch, element))
    index = torch.tensor([[0, 1, 1], [3, 3, 3]])
    gradient = gradient_of(index, element)
    assert compare("gather_backward", gradient, operand, 0, index, False)
    rows = torch.tensor([3, 0, 3])
    gradient = gradient_of(torch.zeros(3, 5), element)
    assert compare("index_select_backward", gradient, [4, 5], 0, rows)
    places = torch.tensor([0, 2, 4, 1])
    gradient = gradient_of(places, element)
    assert compare("value_selecting_reduction_backward", gradient, 1, places, [4, 5], False)
    assert compare(
        "value_selecting_reduction_backward", gradient[:, None], 1, places[:, None], [4, 5], True
    )
    running = torch.tensor([0, 0, 2, 2, 4]).expand(4, 5)
    assert compare("cummaxmin_backward", gradient_of(operand, element), operand, running, 1)
    mask = numbers(4, 5, seed=3) > 0
    chosen = gradient_of(operand[mask], element)
    assert compare("masked_select_backward", chosen, operand, mask)
    assert compare("masked_scatter_backward", gradient_of(operand, element), mask, [25])
    assert not compare("masked_scatter_backward", gradient_of(operand, element), mask, [2, 2])


@pytest.mark.parametrize("element", ["float32", "float64"])
def test_embedding(element):
    indices = torch.tensor([[1, 0, 1], [3, 2, 1]])
    gradient = numbers(2, 3, 4, element=element)
    for padding, scaled in itertools.product((-1, 1, 3), (False, True)):
        call = (gradient, indices, 5, padding, scaled)
        assert compare("embedding_dense_backward", *call)
        assert compare("embedding_dense_backward", gradient, indices.int(), 5, padding, scaled)
        assert compare("embedding_dense_backward.out", *call, out=gradient.new_empty(0))
        assert compare("embedding_backward", *call, False)
    assert not compare("embedding_dense_backward", gradient, indices.short(), 5, -1, False)


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("sizes", [[2, 3, 4, 5], [2, 1, 3, 4, 2]])
def test_affine_grids(sizes, corners):
    gradient = numbers(sizes[0], *sizes[2:], len(sizes) - 2)
    assert compare("affine_grid_generator_backward", gradient, sizes, corners, strides=False)


def _base_written(t, w):
    base = t.ones(3)
    view = base[1:]
    base.mul_(w[:1])
    return view


def _other_view_written(t, w):
    base = t.ones(3)
    first, second = base[:2], base[1:]
    first.mul_(w)
    return second + base[:2]


def _view_of_a_view(t, w):
    base = t.ones(4)
    view = base[1:]
    inner = view[1:]
    view.mul_(w[:1])
    return inner


def _rows(t, w):
    base = t.zeros(2, 2)
    rows = base[0], base[1]
    rows[0].copy_(w)
    return t.stack([rows[1], base[0] * 3, base.t()[1]])


def _transposed(t, w):
    base = t.ones(2, 3)
    view = base.t()[1:]
    base[0] = w[0]
    return view * view


@pytest.mark.parametrize(
    "program", [_base_written, _other_view_written, _view_of_a_view, _rows, _transposed]
)
def test_views_made_before_their_base_had_a_graph(program):
    def run(library):
        w = library.tensor([3.0, 4.0], requires_grad=True)
        made = program(library, w)
        made.sum().backward()
        return made.requires_grad, made.is_leaf, made.tolist(), w.grad.tolist()

    assert run(aten) == run(torch)


def test_what_is_no_view_does_not_learn_of_it():
    def run(library):
        base = library.ones(3)
        detached, copied, data = base.detach(), base.clone(), base.data
        base.mul_(library.tensor([3.0], requires_grad=True))
        return [one.requires_grad for one in (base, detached, copied, data)]

    assert run(aten) == run(torch)

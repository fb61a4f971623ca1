"""Writes in place and views on the way to a gradient."""

import pytest

import aten


def leaf(*numbers):
    return aten.tensor(list(numbers), dtype=aten.float64, requires_grad=True)


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

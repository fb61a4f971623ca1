"""The walk over operands: broadcasting, memory order, gaps, overlap, against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import aten


@st.composite
def operand(draw, shape):
    """An array that broadcasts to `shape`: some sizes one, stepped, permuted, leading ones gone."""
    sizes = [draw(st.sampled_from([size, 1])) for size in shape]
    steps = [draw(st.sampled_from([1, 1, 2, 3])) for _ in shape]
    order = draw(st.permutations(range(len(shape))))
    whole = [sizes[axis] * steps[axis] for axis in order]
    values = np.arange(int(np.prod(whole)), dtype=np.int64).reshape(whole)
    placed = values.transpose(np.argsort(order))
    placed = placed[tuple(slice(None, None, step) for step in steps)]
    dropped = draw(st.integers(0, len(shape)))
    while dropped and placed.ndim and placed.shape[0] == 1:
        placed, dropped = placed[0], dropped - 1
    # Indexing a 0-d array by nothing gives a number.
    return np.asarray(placed)


@st.composite
def operands(draw):
    # Rows of up to three points change places with what goes through eight of them and more.
    shape = draw(st.lists(st.sampled_from([0, 1, 2, 3, 4, 5, 8, 9]), max_size=4))
    return draw(operand(shape)), draw(operand(shape))


@given(operands())
def test_any_two_operands(pair):
    left, right = pair
    found = aten.from_numpy(left) + aten.from_numpy(right)
    expected = left + right
    assert tuple(found.shape) == np.shape(expected)
    assert found.tolist() == expected.tolist()


@given(operands())
def test_into_an_operand_in_place(pair):
    left, right = pair
    if np.broadcast_shapes(left.shape, right.shape) != left.shape:
        return
    expected = left + right
    aten.from_numpy(left).add_(aten.from_numpy(right))
    assert left.tolist() == expected.tolist()


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)])
def test_results_keep_the_memory_order_of_operands(order):
    x = aten.from_numpy(np.zeros((2, 3, 4), np.float32)).permute(*order)
    assert (x + x).stride() == x.stride()
    assert (x + 1).stride() == x.stride()


def test_sizes_that_do_not_fit_are_named():
    x, y = (aten.from_numpy(np.zeros(shape, np.float32)) for shape in ((2, 3), (2, 4)))
    with pytest.raises(RuntimeError, match=r"tensor a \(3\) must match .* tensor b \(4\).* 1"):
        x + y


def test_writing_through_overlap_is_refused():
    x = aten.from_numpy(np.zeros(4, np.float32))
    with pytest.raises(RuntimeError, match="single memory location"):
        x[:1].expand(4).add_(1)
    with pytest.raises(RuntimeError, match="single memory location"):
        aten.add(x[:3], x[:3], out=x[1:])
    aten.add(x, x, out=x)


def test_walks_longer_than_a_chunk_with_gaps():
    values = np.arange(300 * 400, dtype=np.float32).reshape(300, 400)
    x = aten.from_numpy(values)
    assert (x.t() + x.t()).tolist() == (values.T * 2).tolist()
    assert (x[:, ::3] + x[:, 1::3][:, :1]).tolist() == (values[:, ::3] + values[:, 1:2]).tolist()

"""Walks whose operands lie along different dimensions, against NumPy."""

import itertools

import numpy as np
import pytest

import aten

TYPES = [
    "bool",
    "int8",
    "int16",
    "float16",
    "int32",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
# Below, at and beside the sides of squares, tiles and buffers of all widths.
SHAPES = [(8, 8), (7, 300), (300, 7), (16, 17), (33, 129), (130, 131), (257, 200)]


def numbered(shape: tuple[int, ...], name: str = "float32") -> np.ndarray:
    """Elements that differ from their neighbours, whatever the type."""
    values = np.random.default_rng(0).integers(0, 100, shape)
    return values.astype(name) if name != "bool" else values % 2 == 0


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_transposing_copy(name, shape):
    values = numbered(shape, name)
    found = aten.from_numpy(values).t().contiguous()
    assert found.stride() == (shape[0], 1)
    np.testing.assert_array_equal(found.numpy(), values.T)


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_all_permutations(order):
    values = numbered((9, 3, 17, 12))
    found = aten.from_numpy(values).permute(*order).contiguous()
    np.testing.assert_array_equal(found.numpy(), values.transpose(order))
    back = np.zeros_like(values)
    aten.from_numpy(back).copy_(found.permute(*np.argsort(order).tolist()))
    np.testing.assert_array_equal(back, values)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_every_thread_has_its_tiles(threads):
    values = numbered((1000, 999))
    before = aten.get_num_threads()
    aten.set_num_threads(threads)
    try:
        found = aten.from_numpy(values).t() * 1.5
        expected = aten.from_numpy(values.T.copy()) * aten.from_numpy(values.T.copy())
        square = aten.from_numpy(values).t() * aten.from_numpy(values.T.copy())
    finally:
        aten.set_num_threads(before)
    np.testing.assert_array_equal(found.numpy(), values.T * np.float32(1.5))
    np.testing.assert_array_equal(square.numpy(), expected.numpy())


def test_operands_of_several_types_and_orders():
    left, right = numbered((70, 90), "int16"), numbered((90, 70), "float64")
    found = aten.from_numpy(right).t() + aten.from_numpy(left)
    np.testing.assert_array_equal(found.numpy(), right.T + left)
    third = numbered((90, 70), "float32")
    found = aten.where(
        aten.from_numpy(numbered((70, 90), "bool")),
        aten.from_numpy(right).t().to(aten.float32),
        aten.from_numpy(third).t(),
    )
    expected = np.where(numbered((70, 90), "bool"), right.T.astype(np.float32), third.T)
    np.testing.assert_array_equal(found.numpy(), expected)


def test_more_turned_operands_than_buffers():
    flat = np.zeros((64, 80), np.float32)
    turned = [numbered((80, 64)) + np.float32(place) for place in range(3)]
    out = aten.from_numpy(flat)
    aten.addcmul(*(aten.from_numpy(one).t() for one in turned), out=out)
    np.testing.assert_array_equal(flat, turned[0].T + turned[1].T * turned[2].T)


def test_operands_without_a_dimension_in_common():
    values, other = numbered((20, 24, 28)), numbered((24, 28, 20))
    out = np.zeros((20, 24, 28), np.float32)
    third = numbered((28, 24, 20))
    aten.add(
        aten.from_numpy(other).permute(2, 0, 1),
        aten.from_numpy(third).permute(2, 1, 0),
        out=aten.from_numpy(out),
    )
    np.testing.assert_array_equal(out, other.transpose(2, 0, 1) + third.transpose(2, 1, 0))
    found = aten.from_numpy(values) + aten.from_numpy(third).permute(2, 1, 0)
    np.testing.assert_array_equal(found.numpy(), values + third.transpose(2, 1, 0))


def test_stepped_and_expanded_operands():
    values = numbered((200, 300))
    x = aten.from_numpy(values)
    out = np.zeros((150, 100), np.float32)
    aten.from_numpy(out).copy_(x.t()[::2, ::2])
    np.testing.assert_array_equal(out, values.T[::2, ::2])
    aten.from_numpy(out).copy_(x.t()[:150, 100:])
    np.testing.assert_array_equal(out, values.T[:150, 100:])
    wide = np.zeros((150, 200), np.float32)
    aten.from_numpy(wide)[:, ::2].copy_(x.t()[:150, 100:])
    np.testing.assert_array_equal(wide[:, ::2], values.T[:150, 100:])
    np.testing.assert_array_equal(wide[:, 1::2], 0)
    row = aten.from_numpy(values[0, :200].copy())
    np.testing.assert_array_equal((x.t() + row).numpy(), values.T + values[0, :200])
    column = aten.from_numpy(values[0].copy()).unsqueeze(1)
    np.testing.assert_array_equal((x.t() + column).numpy(), values.T + values[0][:, None])


def test_in_place_beside_a_turned_operand():
    values = numbered((100, 120))
    expected = values.T + values[:, :1].T
    turned = np.ascontiguousarray(values.T)
    aten.from_numpy(turned).add_(aten.from_numpy(values[:, :1]).t())
    np.testing.assert_array_equal(turned, expected)
    square = numbered((90, 90))
    expected = square + square.T
    found = aten.from_numpy(square)
    found.add_(found.t().clone())
    np.testing.assert_array_equal(square, expected)


def test_channels_last_and_back():
    values = numbered((3, 20, 15, 13))
    x = aten.from_numpy(values)
    last = x.to(memory_format=aten.channels_last)
    assert last.stride() == (20 * 15 * 13, 1, 13 * 20, 20)
    np.testing.assert_array_equal(last.numpy(), values)
    back = last.contiguous()
    assert back.is_contiguous()
    np.testing.assert_array_equal(back.numpy(), values)
    np.testing.assert_array_equal((last + x).numpy(), values * 2)

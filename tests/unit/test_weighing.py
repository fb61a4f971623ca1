"""Elements picked by an index, weighed and summed; and when that is left to others."""

from __future__ import annotations

import math

import numpy as np
import pytest

import aten
from aten.backends.cpu.kernels.indexing.weighing import picked_and_weighed

ROWS, COLUMNS = 5, 3


def operands(dtype: aten.dtype = aten.float32) -> tuple[aten.Tensor, aten.Tensor, aten.Tensor]:
    values = aten.arange(float(ROWS * COLUMNS)).reshape((ROWS, COLUMNS)).to(dtype)
    return values, aten.tensor([2, 0, 1, 1, 2]), aten.tensor([0.5, 2.0, 3.0], dtype=dtype)


@pytest.mark.parametrize("dtype", [aten.float32, aten.float64])
def test_each_row_and_the_weights(dtype: aten.dtype) -> None:
    values, index, weight = operands(dtype)
    found = picked_and_weighed(values, index, weight, 0, False, False)
    assert found is not None
    picked, total = found
    assert (picked.dtype, total.dtype) == (dtype, dtype)
    assert picked.tolist() == [-6.0, 0.0, -14.0, -20.0, -42.0]
    assert total.item() == 10.0


def test_sums_and_averages() -> None:
    values, index, weight = operands()
    summed = picked_and_weighed(values, index, weight, -100, True, False)
    averaged = picked_and_weighed(values, index, weight, -100, True, True)
    plain = picked_and_weighed(values, index, None, 1, True, True)
    assert summed is not None
    assert averaged is not None
    assert plain is not None
    assert [one.item() for one in summed] == [-83.5, 10.5]
    assert [one.item() for one in averaged] == pytest.approx([-83.5 / 10.5, 10.5])
    assert [one.item() for one in plain] == pytest.approx([-19.0 / 3, 3.0])


def test_any_strides() -> None:
    values, index, weight = operands()
    spread = aten.zeros(COLUMNS, 2 * ROWS).t()[::2]
    spread.copy_(values)
    indices = aten.stack((index, index), 1)[:, 1]
    weights = aten.stack((weight, weight), 1)[:, 0]
    for summed in (False, True):
        expected = picked_and_weighed(values, index, weight, -1, summed, False)
        found = picked_and_weighed(spread, indices, weights, -1, summed, False)
        assert expected is not None
        assert found is not None
        assert [one.tolist() for one in found] == [one.tolist() for one in expected]


def test_one_row_without_a_dimension() -> None:
    values, _, weight = operands()
    found = picked_and_weighed(values[1], aten.tensor(2), weight, -100, True, True)
    assert found is not None
    assert [tuple(one.shape) for one in found] == [(), ()]
    assert [one.item() for one in found] == [-5.0, 3.0]


def test_nothing_counts_where_all_is_ignored() -> None:
    values, index, _ = operands()
    found = picked_and_weighed(values, aten.zeros_like(index) - 7, None, -7, True, True)
    assert found is not None
    assert math.isnan(found[0].item())
    assert found[1].item() == 0.0


def test_what_is_left_to_others() -> None:
    values, index, weight = operands()
    other = (values, index, weight)
    for given in [
        (values.to(aten.bfloat16), index, None),
        (values, index.to(aten.int32), None),
        (values, index[1:], None),
        (values, index, weight[1:]),
        (values, index, weight.to(aten.float64)),
        (values, index + 1, None),
        (values, index - 1, None),
        (values[None], index, None),
        (aten.zeros(0, 3), index[:0], None),
        tuple(aten.empty_like(one, device="meta") for one in other),
    ]:
        assert picked_and_weighed(*given, -100, True, True) is None  # type: ignore[misc]


@pytest.mark.parametrize("rows", [16384, 16385])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_losses_of_few_and_of_many_rows_agree(rows: int, reduction: str) -> None:
    generator = np.random.default_rng(0)
    values = generator.standard_normal((rows, 2)).astype(np.float32)
    index = generator.integers(0, 2, rows)
    losses = -values[np.arange(rows), index].astype(np.float64)
    expected = {"none": losses, "mean": losses.mean(), "sum": losses.sum()}[reduction]
    found = aten.nn.functional.nll_loss(
        aten.from_numpy(values), aten.from_numpy(index), reduction=reduction
    )
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-4)

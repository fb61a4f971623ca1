"""What defines sorting, ranks, search, runs and histograms gives what compiled loops give."""

from __future__ import annotations

import math

import pytest
from definitions import check

import aten

A = aten.ops.aten


@pytest.fixture(autouse=True)
def same_numbers():
    aten.manual_seed(3)


def with_gaps(values):
    """NaN in the place of what is large."""
    return values.masked_fill(values > 1, math.nan)


def rows():
    yield aten.randn(5)
    yield with_gaps(aten.randn(4, 7))
    yield with_gaps(aten.randn(3, 4, 5).transpose(0, 2))
    yield aten.randint(-5, 5, (6, 3))
    yield aten.tensor(2.5)
    yield aten.full((2, 3), math.nan)
    yield aten.tensor([math.inf, math.nan, -math.inf, 0.0, -0.0])


def dims(values):
    return range(max(values.dim(), 1))


@pytest.mark.parametrize("descending", [False, True])
def test_sorting(descending):
    for values in (*rows(), aten.randn(4, 5) > 0, aten.randn(0, 3), aten.randn(3, 0)):
        for dim in dims(values):
            check("sort.stable", values, stable=True, dim=dim, descending=descending)


@pytest.mark.parametrize("keepdim", [False, True])
def test_ranks(keepdim):
    for values in rows():
        for dim in dims(values):
            check("mode", values, dim, keepdim)
            check("median.dim", values, dim, keepdim)
            check("nanmedian.dim", values, dim, keepdim)
            if values.is_floating_point() and not values.isnan().any():
                for rank in range(1, (values.size(dim) if values.dim() else 1) + 1):
                    check("kthvalue", values, rank, dim, keepdim)
                    check("topk", values, rank, dim, keepdim)
        check("median", values)
        check("nanmedian", values)
    check("median", aten.empty(0))
    check("topk", aten.randn(3, 4), 0, 1)


def test_logarithms_of_sums_of_exponentials():
    for values in rows():
        if values.is_floating_point():
            for dim in dims(values):
                check("logcumsumexp", values, dim)
    check("logcumsumexp", aten.randn(3, 6, dtype=aten.complex128), 1)


def test_elements_without_repetition():
    for values in (*rows(), aten.randint(0, 3, (40,)), aten.empty(0)):
        for inverse in (False, True):
            check("_unique2", values, True, inverse, not inverse, places=("reference",))
            check("unique_consecutive", values, inverse, not inverse, places=("reference",))


def test_slices_without_repetition():
    many, wide = aten.randint(0, 3, (60, 3)), aten.randint(0, 2, (3, 50)).float()
    wide[:, 7] = math.nan
    wide[:, 8] = -0.0
    for values in (many, wide, aten.randint(0, 2, (3, 2, 9)), aten.zeros(0, 3)):
        for dim in range(values.dim()):
            if values.numel() or dim == 0:
                check("unique_dim", values, dim, True, True, True, places=("reference",))
                check("unique_dim_consecutive", values, dim, True, True, places=("reference",))


@pytest.mark.parametrize("length", [0, 1, 2, 3, 8, 13])
def test_search(length):
    sequence = aten.randint(0, 9, (length,)).sort()[0]
    for right in (False, True):
        for narrow in (False, True):
            options = {"right": right, "out_int32": narrow}
            check("searchsorted.Tensor", sequence, aten.randint(-1, 10, (3, 4)), **options)
            check("bucketize.Tensor", aten.randn(2, 3), sequence, **options)
    sequence, wanted = aten.rand(3, length), with_gaps(aten.rand(3, 5) * 1.2)
    check("searchsorted.Tensor", sequence, wanted, sorter=sequence.argsort(-1))
    # Not in order: a search goes the same way all the same.
    check("searchsorted.Tensor", sequence, wanted)


@pytest.mark.parametrize("count", [0, 5, 50])
def test_elements_among_others(count):
    check("isin.Tensor_Tensor", aten.randint(0, 30, (4, 6)), aten.randint(0, 30, (count,)))
    check("isin.Tensor_Tensor", aten.randn(3), aten.randn(count), invert=True)


def test_histograms():
    values, weight = aten.randn(60), aten.rand(60)
    values[3] = 2.0
    for bounds in ((-2, 2), (0, 0)):
        check("histc", values, 7, *bounds, places=("reference", "meta"))
    check("histogram.bin_ct", values, 5, range=(-1.0, 2.0), weight=weight, density=True)
    check("histogram.bins_tensor", values, aten.tensor([-1.0, 0.0, 0.5, 2.0]), weight=weight)
    points = aten.randn(30, 2)
    check("_histogramdd_from_bin_cts", points, [3, 4], range=(-1.0, 1.0, -2.0, 2.0))
    check("bincount", aten.randint(0, 9, (40,)), weight[:40], 12, places=("reference",))


def test_runs():
    check("repeat_interleave.Tensor", aten.tensor([2, 0, 3]), places=("reference",))
    check("repeat_interleave.Tensor", aten.tensor([2, 0, 3]), output_size=5)
    data = aten.randn(7, 2)
    for fold in ("sum", "mean", "max", "min", "prod"):
        check("segment_reduce", data, fold, lengths=aten.tensor([3, 0, 4]))
        check("segment_reduce", data, fold, offsets=aten.tensor([0, 2, 6]), initial=1)


def test_repeats_are_looked_at_only_where_the_size_is_not_known():
    repeats = aten.tensor([2, 1, 0], device="reference")
    assert A.repeat_interleave.Tensor(repeats, output_size=3).tolist() == [0, 0, 1]
    with pytest.raises(RuntimeError, match="must not be negative"):
        A.repeat_interleave.Tensor(-repeats)
    with pytest.raises(RuntimeError, match="output_size is 4, not 3"):
        A.repeat_interleave.Tensor(repeats.to("cpu"), output_size=4)


def test_assertions_on_other_devices():
    A._assert_async(aten.tensor(1, device="reference"))
    with pytest.raises(RuntimeError, match="too few"):
        A._assert_async.msg(aten.tensor(0, device="reference"), "too few")
    A._assert_async.msg(aten.empty((), device="meta"), "nobody knows")

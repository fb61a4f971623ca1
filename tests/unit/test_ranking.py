"""Rows of keys and positions, arranged: sorted and selected as they should be, in bounds."""

import numpy
import pytest

import aten
from aten._core.ranking import arrange, take_least

LENGTHS = (1, 2, 3, 4, 15, 16, 17, 33, 500, 5000)


def pairs_of(keys):
    pairs = numpy.empty((*keys.shape, 2), numpy.uint64)
    pairs[..., 0] = keys
    pairs[..., 1] = numpy.arange(keys.shape[-1])
    return pairs


def rows(length):
    """Random, in order, in reverse, all equal, few different, and organ pipes."""
    generator = numpy.random.default_rng(length)
    up = numpy.arange(length)
    few = generator.integers(0, 3, length)
    made = [
        generator.integers(0, 2**63, length),
        up,
        up[::-1],
        up * 0,
        few,
        numpy.minimum(up, up[::-1]),
    ]
    return numpy.array(made, numpy.uint64)


@pytest.mark.parametrize("length", LENGTHS)
def test_sorting(length):
    keys = rows(length)
    pairs = pairs_of(keys)
    arrange(pairs, "sort")
    assert (pairs[..., 0] == numpy.sort(keys)).all()
    positions = pairs[..., 1].astype(numpy.int64)
    assert (numpy.take_along_axis(keys, positions, -1) == pairs[..., 0]).all()
    assert (numpy.sort(positions) == numpy.arange(length)).all()


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("share", [0.001, 0.3, 1.0])
def test_selecting(length, share):
    keys = rows(length)
    rank = max(1, int(length * share))
    least = numpy.sort(keys)[:, :rank]
    for how in ("sort least", "select least"):
        pairs = pairs_of(keys)
        arrange(pairs, how, rank)
        found = pairs[:, :rank, 0]
        assert (found[:, -1] == least[:, -1]).all()
        assert (numpy.sort(found) == least).all()
        assert how != "sort least" or (found == least).all()
    pairs = pairs_of(keys)
    arrange(pairs, "select", rank - 1)
    assert (pairs[:, rank - 1, 0] == least[:, -1]).all()


@pytest.mark.parametrize("length", [64, 65, 1000, 5000])
def test_the_least_are_those_that_sorting_them_finds(length):
    keys = rows(length)
    for rank in {1, length // 64}:
        pairs, least = pairs_of(keys), numpy.zeros((len(keys), rank, 2), numpy.uint64)
        arrange(pairs, "sort least", rank)
        take_least(keys, least)
        assert (least == pairs[:, :rank]).all()


def test_what_is_refused():
    for keys, pairs in (
        ((3, 4), (3, 5, 2)),
        ((3, 4), (2, 4, 2)),
        ((3, 4), (3, 0, 2)),
        ((4,), (4, 2)),
    ):
        with pytest.raises(ValueError, match="take_least"):
            take_least(numpy.zeros(keys, numpy.uint64), numpy.zeros(pairs, numpy.uint64))
    pairs = pairs_of(rows(4))
    with pytest.raises(ValueError, match="no arrangement"):
        arrange(pairs, "shuffle")
    for how, rank in (("select", 4), ("sort least", 0), ("sort least", 5), ("select", -1)):
        with pytest.raises(ValueError, match="out of range"):
            arrange(pairs, how, rank)
    with pytest.raises(ValueError, match="uint64"):
        arrange(pairs.astype(numpy.int64), "sort")


def test_selection_does_not_degrade():
    """A row on which medians of three keep failing is still done in no time."""
    length = 200_000
    keys = numpy.empty((1, length), numpy.uint64)
    half = length // 2
    keys[0, :half] = numpy.arange(1, length, 2)
    keys[0, half:] = numpy.arange(2, length + 1, 2)
    pairs = pairs_of(keys)
    arrange(pairs, "select", half)
    assert pairs[0, half, 0] == half + 1


def test_meta_has_shapes():
    values = aten.empty((3, 4), device="meta")
    assert aten.sort(values, 0)[1].dtype is aten.int64
    assert tuple(aten.topk(values, 2)[0].shape) == (3, 2)
    assert tuple(aten.median(values, 1, True)[0].shape) == (3, 1)
    assert tuple(aten.quantile(values, aten.empty(5, device="meta"), 1).shape) == (5, 3)
    assert tuple(aten.cummax(values, 0)[0].shape) == (3, 4)
    assert tuple(aten.logcumsumexp(values, 0).shape) == (3, 4)

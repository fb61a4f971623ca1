"""Rows arranged as far as some rank: sorted and selected as they should be, in bounds."""

import numpy
import pytest

import aten
from aten.backends.cpu.kernels.ordering.ordering import choose

LENGTHS = (1, 2, 3, 4, 15, 16, 17, 33, 500, 5000)


def chosen(keys, way, rank=0, kept=None):
    """The elements and positions that are chosen of each row."""
    kept = keys.shape[1] if kept is None else kept
    values = aten.empty((len(keys), kept), dtype=aten.uint64)
    positions = aten.empty((len(keys), kept), dtype=aten.int64)
    choose(aten.from_numpy(keys), 1, way, rank, False, values, positions)
    found = numpy.asarray(values), numpy.asarray(positions)
    assert (numpy.take_along_axis(keys, found[1], -1) == found[0]).all()
    return found


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
    found, positions = chosen(keys, "sort")
    assert (found == numpy.sort(keys)).all()
    assert (numpy.sort(positions) == numpy.arange(length)).all()


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("share", [0.001, 0.01, 0.3, 1.0])
def test_selecting(length, share):
    keys = rows(length)
    rank = max(1, int(length * share))
    least = numpy.sort(keys)[:, :rank]
    for way in ("least", "least unsorted"):
        found, positions = chosen(keys, way, rank, rank)
        assert (numpy.sort(found) == least).all()
        assert way != "least" or (found == least).all()
        assert all(len(set(row)) == rank for row in positions.tolist())
    found, _ = chosen(keys, "rank", rank - 1, 1)
    assert (found[:, 0] == least[:, -1]).all()


def test_what_is_refused():
    keys = rows(4)
    with pytest.raises(ValueError, match="shuffle"):
        chosen(keys, "shuffle")
    for way, rank, kept in (
        ("rank", 4, 1),
        ("rank", -1, 1),
        ("least", 5, 5),
        ("least", 2, 3),
        ("sort", 0, 3),
    ):
        with pytest.raises(ValueError, match="do not fit"):
            chosen(keys, way, rank, kept)
    places = aten.empty((6, 4), dtype=aten.int64)
    for given, dim, values, indices in (
        (aten.zeros((6, 4)), 2, aten.zeros((6, 4)), places),
        (aten.zeros((6, 4)), 1, aten.zeros((6, 4), dtype=aten.float64), places),
        (aten.zeros((6, 4)), 1, aten.zeros((6, 4)), aten.zeros((6, 4))),
        (aten.zeros((6, 4), dtype=aten.complex64), 1, aten.zeros((6, 4)), places),
        (aten.zeros((6, 4), device="meta"), 1, aten.zeros((6, 4)), places),
    ):
        with pytest.raises(ValueError, match="do not fit"):
            choose(given, dim, "sort", 0, False, values, indices)


def test_selection_does_not_degrade():
    """A row on which medians of three keep failing is still done in no time."""
    length = 200_000
    keys = numpy.empty((1, length), numpy.uint64)
    half = length // 2
    keys[0, :half] = numpy.arange(1, length, 2)
    keys[0, half:] = numpy.arange(2, length + 1, 2)
    keys[keys == half + 2] = half + 1  # which of equal ones is found depends on the steps
    assert chosen(keys, "rank", half, 1)[0][0, 0] == half + 1


def test_meta_has_shapes():
    values = aten.empty((3, 4), device="meta")
    assert aten.sort(values, 0)[1].dtype is aten.int64
    assert tuple(aten.topk(values, 2)[0].shape) == (3, 2)
    assert tuple(aten.median(values, 1, True)[0].shape) == (3, 1)
    assert tuple(aten.quantile(values, aten.empty(5, device="meta"), 1).shape) == (5, 3)
    assert tuple(aten.cummax(values, 0)[0].shape) == (3, 4)
    assert tuple(aten.logcumsumexp(values, 0).shape) == (3, 4)

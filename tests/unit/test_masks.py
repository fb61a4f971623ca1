"""Elements where a mask is true, around the ends of the pieces that masks are cut into."""

import numpy
import pytest

import aten
from aten.backends.cpu.kernels.indexing import masks

COUNTS = (0, 1, 1023, 1024, 1025, 70_000)
TYPES = ("uint8", "int16", "float32", "int64", "complex128")


@pytest.fixture(autouse=True)
def _threads():
    before = aten.get_num_threads()
    yield
    aten.set_num_threads(before)


def mask_of(count, share):
    return numpy.random.default_rng(count).random(count) < share


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("share", [0, 0.01, 0.5, 1])
@pytest.mark.parametrize("threads", [1, 4])
def test_against_numpy(count, share, threads):
    aten.set_num_threads(threads)
    mask = mask_of(count, share)
    given = aten.from_numpy(mask)
    assert (numpy.asarray(masks.positions(given, True))[0] == numpy.flatnonzero(mask)).all()
    for element in TYPES:
        values = numpy.arange(count).astype(element)
        found = numpy.asarray(masks.compress(aten.from_numpy(values), given))
        assert found.tobytes() == values[mask].tobytes()
        source = (values + values.dtype.type(1))[: mask.sum()].copy()
        out = aten.from_numpy(values.copy())
        assert masks.expand_into(out, given, aten.from_numpy(source)) == mask.sum()
        expected = values.copy()
        expected[mask] = source
        assert numpy.asarray(out).tobytes() == expected.tobytes()


def test_coordinates():
    mask = mask_of(40 * 50 * 30, 0.3).reshape(40, 50, 30)
    found = aten.nonzero(aten.from_numpy(mask))
    assert (numpy.asarray(found) == numpy.argwhere(mask)).all()
    assert found.stride() == (1, found.size(0))
    assert tuple(aten.nonzero(aten.tensor(True)).shape) == (1, 0)


def test_bytes_other_than_one_are_true():
    mask = aten.tensor([0, 2, 255, 0, 128], dtype=aten.uint8)
    assert masks.positions(mask, True).tolist() == [[1, 2, 4]]
    assert masks.compress(aten.arange(5), mask).tolist() == [1, 2, 4]


def test_too_few_elements_change_nothing():
    out, mask = aten.zeros(4), aten.tensor([True, True, False, True])
    with pytest.raises(RuntimeError, match="3 elements"):
        out.masked_scatter_(mask, aten.ones(2))
    assert out.tolist() == [0, 0, 0, 0]


def test_a_mask_and_a_source_in_the_same_memory():
    mask = aten.tensor([True, False, True, True])
    mask.masked_scatter_(mask, aten.tensor([False, True, False]))
    assert mask.tolist() == [False, False, True, False]
    numbers = aten.arange(4)
    numbers.masked_scatter_(aten.tensor([False, True, True, True]), numbers)
    assert numbers.tolist() == [0, 0, 1, 2]


def test_what_is_refused():
    mask = aten.tensor([True, False])
    for call in (
        lambda: masks.compress(aten.zeros(3), mask),
        lambda: masks.compress(aten.zeros(2), aten.zeros(2)),
        lambda: masks.positions(aten.zeros(4, dtype=aten.bool)[::2], True),
        lambda: masks.expand_into(aten.zeros(3), mask, aten.zeros(3)),
        lambda: masks.expand_into(aten.zeros(2), mask, aten.zeros(2, dtype=aten.float64)),
    ):
        with pytest.raises(ValueError, match=r"row-major"):
            call()


def test_numbers_in_tensors_are_numbers_to_fill_with() -> None:
    x = aten.tensor([1, 2])
    filled = aten.ops.aten.masked_fill.Scalar(x, x > 1, aten.tensor(-3))
    assert filled.tolist() == [1, -3]
    with pytest.raises(RuntimeError, match="without overflow"):
        aten.ops.aten.masked_fill.Scalar(x.to(aten.int8), x > 1, aten.tensor(300))

"""How often numbers occur, against NumPy."""

import numpy
import pytest

import aten
from aten.backends.cpu.kernels.indexing.counting import count_numbers


@pytest.fixture(autouse=True)
def _threads():
    before = aten.get_num_threads()
    yield
    aten.set_num_threads(before)


@pytest.mark.parametrize("element", ["uint8", "int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("bound", [1, 2, 100, 1024, 5000])
@pytest.mark.parametrize("count", [0, 1, 5, 1000, 40_003])
def test_counts_against_numpy(element, bound, count):
    bound = min(bound, numpy.iinfo(element).max)
    array = numpy.random.default_rng(count).integers(0, bound, count).astype(element)
    for threads in (1, 4):
        aten.set_num_threads(threads)
        for least in (0, 3, 3000):
            made = aten.bincount(aten.from_numpy(array), minlength=least)
            assert made.dtype is aten.int64
            assert made.tolist() == numpy.bincount(array, minlength=least).tolist()
    apart = aten.from_numpy(numpy.repeat(array, 2))[::2]
    assert aten.bincount(apart).tolist() == numpy.bincount(array).tolist()


def test_what_the_general_way_serves():
    numbers = aten.tensor([0, 2, 2, 1])
    for other in (
        aten.tensor([0, -1]),
        aten.tensor([1 << 40, 0]),
        aten.tensor([5, 0]),
        numbers.view(2, 2),
        numbers[::2],
        numbers.to(aten.uint16),
        aten.tensor([], dtype=aten.int64),
    ):
        assert count_numbers(other, 0) is None
    assert count_numbers(numbers, 5).tolist() == [1, 1, 2, 0, 0]
    assert aten.bincount(aten.tensor([5, 0])).tolist() == [1, 0, 0, 0, 0, 1]
    assert aten.bincount(numbers, aten.tensor([0.5, 1.0, 2.0, 4.0])).tolist() == [0.5, 4.0, 3.0]
    for wrong in (aten.tensor([0, -1]), aten.tensor([3, -(1 << 40), 4]), numbers.view(2, 2)):
        with pytest.raises(RuntimeError, match="bincount: expected a vector"):
            aten.bincount(wrong)
    with pytest.raises(RuntimeError, match="minlength"):
        aten.bincount(numbers, minlength=-1)


def test_equal_neighbours_and_one_number_alone():
    numbers = aten.full((100_001,), 7)
    assert aten.bincount(numbers).tolist() == [0] * 7 + [100_001]
    numbers[50_000] = 0
    assert aten.bincount(numbers).tolist() == [1] + [0] * 6 + [100_000]

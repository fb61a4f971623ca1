"""Rows put in order by digits, chosen from by rank, and counted: NumPy says what is right."""

import numpy
import pytest

import aten
from aten.backends.cpu.kernels.ordering.ordering import choose, unique

LENGTHS = (1, 2, 31, 33, 300, 9_000, 70_000)
TYPES = (
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "bool",
)


@pytest.fixture(autouse=True)
def _threads():
    before = aten.get_num_threads()
    yield
    aten.set_num_threads(before)


def numbers(element, length, kind, seed=0):
    """Many different numbers, a few, or one; with NaNs and zeros of both signs among floats."""
    generator = numpy.random.default_rng(seed)
    if element == "bool":
        return generator.random(length) < (0.5 if kind != "one" else 0)
    if numpy.dtype(element).kind != "f":
        bounds = numpy.iinfo(element)
        low, high = (bounds.min, bounds.max) if kind == "many" else (3, 3 + 4 * (kind == "few"))
        return generator.integers(low, high, length, element, endpoint=True)
    made = generator.standard_normal(length)
    if kind != "many":
        made = numpy.round(made) if kind == "few" else made * 0 + 1.5
    made = made.astype(element)
    if kind != "one":
        made[::7], made[1::5], made[2::5] = numpy.nan, -0.0, 0.0
    return made


def sorted_places(row, descending):
    """NaN is the greatest; equal elements stay in their order."""
    missing = row != row
    key = numpy.where(missing, row.dtype.type(0), row)
    ranks = numpy.unique(key, return_inverse=True)[1].reshape(row.shape)
    ranks = numpy.where(missing, len(row) + 1, ranks)
    return numpy.argsort(-ranks if descending else ranks, kind="stable")


def chosen(row, way, rank=0, kept=None, descending=False):
    given = aten.from_numpy(row)
    sizes = (len(row) if kept is None else kept,)
    values, places = aten.empty(sizes, dtype=given.dtype), aten.empty(sizes, dtype=aten.int64)
    choose(given, 0, way, rank, descending, values, places)
    return numpy.asarray(values), numpy.asarray(places)


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("kind", ["many", "few", "one"])
@pytest.mark.parametrize("length", LENGTHS)
def test_stable_sorting(element, kind, length):
    row = numbers(element, length, kind)
    for descending in (False, True):
        values, places = chosen(row, "stable sort", descending=descending)
        expected = sorted_places(row, descending)
        assert (places == expected).all()
        # Bit by bit: zeros keep their signs, and NaNs what is in them.
        assert values.tobytes() == row[expected].tobytes()


@pytest.mark.parametrize("element", ["float32", "float64", "int64", "uint8"])
def test_rows_along_any_dimension_of_any_layout(element):
    made = numbers(element, 5 * 40 * 37, "many").reshape(5, 40, 37)
    layouts = (made, made.transpose(2, 0, 1), made[:, ::3, ::-1].copy(order="F"), made[:, :0])
    for array in layouts:
        for dim in range(3):
            values, places = aten.sort(aten.from_numpy(array), dim=dim, stable=True)
            if array.size == 0:
                assert tuple(values.shape) == array.shape
                continue
            expected = numpy.apply_along_axis(sorted_places, dim, array, False)
            assert (numpy.asarray(places) == expected).all()
            found = numpy.take_along_axis(array, expected, dim)
            assert numpy.array_equal(numpy.asarray(values), found, equal_nan=element[0] == "f")


@pytest.mark.parametrize("shape", [(200_000,), (300, 700), (700, 300)])
def test_any_number_of_threads_finds_the_same(shape):
    made = numbers("float32", shape[0] * shape[-1] if len(shape) > 1 else shape[0], "few")
    given = aten.from_numpy(made.reshape(shape))
    found = []
    for threads in (1, 4):
        aten.set_num_threads(threads)
        for dim in range(len(shape)):
            found.append([numpy.asarray(one) for one in aten.sort(given, dim)])
    half = len(found) // 2
    for one, other in zip(found[:half], found[half:], strict=True):
        for left, right in zip(one, other, strict=True):
            assert left.tobytes() == right.tobytes()


@pytest.mark.parametrize("element", ["float32", "float16", "int64", "int16"])
@pytest.mark.parametrize("kind", ["many", "few", "one"])
@pytest.mark.parametrize("length", [1, 2, 5, 300, 20_001])
def test_ranks(element, kind, length):
    row = numbers(element, length, kind)
    order = sorted_places(row, False)
    missing = row != row
    middle = order[(length - 1) // 2]
    expected = numpy.flatnonzero(missing)[0] if missing.any() else middle
    assert chosen(row, "median", kept=1)[1] == [expected]
    present = length - missing.sum()
    expected = order[max(present - 1, 0) // 2]
    assert chosen(row, "median of numbers", kept=1)[1] == [expected]
    for rank in {0, length // 3, length - 1}:
        value, place = chosen(row, "rank", rank, 1)
        assert numpy.array_equal(value, row[order[[rank]]], equal_nan=element[0] == "f")
        assert value.tobytes() == row[place].tobytes()


def test_mode_is_the_least_of_the_most_frequent():
    row = numpy.array([5, 3, 5, 1, 3, 9, 1], "int64")
    value, place = chosen(row, "mode", kept=1)
    assert value == [1]
    assert place == [6]


@pytest.mark.parametrize("element", ["float32", "float64", "int64", "uint8", "bool", "float16"])
@pytest.mark.parametrize("length", [0, 1, 40, 9_000, 70_000])
def test_unique(element, length):
    for kind in ("many", "few"):
        row = numbers(element, length, kind)
        values, places, counts = (
            numpy.asarray(one) for one in unique(aten.from_numpy(row), True, True)
        )
        expected = numpy.unique(row, return_inverse=True, return_counts=True, equal_nan=False)
        assert numpy.array_equal(values, expected[0], equal_nan=element[0] == "f")
        assert (counts == expected[2]).all()
        assert counts.sum() == length
        assert numpy.array_equal(values[places], row, equal_nan=element[0] == "f")
        nothing = unique(aten.from_numpy(row), False, False)
        assert [one.numel() for one in nothing] == [len(values), 0, 0]


def test_numbers_without_dimensions_and_without_elements():
    values, places = aten.sort(aten.tensor(2.5))
    assert (values.item(), places.item()) == (2.5, 0)
    assert aten.topk(aten.tensor(2.5), 1)[0].item() == 2.5
    assert tuple(aten.topk(aten.zeros((3, 0)), 0)[0].shape) == (3, 0)
    assert tuple(aten.sort(aten.zeros((0, 4)))[1].shape) == (0, 4)


def test_results_have_names():
    found = aten.sort(aten.tensor([2.0, 1.0]))
    assert found.values.tolist() == [1.0, 2.0]
    assert aten.topk(aten.tensor([2.0, 1.0]), 1).indices.tolist() == [0]

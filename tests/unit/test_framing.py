"""Borders of other elements around tensors, against NumPy's."""

import numpy
import pytest

import aten
from aten.nn.functional import pad

MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
# Sizes and the counts before and after, the last dimension's first.
CASES = (
    ((2, 3, 5, 7), (3, 3, 3, 3)),
    ((1, 2, 6, 9), (0, 5, 4, 0)),
    ((2, 3, 40), (21, 38)),
    ((3, 70), (1, 2)),
    ((2, 2, 3, 4, 5), (1, 2, 0, 1, 2, 2)),
    ((1, 1, 1), (0, 0)),
    ((0, 3, 4), (1, 1)),
)


@pytest.fixture(autouse=True)
def _threads():
    before = aten.get_num_threads()
    yield
    aten.set_num_threads(before)


def expected_of(array, counts, mode):
    widths = [(counts[place], counts[place + 1]) for place in range(0, len(counts), 2)]
    widths = [(0, 0)] * (array.ndim - len(widths)) + widths[::-1]
    return numpy.pad(array, widths, mode=MODES[mode])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("element", ["float32", "float64", "float16", "int8", "complex128"])
@pytest.mark.parametrize(("sizes", "counts"), CASES)
def test_borders_against_numpy(mode, element, sizes, counts):
    if 0 in sizes and mode != "constant":
        pytest.skip("NumPy has no border of nothing")
    array = numpy.random.default_rng(len(sizes)).integers(-99, 99, sizes).astype(element)
    if element.startswith("float"):
        array.reshape(-1)[::5] = numpy.nan
    expected = expected_of(array, counts, mode)
    # Row-major, transposed, with gaps, and every element twice as far from the next.
    layouts = [array, array.T.copy().T, numpy.repeat(array, 2, axis=-1)[..., ::2]]
    wide = numpy.zeros((*sizes[:-1], sizes[-1] + 3), element)
    wide[..., 2:-1] = array
    layouts.append(wide[..., 2:-1])
    for threads in (1, 4):
        aten.set_num_threads(threads)
        for given in layouts:
            made = pad(aten.from_numpy(given), counts, mode=mode)
            numpy.testing.assert_array_equal(numpy.asarray(made), expected)


@pytest.mark.parametrize("mode", MODES)
def test_many_rows_are_shared(mode):
    array = numpy.arange(40 * 64 * 64, dtype="float32").reshape(40, 64, 64)
    made = pad(aten.from_numpy(array), (3, 2, 1, 4), mode=mode)
    numpy.testing.assert_array_equal(numpy.asarray(made), expected_of(array, (3, 2, 1, 4), mode))


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_channels_stay_last_but_where_rows_go_round(mode):
    image = aten.arange(2.0 * 3 * 4 * 5).view(2, 3, 4, 5)
    last = image.contiguous(memory_format=aten.channels_last)
    made = pad(last, (1, 2, 2, 1), mode=mode)
    assert made.tolist() == pad(image, (1, 2, 2, 1), mode=mode).tolist()
    assert made.is_contiguous() == (mode == "circular")


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_what_is_refused(mode):
    image = aten.zeros(1, 2, 3, 4)
    with pytest.raises(RuntimeError, match="pad"):
        pad(image, (1 << 60, 0), mode=mode)
    with pytest.raises(RuntimeError):
        pad(image, (-3, -3), mode=mode)
    with pytest.raises((RuntimeError, NotImplementedError)):
        pad(aten.zeros(4), (1, 1), mode=mode)
    if mode != "replicate":
        with pytest.raises(RuntimeError, match="at a dimension of size 4"):
            pad(image, (5, 0, 0, 0), mode=mode)


def test_cropping_takes_the_general_way():
    image = aten.arange(20.0).view(1, 4, 5)
    assert pad(image, (-1, 1), mode="replicate").tolist() == [
        [[*row[1:], row[-1]] for row in image[0].tolist()]
    ]


@pytest.mark.parametrize("element", ["float32", "int8", "float64", "complex128", "int16"])
@pytest.mark.parametrize(
    ("sizes", "shifts"),
    [
        ((20, 7), (1, 3)),
        ((64, 1000), (0, 3)),
        ((64, 1000), (5, -3)),
        ((3, 6, 300), (-1, 2, 150)),
        ((16, 2, 1), (3, 1, 0)),
        ((2, 40_000), (1, 5)),
        ((5, 4, 3, 2, 9), (1, 0, 2, 1, 8)),
    ],
)
def test_rows_go_round(element, sizes, shifts):
    array = numpy.arange(numpy.prod(sizes)).reshape(sizes).astype(element)
    dims = tuple(range(len(sizes)))
    expected = numpy.roll(array, shifts, dims)
    wide = numpy.repeat(array, 2, axis=0)[::2]
    for threads in (1, 4):
        aten.set_num_threads(threads)
        for given in (array, array.T.copy().T, wide):
            made = aten.from_numpy(given).roll(shifts, dims)
            numpy.testing.assert_array_equal(numpy.asarray(made), expected)


def test_copies_between_all_places_of_a_page():
    """A row a little behind its source, but for pages, is copied otherwise than the others."""
    bytes_of = numpy.random.default_rng(0).integers(-128, 127, 3 * 5000).astype("int8")
    for size in (63, 64, 65, 127, 128, 200, 2048, 2049, 4100):
        rows = aten.from_numpy(bytes_of[: 3 * size].reshape(3, size))
        # Each counts from another place, the result from the begin of its memory.
        for count in (*range(0, 70, 3), 1000):
            made = pad(rows, (count, 1))
            assert made.shape == (3, size + count + 1)
            assert numpy.array_equal(numpy.asarray(made[:, count:-1]), numpy.asarray(rows))
            assert not numpy.asarray(made[:, :count]).any()

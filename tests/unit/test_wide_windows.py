"""The largest elements of wide windows, found by columns, against all elements in their order."""

import itertools

import numpy
import pytest

import aten
from aten.nn.functional import adaptive_max_pool2d, max_pool2d


@pytest.fixture(autouse=True)
def _threads():
    before = aten.get_num_threads()
    yield
    aten.set_num_threads(before)


def largest(plane, rows, columns):
    """The largest element and its place, the first of equals, the last NaN."""
    found, most = rows.start * plane.shape[1] + columns.start, None
    for row, column in itertools.product(rows, columns):
        value = plane[row, column]
        if most is None or value > most or value != value:
            found, most = row * plane.shape[1] + column, value
    return most, found


def drawn(sizes, element):
    """Few different numbers, so that many are equal."""
    generator = numpy.random.default_rng(sum(sizes))
    image = generator.integers(0, 5, sizes).astype(element)
    if element.startswith("float"):
        image.reshape(-1)[::53] = numpy.nan
        image.reshape(-1)[1::7] = -numpy.inf
        image[:, :, : sizes[2] // 2, : sizes[3] // 2] = -numpy.inf
        image[:, :, 0, 0] = -0.0
    return image


def require_equal(made, places, image, rows, columns):
    for batch, channel in itertools.product(range(image.shape[0]), range(image.shape[1])):
        for place in itertools.product(range(len(rows)), range(len(columns))):
            value, found = largest(image[batch, channel], rows[place[0]], columns[place[1]])
            at = (batch, channel, *place)
            numpy.testing.assert_array_equal(made[at].item(), value)
            assert places[at].item() == found


@pytest.mark.parametrize("element", ["float32", "float64", "float16"])
@pytest.mark.parametrize(
    ("sizes", "wanted"),
    [
        ((2, 2, 20, 30), (7, 7)),
        ((1, 1, 3, 600), (2, 2)),
        ((1, 2, 4, 520), (1, 3)),
        ((1, 1, 1, 9), 2),
    ],
)
def test_adaptive_windows(element, sizes, wanted):
    image = drawn(sizes, element)
    counts = wanted if isinstance(wanted, tuple) else (wanted, wanted)
    rows, columns = (
        [range(n * size // count, -(-(n + 1) * size // count)) for n in range(count)]
        for size, count in zip(sizes[2:], counts, strict=True)
    )
    for threads in (1, 4):
        aten.set_num_threads(threads)
        made, places = adaptive_max_pool2d(aten.from_numpy(image), wanted, return_indices=True)
        require_equal(made, places, image, rows, columns)


@pytest.mark.parametrize("element", ["float32", "float64", "uint8", "int8", "int64"])
@pytest.mark.parametrize(
    ("kernel", "stride", "padding"), [(4, 4, 0), (5, 2, 2), (9, 16, 0), (6, 1, 3)]
)
def test_regular_windows(element, kernel, stride, padding):
    sizes = (2, 1, 17, 41)
    image = drawn(sizes, element)
    rows, columns = (
        [
            range(max(begin, 0), min(begin + kernel, size))
            for begin in range(-padding, size + padding - kernel + 1, stride)
        ]
        for size in sizes[2:]
    )
    # Side by side, and otherwise, which takes the general way.
    for given in (image, image.transpose(0, 1, 3, 2).copy().transpose(0, 1, 3, 2)):
        made, places = max_pool2d(
            aten.from_numpy(given), kernel, stride, padding, return_indices=True
        )
        require_equal(made, places, image, rows, columns)


def test_many_lines_are_shared():
    image = aten.randn(8, 16, 40, 40, generator=aten.Generator().manual_seed(0))
    aten.set_num_threads(1)
    expected = adaptive_max_pool2d(image, 5, return_indices=True)
    aten.set_num_threads(4)
    made = adaptive_max_pool2d(image, 5, return_indices=True)
    for one, other in zip(made, expected, strict=True):
        assert one.tolist() == other.tolist()
    turned = image.transpose(2, 3).contiguous().transpose(2, 3)
    general = adaptive_max_pool2d(turned, 5, return_indices=True)
    for one, other in zip(general, expected, strict=True):
        assert one.tolist() == other.tolist()

"""Images read at points, several at a time, against the loop that looks at each point alone."""

import numpy
import pytest

import aten
from aten.nn.functional import grid_sample


@pytest.fixture(autouse=True)
def _threads():
    before = aten.get_num_threads()
    yield
    aten.set_num_threads(before)


def drawn(shape, points, element):
    """An image with elements that are no numbers, and points around it and far outside."""
    generator = numpy.random.default_rng(sum(shape) + points)
    image = generator.standard_normal(shape).astype(element)
    image.reshape(-1)[::11] = numpy.nan
    image.reshape(-1)[1::13] = numpy.inf
    image.reshape(-1)[2::7] = -0.0
    grid = generator.uniform(-1.3, 1.3, (shape[0], 1, points, 2)).astype(element)
    wild = [-1, 1, 0, numpy.nan, numpy.inf, -numpy.inf, 1e30, -1e30, 1e-30, -1.01, 1.01, 3]
    grid.reshape(-1)[: len(wild)] = wild[: grid.size]
    return aten.from_numpy(image), aten.from_numpy(grid)


def one_by_one(image, grid, **options):
    """The same as samples of a volume of one layer, which takes the general loop."""
    layer = aten.cat([grid, aten.zeros(*grid.shape[:-1], 1, dtype=grid.dtype)], -1)
    return grid_sample(image.unsqueeze(2), layer.unsqueeze(1), **options).squeeze(2)


@pytest.mark.parametrize("element", ["float32", "float64"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("corners", [False, True])
def test_points_together_and_alone(element, mode, padding, corners):
    options = {"mode": mode, "padding_mode": padding, "align_corners": corners}
    for shape, points in (
        ((2, 3, 5, 7), 600),
        ((1, 1, 1, 2), 61),
        ((3, 2, 4, 1), 5),
        ((1, 2, 1, 1), 256),
        ((2, 1, 2, 3), 1),
        ((2, 0, 2, 3), 3),
        ((2, 2, 2, 3), 0),
    ):
        image, grid = drawn(shape, points, element)
        expected = numpy.asarray(one_by_one(image, grid, **options))
        for threads in (1, 4):
            aten.set_num_threads(threads)
            made = grid_sample(image, grid, **options)
            assert made.shape == (*shape[:2], 1, points)
            numpy.testing.assert_array_equal(numpy.asarray(made), expected)
            # Sums begin with zero; nearest elements are as they are.
            signs = numpy.signbit(made) == numpy.signbit(expected)
            assert mode == "nearest" or (signs | numpy.isnan(expected)).all()


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_images_with_other_strides(mode):
    image, grid = drawn((2, 3, 6, 8), 300, "float32")
    expected = numpy.asarray(grid_sample(image, grid, mode=mode, align_corners=False))
    room = aten.empty(2, 5, 9, 12)
    room[:, 1:4, 2:8, 3:11] = image
    turned = aten.empty(2, 3, 8, 6).transpose(2, 3).copy_(image)
    for given in (
        room[:, 1:4, 2:8, 3:11],
        turned,
        image.contiguous(memory_format=aten.channels_last),
    ):
        made = grid_sample(given, grid, mode=mode, align_corners=False)
        numpy.testing.assert_array_equal(numpy.asarray(made), expected)


def test_the_last_elements_of_memory_are_the_last_that_are_read():
    """Of the outermost pair only elements of the image are read, whatever lies behind it."""
    room = aten.full((3, 4), float("nan"))
    room[:, :3] = aten.arange(9.0).view(3, 3)
    image = room[:, :3].view(1, 1, 3, 3)
    grid = aten.tensor([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]]).view(1, 1, 4, 2)
    made = grid_sample(image, grid, mode="bilinear", align_corners=True)
    assert made.flatten().tolist() == [8.0, 0.0, 2.0, 6.0]

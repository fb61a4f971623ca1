"""Windows of poolings, tables of resizing, and what images give where torch is not needed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import aten
from aten.nn import functional
from aten.ops.windows.resampling_tables import interpolation_table, nearest_places


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("taps", [2, 4])
@pytest.mark.parametrize(("size", "wanted"), [(1, 5), (5, 1), (7, 7), (10, 23), (23, 10)])
def test_weights_add_up_to_one(size: int, wanted: int, taps: int, antialias: bool) -> None:
    for align_corners in (False, True):
        table = interpolation_table(size, wanted, taps, align_corners, None, antialias, "float64")
        assert table.weights.sum(1).tolist() == pytest.approx([1.0] * wanted)
        ends = (table.begins + table.counts).tolist()
        assert min(table.begins.tolist()) >= 0
        assert max(ends) <= size


def test_weights_of_bytes_fill_16_bits() -> None:
    table = interpolation_table(7, 3, 2, False, None, True, "uint8")
    assert table.weights.dtype is aten.int16
    sums = table.weights.to(aten.int64).sum(1).tolist()
    assert all(abs(total - (1 << table.precision)) <= 4 for total in sums)
    assert max(map(max, table.weights.tolist())) >= 1 << 14


def test_nearest_places_stay_inside() -> None:
    for exact in (False, True):
        for factor in (None, 0.3, 1.7):
            places = nearest_places(5, 17, factor, exact, False, "float32").tolist()
            assert min(places) >= 0
            assert max(places) <= 4
            assert places == sorted(places)


def test_averages_of_everything_are_the_mean() -> None:
    image = aten.arange(2.0 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    expected = image.mean([2, 3]).flatten().tolist()
    for pooled in (
        functional.adaptive_avg_pool2d(image, 1),
        functional.avg_pool2d(image, (4, 5)),
        functional.interpolate(image, size=1, mode="area"),
    ):
        assert pooled.shape == (2, 3, 1, 1)
        assert pooled.flatten().tolist() == pytest.approx(expected)


def test_blocks_there_and_back_count_each_element() -> None:
    image = aten.ones(1, 2, 5, 5)
    counts = functional.fold(functional.unfold(image, 3, padding=1), (5, 5), 3, padding=1)
    assert counts[0, 0].tolist()[0] == [4.0, 6.0, 6.0, 6.0, 4.0]
    assert counts[0, 1, 2, 2].item() == 9.0


def test_identity_map_samples_the_image_itself() -> None:
    image = aten.arange(12.0).reshape(1, 1, 3, 4)
    theta = aten.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    for corners in (False, True):
        grid = functional.affine_grid(theta, (1, 1, 3, 4), align_corners=corners)
        for mode in ("bilinear", "nearest", "bicubic"):
            sampled = functional.grid_sample(image, grid, mode=mode, align_corners=corners)
            assert sampled.flatten().tolist() == pytest.approx(list(range(12)), abs=1e-5)


def test_pixels_there_and_back() -> None:
    image = aten.arange(2.0 * 8 * 3 * 3).reshape(2, 8, 3, 3)
    larger = aten.pixel_shuffle(image, 2)
    assert larger.shape == (2, 2, 6, 6)
    assert aten.equal(aten.pixel_unshuffle(larger, 2), image)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: functional.max_pool2d(x, 1 << 40), RuntimeError),
        (lambda x: functional.adaptive_avg_pool2d(x, (1 << 60, 1)), MemoryError),
        (lambda x: functional.interpolate(x, size=(1 << 60, 1)), MemoryError),
        (lambda x: functional.pad(x, (1 << 60, 0, 0, 0), mode="replicate"), RuntimeError),
        (lambda x: functional.pixel_shuffle(x, 1 << 40), RuntimeError),
    ],
)
def test_absurd_sizes_are_refused(
    call: Callable[[aten.Tensor], object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        call(aten.ones(1, 2, 4, 4))


def test_results_keep_channels_last() -> None:
    image = aten.ones(2, 3, 8, 8).to(memory_format=aten.channels_last)
    weight = aten.ones(4, 3, 3, 3)
    for made in (
        functional.max_pool2d(image, 2),
        functional.interpolate(image, size=5, mode="bilinear"),
        functional.pad(image, (1, 1, 1, 1), mode="reflect"),
        functional.conv2d(image, weight),
    ):
        assert made.is_contiguous(memory_format=aten.channels_last)
        assert not made.is_contiguous()

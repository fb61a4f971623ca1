"""What defines poolings, convolutions, resampling, borders and losses gives what the CPU's own
functions give: on the reference device, where it runs on primitives alone, and on the host's
tensors; on the meta device it gives the same shapes, strides and dtypes.
"""

from __future__ import annotations

import pytest

import aten
from aten.registry import operator

SIZES = {1: (9,), 2: (5, 7), 3: (4, 5, 6)}
FORMATS = {2: aten.channels_last, 3: aten.channels_last_3d}


@pytest.fixture(autouse=True)
def same_numbers():
    aten.manual_seed(7)


def numbers(*sizes, dtype=aten.float32):
    return (aten.randn(sizes) * 3).to(dtype)


def images(rank, dtype=aten.float32, channels=4):
    """A batch, one image, and a batch with its channels behind its pixels."""
    plain = numbers(2, channels, *SIZES[rank], dtype=dtype)
    yield plain
    yield plain[0]
    if rank in FORMATS:
        yield plain.contiguous(memory_format=FORMATS[rank])


def moved(value, place):
    if isinstance(value, aten.Tensor):
        made = aten.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=place)
        return made if place == "meta" else made.copy_(value.to(place))
    return value


def results(op, *arguments):
    made = op(*arguments)
    return made if isinstance(made, tuple) else (made,)


def check(name, *arguments, tolerance=1e-5):
    op = operator(f"aten::{name}")
    expected = results(op, *arguments)
    for place in ("reference", "meta"):
        given = results(op, *(moved(one, place) for one in arguments))
        for wanted, found in zip(expected, given, strict=True):
            if wanted is None:
                assert found is None
                continue
            assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), (name, place)
            assert not wanted.numel() or found.stride() == wanted.stride(), (name, place)
            if place == "reference":
                there = found.to("cpu")
                near = {"rtol": tolerance, "atol": tolerance, "equal_nan": True}
                assert aten.allclose(there, wanted, **near), (name, arguments[1:])


WINDOWS = {
    2: (([3],), ([2, 3], [1, 2], [1, 1]), ([3, 3], [2, 2], [1, 1], [2, 1], True)),
    3: (([3],), ([2, 3, 2], [1, 2, 1], [1, 1, 0]), ([3, 3, 2], [2], [1], [1, 1, 2], True)),
}
AVERAGED = {
    2: (([3],), ([3, 2], [2, 2], [1, 1], True, False), ([2, 2], [], [1, 1], False, True, 3)),
    3: (([3],), ([2, 3, 2], [1, 2, 1], [1, 1, 0]), ([3, 3, 2], [2], [1], True, False)),
}


@pytest.mark.parametrize("dtype", [aten.float32, aten.float64, aten.int64], ids=str)
@pytest.mark.parametrize("rank", [2, 3])
def test_poolings_over_regular_windows(rank, dtype):
    for image in images(rank, dtype):
        for window in WINDOWS[rank]:
            name = f"max_pool{rank}d_with_indices"
            check(name, image, *window)
            if dtype is aten.int64:
                continue
            out, indices = results(operator(f"aten::{name}"), image, *window)
            whole = (*window, *([], [0], [1], False)[len(window) - 1 :])
            check(f"{name}_backward", numbers(*out.shape, dtype=dtype), image, *whole, indices)
        for window in AVERAGED[rank]:
            check(f"avg_pool{rank}d", image, *window)
            (out,) = results(operator(f"aten::avg_pool{rank}d"), image, *window)
            whole = (*window, *([], [0], False, True, None)[len(window) - 1 :])
            gradient = numbers(*out.shape, dtype=dtype)
            check(f"avg_pool{rank}d_backward", gradient, image, *whole)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 4, 2), (4, 5, 6), (2, 9, 4)], ids=str)
@pytest.mark.parametrize("rank", [2, 3])
def test_poolings_over_windows_that_cover_the_image(rank, sizes):
    for image in images(rank):
        wanted = sizes[-rank:]
        check(f"_adaptive_avg_pool{rank}d", image, wanted)
        check(f"adaptive_max_pool{rank}d", image, wanted)
        out, indices = results(operator(f"aten::adaptive_max_pool{rank}d"), image, wanted)
        gradient = numbers(*out.shape)
        check(f"adaptive_max_pool{rank}d_backward", gradient, image, indices)
        check(f"_adaptive_avg_pool{rank}d_backward", gradient, image)


def test_the_largest_is_the_first_of_equals_and_the_last_nan():
    image = aten.zeros(1, 1, 4, 6)
    image[0, 0, 1, 1:4] = float("nan")
    image[0, 0, 3] = float("-inf")
    check("max_pool2d_with_indices", image, [3, 2], [1, 1], [1, 1])
    check("adaptive_max_pool2d", image, [2, 3])
    check("avg_pool2d", image, [2, 2])


@pytest.mark.parametrize("rank", [2, 3])
def test_fractional_poolings_and_the_way_back(rank):
    for image in images(rank):
        samples = aten.rand((*(1, *image.shape)[-rank - 2 : -rank], rank))
        window = ([2, 3, 2][:rank], [2, 2, 3][:rank])
        check(f"fractional_max_pool{rank}d", image, *window, samples)
        op = operator(f"aten::fractional_max_pool{rank}d")
        out, indices = results(op, image, *window, samples)
        gradient = numbers(*out.shape)
        check(f"fractional_max_pool{rank}d_backward", gradient, image, *window, indices)
        strides = ([1] * rank, [0] * rank) if rank == 3 else ()
        check(f"max_unpool{rank}d", out, indices, list(SIZES[rank]), *strides)


CONVOLUTIONS = (([1], [0], [1]), ([2], [1], [1]), ([1], [2], [2]), ([3], [1], [2]))


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_convolutions(rank, transposed, groups):
    kernel = (2, 3, 2)[:rank]
    shape = (4, 3, *kernel) if transposed else (6, 4 // groups, *kernel)
    for dtype in (aten.float32, aten.complex64, aten.int64):
        weight = numbers(*shape, dtype=dtype)
        for image in images(rank, dtype):
            if image.dim() != rank + 2:
                continue
            for stride, padding, dilation in CONVOLUTIONS:
                more = [1 if transposed and max(*stride, *dilation) > 1 else 0]
                window = (stride, padding, dilation, transposed, more, groups)
                bias = numbers(3 * groups if transposed else 6, dtype=dtype)
                check("convolution", image, weight, bias, *window, tolerance=1e-4)
                (out,) = results(operator("aten::convolution"), image, weight, None, *window)
                gradient = numbers(*out.shape, dtype=dtype)
                options = (None, *window, [True, True, True])
                check("convolution_backward", gradient, image, weight, *options, tolerance=1e-3)


def test_convolutions_of_nothing():
    window = ([1], [0], [1], False, [0], 1)
    check("convolution", numbers(0, 4, 7, 8), numbers(6, 4, 3, 2), None, *window)
    check("convolution", numbers(2, 0, 7, 8), numbers(6, 0, 3, 2), numbers(6), *window)


@pytest.mark.parametrize("sizes", [(3, 4, 5), (9, 14, 6), (1, 1, 1)], ids=str)
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_resizing(rank, sizes):
    wanted = list(sizes[:rank])
    linear = {1: "linear1d", 2: "bilinear2d", 3: "trilinear3d"}[rank]
    bytes_of = aten.randint(0, 255, (2, 3, *SIZES[rank])).to(aten.uint8)
    batches = [one for one in images(rank) if one.dim() == rank + 2]
    for image in (*batches, bytes_of):
        for factors in ([None] * rank, [1.7] * rank):
            check(f"upsample_nearest{rank}d", image, wanted, *factors)
            check(f"_upsample_nearest_exact{rank}d", image, wanted, *factors)
            if image.dtype is aten.uint8 and rank != 2:
                continue
            names = [f"upsample_{linear}"]
            if rank == 2:
                names += ["upsample_bicubic2d", "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"]
            for name in names:
                for align_corners in (False, True):
                    check(name, image, wanted, align_corners, *factors)


def test_what_is_no_neighbour_may_be_infinite():
    image = numbers(1, 1, 30, 31)
    image[0, 0, 5, 5], image[0, 0, 20, 8] = float("inf"), float("nan")
    for name in ("upsample_bilinear2d", "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"):
        for sizes in ([14, 13], [40, 50]):
            check(name, image, sizes, False, None, None)


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("padding", [0, 1, 2])
@pytest.mark.parametrize(("rank", "mode"), [(2, 0), (2, 1), (2, 2), (3, 0), (3, 1)])
def test_reading_at_points(rank, mode, padding, align_corners):
    options = (mode, padding, align_corners)
    precise = {aten.float16: 2e-3, aten.float32: 1e-4, aten.float64: 1e-10}
    for dtype, tolerance in precise.items():
        batches = [one for one in images(rank, dtype, channels=2) if one.dim() == rank + 2]
        points = (aten.randn((2, 6, *(5, 4)[: rank - 1], rank)) * 0.9).to(dtype)
        for image in batches:
            check(f"grid_sampler_{rank}d", image, points, *options, tolerance=tolerance)
    # Terms of gradients cancel each other: in the widest type only does that not show.
    gradient = numbers(*image.shape[:2], *points.shape[1:-1], dtype=dtype)
    for mask in ([True, True], [False, True]):
        arguments = (gradient, image, points, *options, mask)
        check(f"grid_sampler_{rank}d_backward", *arguments, tolerance=1e-10)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_borders(rank):
    for dtype in (aten.float32, aten.int64):
        for image in images(rank, dtype):
            for counts in ([1, 2], [0, 3], [-1, 2], [-2, -1]):
                check(f"reflection_pad{rank}d", image, counts * rank)
                check(f"replication_pad{rank}d", image, counts * rank)


def test_borders_of_images_that_are_copied_in_parts():
    image = numbers(2, 3, 90, 91)
    check("reflection_pad2d", image, [3, 2, 1, 0])
    check("replication_pad2d", image, [3, 2, 100, 0])


@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_losses_of_classes(reduction):
    target = aten.tensor([0, 2, 4, 2])
    for weight in (None, aten.rand((5,))):
        for ignored in (-100, 2):
            options = (weight, reduction, ignored)
            check("nll_loss_forward", numbers(4, 5), target, *options)
            check("nll_loss_forward", numbers(5), target[2], *options)
            places = aten.randint(0, 5, (2, 3, 4))
            check("nll_loss2d_forward", numbers(2, 5, 3, 4), places, *options)
    check("multi_margin_loss", numbers(4, 5), target, 1, 1, None, reduction)
    check("binary_cross_entropy", aten.rand((3, 4)), aten.rand((3, 4)), None, reduction)


def test_random_slopes_outside_of_training():
    check("rrelu_with_noise_functional", numbers(3, 4), numbers(3, 4), 0.1, 0.3, False)


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("max_pool2d_with_indices", ([9, 9],), RuntimeError),
        ("avg_pool2d", ([2, 2], [1, 1], [2, 2]), RuntimeError),
        ("_adaptive_avg_pool2d", ([2],), RuntimeError),
        ("reflection_pad2d", ([9, 9, 0, 0],), RuntimeError),
        ("replication_pad2d", ([-9, 1, 0, 0],), RuntimeError),
        ("upsample_bilinear2d", ([0, 2], False, None, None), RuntimeError),
    ],
)
@pytest.mark.parametrize("place", ["cpu", "reference", "meta"])
def test_all_devices_refuse_the_same(place, name, arguments, error):
    image = moved(numbers(2, 3, 5, 7), place)
    with pytest.raises(error):
        operator(f"aten::{name}")(image, *arguments)


def test_volumes_without_a_batch_in_any_order() -> None:
    volume = aten.arange(4 * 8 * 4 * 8).view(4, 8, 4, 8).permute(0, 3, 1, 2)
    for one in (volume, volume.float(), volume.transpose(0, 1)):
        assert aten.nn.functional.max_pool3d(one, 1).tolist() == one.tolist()
        pooled = aten.nn.functional.max_pool3d(one, 2)
        assert pooled.tolist() == aten.nn.functional.max_pool3d(one.contiguous(), 2).tolist()

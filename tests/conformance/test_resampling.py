"""Resizing and sampling against torch: drawn sizes and factors, types, layouts, errors."""

from __future__ import annotations

import random

import pytest
from comparison import assert_same, compare, torch, translated

import aten

TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-5, "float64": 1e-12, "uint8": 0.0}
NAMES = [
    *(f"upsample_nearest{rank}d" for rank in (1, 2, 3)),
    *(f"_upsample_nearest_exact{rank}d" for rank in (1, 2, 3)),
    "upsample_linear1d",
    "upsample_bilinear2d",
    "upsample_trilinear3d",
    "upsample_bicubic2d",
    "_upsample_bilinear2d_aa",
    "_upsample_bicubic2d_aa",
]


def draw_image(choose, rank, element):
    sizes = [choose.randint(1, 2), choose.randint(1, 6)]
    sizes += [choose.randint(1, 9) for _ in range(rank)]
    generator = torch.Generator().manual_seed(choose.randint(0, 1000))
    made = torch.rand(sizes, generator=generator, dtype=torch.float64) * 255
    made = made.to(getattr(torch, element))
    if choose.random() < 0.3:
        made = made.transpose(0, -1).contiguous().transpose(0, -1)
    elif choose.random() < 0.5 and rank > 1:
        order = torch.channels_last if rank == 2 else torch.channels_last_3d
        made = made.contiguous(memory_format=order)
    return made


@pytest.mark.parametrize("element", list(TOLERANCE))
@pytest.mark.parametrize("name", NAMES)
def test_drawn_sizes(name, element):
    rank = int(next(letter for letter in name if letter.isdigit()))
    compared = 0
    for seed in range(60):
        choose = random.Random(seed)
        image = draw_image(choose, rank, element)
        aligned = () if "nearest" in name else (choose.random() < 0.5,)
        if choose.random() < 0.5:
            overload = "vec"
            # torch gives zeros for antialiased results that are one element wide.
            least = 1.0 if "_aa" in name else 0.3
            factors = [choose.choice((least, 0.5, 1.0, 1.1, 1.7, 2.0, 3.0)) for _ in range(rank)]
            arguments = (image, None, *aligned, factors)
            width = int(image.shape[-1] * factors[-1])
        else:
            overload = "default"
            sizes = [choose.randint(1, 12) for _ in range(rank)]
            arguments = (image, sizes, *aligned)
            width = sizes[-1]
        if "_aa" in name and width == 1:
            continue
        compared += agree(name, overload, arguments, element)
    takes = element in ("float32", "float64") or (element != "uint8" and "_aa" not in name)
    assert compared > 30 or not (takes or (element == "uint8" and rank == 2))


def agree(name, overload, arguments, element):
    """Whether torch takes the arguments; if so, the results have been compared."""
    ours = getattr(getattr(aten.ops.aten, name), overload)
    try:
        expected = getattr(getattr(torch.ops.aten, name), overload)(*arguments)
    except Exception as error:
        with pytest.raises(type(error)):
            ours(*translated(arguments))
        return False
    tolerance = TOLERANCE[element]
    assert_same(
        ours(*translated(arguments)), expected, tolerance=tolerance, absolute=tolerance * 255
    )
    return True


@pytest.mark.parametrize("name", NAMES)
def test_result_is_fresh(name):
    rank = int(next(letter for letter in name if letter.isdigit()))
    image = aten.ones(1, 1, *([3] * rank))
    aligned = () if "nearest" in name else (False,)
    result = getattr(aten.ops.aten, name)(image, [3] * rank, *aligned)
    assert result.data_ptr() != image.data_ptr()
    meta = getattr(aten.ops.aten, name)(image.to("meta"), [5] * rank, *aligned)
    assert meta.shape == (1, 1, *([5] * rank))


def test_places_of_large_images_are_found_in_the_images_type():
    image = torch.arange(3001.0).reshape(1, 1, -1)
    for element in (torch.float32, torch.float64):
        for size in (1999, 7777, 2999):
            for mode in ("nearest", "nearest-exact"):
                compare(
                    lambda library, x, size=size, mode=mode: library.nn.functional.interpolate(
                        x, size=size, mode=mode
                    ),
                    image.to(element),
                )


@pytest.mark.parametrize("order", ["contiguous_format", "channels_last"])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
@pytest.mark.parametrize("element", ["float64", "float32", "bfloat16", "uint8"])
def test_places_on_the_border_of_two_elements(element, mode, order):
    """Quotients of sizes that are whole numbers but for a rounding, of lines and of columns."""
    for size in (8, 90, 120, 242, 295, 312, 364):
        image = torch.arange(2 * 4 * size).remainder(251).reshape(1, 4, 2, size)
        image = image.to(getattr(torch, element))
        for turned in (image, image.transpose(2, 3)):
            for wanted in (78, 115, 245, 291, 308, 477, 485, 586):
                wide = turned.size(3) == size
                compare(
                    lambda library, x, wide=wide, wanted=wanted: library.nn.functional.interpolate(
                        x.contiguous(memory_format=getattr(library, order)),
                        size=(3, wanted) if wide else (wanted, 3),
                        mode=mode,
                    ),
                    turned,
                )


OPTIONS = [
    {"size": 5},
    {"size": (5, 6)},
    {"scale_factor": 2.0},
    {"scale_factor": (0.5, 1.7), "mode": "bilinear"},
    {"scale_factor": 1.7, "mode": "bilinear", "recompute_scale_factor": True},
    {"size": 5, "mode": "bilinear", "align_corners": True},
    {"size": 5, "mode": "bicubic", "antialias": True},
    {"scale_factor": 0.7, "mode": "area"},
    {"size": 3, "mode": "area"},
    {"size": 3, "mode": "linear"},
    {"size": 3, "mode": "fair"},
    {"size": (3, 3, 3)},
    {"size": 3, "scale_factor": 2.0},
    {"size": 3, "align_corners": True},
    {"size": 3, "antialias": True},
    {"size": 3, "recompute_scale_factor": True},
    {},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_interpolate(options):
    image = torch.rand(2, 3, 7, 8, generator=torch.Generator().manual_seed(1))
    compare(
        lambda library, x: library.nn.functional.interpolate(x, **options),
        image,
        tolerance=1e-5,
        absolute=1e-5,
    )


@pytest.mark.filterwarnings("ignore:.*deprecated")
@pytest.mark.filterwarnings("ignore:.*align_corners")
def test_former_names():
    image = torch.rand(2, 3, 7, 8, generator=torch.Generator().manual_seed(1))
    for name in ("upsample", "upsample_nearest", "upsample_bilinear"):
        compare(
            lambda library, x, name=name: getattr(library.nn.functional, name)(x, scale_factor=2),
            image,
            tolerance=1e-5,
            absolute=1e-5,
        )


def draw_points(choose, rank, element, generator):
    batch, channels = choose.randint(1, 2), choose.randint(1, 3)
    image = torch.randn(
        [batch, channels, *(choose.randint(1, 6) for _ in range(rank))], generator=generator
    )
    sizes = [batch, *(choose.randint(0, 5) for _ in range(rank)), rank]
    grid = torch.rand(sizes, generator=generator) * choose.choice((2, 6)) - choose.choice((1, 3))
    if choose.random() < 0.3:
        image = image.transpose(1, -1).contiguous().transpose(1, -1)
    return image.to(getattr(torch, element)), grid.to(getattr(torch, element))


@pytest.mark.parametrize("element", ["float32", "float64"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize(
    ("rank", "mode"),
    [(2, "bilinear"), (2, "nearest"), (2, "bicubic"), (3, "bilinear"), (3, "nearest")],
)
def test_drawn_points(rank, mode, padding, element):
    for seed in range(30):
        choose = random.Random(seed)
        image, grid = draw_points(choose, rank, element, torch.Generator().manual_seed(seed))
        corners = choose.random() < 0.5
        compare(
            lambda library, x, g, corners=corners: library.nn.functional.grid_sample(
                x, g, mode=mode, padding_mode=padding, align_corners=corners
            ),
            image,
            grid,
            tolerance=1e-4 if element == "float32" else 1e-10,
            absolute=1e-4 if element == "float32" else 1e-10,
        )


@pytest.mark.parametrize("padding", [0, 1, 2])
@pytest.mark.parametrize(("rank", "mode"), [(2, 0), (2, 1), (2, 2), (3, 0), (3, 1)])
def test_gradients_of_sampling(rank, mode, padding):
    for seed in range(30):
        choose = random.Random(seed)
        generator = torch.Generator().manual_seed(seed)
        image, grid = draw_points(choose, rank, "float64", generator)
        sizes = [*image.shape[:2], *grid.shape[1:-1]]
        gradient = torch.randn(sizes, dtype=torch.float64, generator=generator)
        corners, mask = choose.random() < 0.5, [choose.random() < 0.7, True]

        def backward(library, *tensors, corners=corners, mask=mask):
            sampler = getattr(library.ops.aten, f"grid_sampler_{rank}d_backward")
            found = sampler(*tensors, mode, padding, corners, mask)
            return [one for one, given in zip(found, mask, strict=True) if given]

        compare(backward, gradient, image, grid, tolerance=1e-9, absolute=1e-9, strides=False)


@pytest.mark.parametrize("element", ["float16", "bfloat16"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize(
    ("rank", "mode"),
    [(2, "bilinear"), (2, "nearest"), (2, "bicubic"), (3, "bilinear"), (3, "nearest")],
)
def test_points_of_half_types_are_found_in_them(rank, mode, padding, element):
    for seed in range(30):
        choose = random.Random(seed)
        image, grid = draw_points(choose, rank, element, torch.Generator().manual_seed(seed))
        corners = choose.random() < 0.5
        compare(
            lambda library, x, g, corners=corners: library.nn.functional.grid_sample(
                x, g, mode=mode, padding_mode=padding, align_corners=corners
            ),
            image,
            grid,
            tolerance=0,
            absolute=0,
        )


GRID_ERRORS = [
    ((1, 1, 4, 4), (2, 4, 4, 2), {}),
    ((1, 1, 4, 4), (1, 4, 4, 3), {}),
    ((1, 1, 4, 4), (1, 4, 4), {}),
    ((1, 1, 4), (1, 4, 1), {}),
    ((1, 1, 0, 4), (1, 4, 4, 2), {}),
    ((1, 1, 4, 4), (1, 4, 4, 2), {"mode": "fair"}),
    ((1, 1, 4, 4), (1, 4, 4, 2), {"padding_mode": "fair"}),
    ((1, 1, 4, 4, 4), (1, 4, 4, 4, 3), {"mode": "bicubic"}),
]


@pytest.mark.parametrize(("input", "grid", "options"), GRID_ERRORS, ids=str)
def test_refused_grids(input, grid, options):
    for others in (torch.float32, torch.float64):
        compare(
            lambda library, x, g: library.nn.functional.grid_sample(
                x, g, align_corners=False, **options
            ),
            torch.zeros(input),
            torch.zeros(grid, dtype=others),
        )


def test_points_that_are_no_numbers_stay_inside_memory():
    image = aten.arange(16.0).reshape(1, 1, 4, 4)
    for value in (float("nan"), float("inf"), -float("inf"), 1e30):
        grid = aten.full((1, 1, 1, 2), value)
        for mode in ("bilinear", "nearest", "bicubic"):
            for padding in ("zeros", "border", "reflection"):
                result = aten.nn.functional.grid_sample(image, grid, mode, padding, False)
                assert result.shape == (1, 1, 1, 1)


@pytest.mark.filterwarnings("ignore:.*unit-size grids")
@pytest.mark.parametrize("element", ["float32", "float64", "int64"])
@pytest.mark.parametrize("size", [(2, 3, 4, 5), (2, 1, 1, 3), (2, 1, 3, 4, 5), (2, 3, 4), (2, 3)])
def test_affine_grid(size, element):
    rank = len(size) - 2
    theta = torch.randn(2, rank, rank + 1, generator=torch.Generator().manual_seed(1))
    for corners in (True, False):
        compare(
            lambda library, t, corners=corners: library.nn.functional.affine_grid(t, size, corners),
            theta.to(getattr(torch, element)),
            tolerance=1e-5,
            absolute=1e-5,
        )


def test_threads_do_not_change_bits():
    generator = torch.Generator().manual_seed(1)
    image = translated(torch.rand(2, 8, 60, 70, generator=generator))
    grid = translated(torch.rand(2, 50, 50, 2, generator=generator) * 2 - 1)
    before = aten.get_num_threads()
    results = []
    try:
        for threads in (1, 2):
            aten.set_num_threads(threads)
            larger = aten.nn.functional.interpolate(image, scale_factor=1.3, mode="bicubic")
            points = aten.nn.functional.grid_sample(image, grid, align_corners=False)
            results.append((larger.numpy().tobytes(), points.numpy().tobytes()))
    finally:
        aten.set_num_threads(before)
    assert len(set(results)) == 1

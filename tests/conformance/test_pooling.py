"""Pooling against torch: drawn windows, NaN and infinities, types, layouts, errors."""

from __future__ import annotations

import random

import numpy as np
import pytest
from comparison import assert_same, compare, torch, translated

import aten

TOLERANCE = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 1e-5, "float64": 1e-12}


def draw_input(choose, rank, element):
    sizes = [choose.randint(1, 2), choose.randint(1, 3)]
    sizes += [choose.randint(1, 9) for _ in range(rank)]
    if choose.random() < 0.3:
        sizes = sizes[1:]
    generator = torch.Generator().manual_seed(choose.randint(0, 1000))
    made = (torch.randn(sizes, generator=generator) * 5).to(getattr(torch, element))
    if made.is_floating_point():
        for special, share in ((float("nan"), 0.1), (-float("inf"), 0.5)):
            if choose.random() < 0.3:
                made[torch.rand(sizes, generator=generator) < share] = special
    if choose.random() < 0.3:
        made = made.transpose(0, -1).contiguous().transpose(0, -1)
    elif choose.random() < 0.3 and rank > 1 and made.dim() == rank + 2:
        order = torch.channels_last if rank == 2 else torch.channels_last_3d
        made = made.contiguous(memory_format=order)
    return made


def draw_window(choose, rank):
    kernel = [choose.randint(1, 4) for _ in range(rank)]
    stride = [choose.randint(1, 3) for _ in range(rank)] if choose.random() < 0.8 else []
    padding = [choose.randint(0, 2) for _ in range(rank)]
    return kernel, stride, padding


def agree(name, arguments, element):
    """Whether torch takes the arguments; if so, the results have been compared."""
    try:
        expected = getattr(torch.ops.aten, name)(*arguments)
    except Exception as error:
        with pytest.raises(type(error)):
            getattr(aten.ops.aten, name)(*translated(arguments))
        return False
    result = getattr(aten.ops.aten, name)(*translated(arguments))
    tolerance = TOLERANCE.get(element, 0.0)
    assert_same(result, expected, tolerance=tolerance, absolute=tolerance)
    return True


@pytest.mark.parametrize("element", [*TOLERANCE, "int64", "int32", "uint8"])
@pytest.mark.parametrize(
    "name",
    [
        "max_pool1d",
        "max_pool1d_with_indices",
        "max_pool2d",
        "max_pool3d",
        "max_pool2d_with_indices",
        "max_pool3d_with_indices",
    ],
)
def test_largest(name, element):
    rank = int(name[8])
    compared = 0
    for seed in range(60):
        choose = random.Random(seed)
        input = draw_input(choose, rank, element)
        dilation = [choose.randint(1, 2) for _ in range(rank)]
        arguments = (input, *draw_window(choose, rank), dilation, choose.random() < 0.5)
        compared += agree(name, arguments, element)
    assert compared > 10 or (name == "max_pool1d" and element not in TOLERANCE)


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("element", ["float32", "float64", "int64", "int32", "int16", "int8"])
def test_largest_of_more_windows_than_a_block(element, behind):
    """Lines and pixels longer than what is gone through at once, with ties and NaN among them."""
    shape = (2, 300, 4, 9) if behind else (1, 2, 6, 700)
    made = torch.randint(-9, 9, shape, generator=torch.Generator().manual_seed(0))
    made = made.to(getattr(torch, element))
    if made.is_floating_point():
        made[:, :, 1, ::7] = float("nan")
        made[:, :, 2:4, 3] = -float("inf")
    if behind:
        made = made.contiguous(memory_format=torch.channels_last)
    for window in (
        ((2, 3), (1, 1), (1, 1)),
        ((2, 2), (2, 2)),
        ((3, 2), (1, 2), (0, 1), (1, 2), True),
        ((1, 5), (1, 3), (0, 2)),
        ((1, 4), (1, 5), (0, 1), (1, 2), True),
        ((4, 6), (1, 1), (2, 3)),
    ):
        assert agree("max_pool2d_with_indices", (made, *window), element)


@pytest.mark.parametrize("element", [*TOLERANCE, "int64"])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_averages(rank, element):
    compared = 0
    for seed in range(100):
        choose = random.Random(seed)
        input = draw_input(choose, rank, element)
        ceil_mode, count_padding = choose.random() < 0.5, choose.random() < 0.5
        divisor = [choose.choice((None, None, 3, -2))] if rank > 1 else []
        arguments = (input, *draw_window(choose, rank), ceil_mode, count_padding, *divisor)
        compared += agree(f"avg_pool{rank}d", arguments, element)
    assert compared > 10 or (rank == 3 and element in ("float16", "bfloat16"))


@pytest.mark.parametrize("element", [*TOLERANCE, "int64"])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_adaptive(rank, element):
    for seed in range(60):
        choose = random.Random(seed)
        input = draw_input(choose, rank, element)
        size = [choose.randint(1, 5) for _ in range(rank)]
        names = [f"adaptive_max_pool{rank}d", f"adaptive_avg_pool{rank}d"]
        names += [f"_adaptive_avg_pool{rank}d"] * (rank > 1)
        for name in names:
            # torch adds up half types in themselves, in three dimensions.
            if rank == 3 and "avg" in name and element in ("float16", "bfloat16"):
                continue
            assert agree(name, (input, size), element) == (element != "int64")


def test_no_windows_at_all():
    for element in (torch.float32, torch.int64):
        image = torch.ones(2, 3, 4, 5, dtype=element)
        compare(lambda library, x: library.ops.aten.adaptive_avg_pool2d(x, [0, 2]), image)
        compare(lambda library, x: library.ops.aten.adaptive_max_pool2d(x, [0, 2]), image)


@pytest.mark.parametrize("element", [*TOLERANCE, "int64"])
@pytest.mark.parametrize("rank", [2, 3])
def test_random_windows(rank, element):
    compared = 0
    for seed in range(40):
        choose = random.Random(seed)
        input = draw_input(choose, rank, element)
        planes = [1, *input.shape[:1]] if input.dim() == rank + 1 else input.shape[:2]
        generator = torch.Generator().manual_seed(seed)
        samples = (torch.rand([*planes, rank], generator=generator) * 0.99).to(input.dtype)
        kernel = [choose.randint(1, 3) for _ in range(rank)]
        size = [choose.randint(1, 4) for _ in range(rank)]
        arguments = (input, kernel, size, samples)
        compared += agree(f"fractional_max_pool{rank}d", arguments, element)
    assert compared > 5 or element == "int64"


@pytest.mark.parametrize("element", [*TOLERANCE, "int64"])
@pytest.mark.parametrize("rank", [2, 3])
def test_gradients(rank, element):
    compared = 0
    for seed in range(60):
        choose = random.Random(seed)
        input = draw_input(choose, rank, "float32").nan_to_num().to(getattr(torch, element))
        kernel, stride, padding = draw_window(choose, rank)
        window = (kernel, stride or kernel, padding)
        ceil_mode = choose.random() < 0.5
        dilation = [choose.randint(1, 2) for _ in range(rank)]
        try:
            pool = getattr(torch.ops.aten, f"max_pool{rank}d_with_indices")
            out, indices = pool(input, *window, dilation, ceil_mode)
            average = getattr(torch.ops.aten, f"avg_pool{rank}d")(input.float(), *window, ceil_mode)
        except RuntimeError:
            continue
        gradient = torch.ones_like(out) * 3
        arguments = (gradient, input, *window, dilation, ceil_mode, indices)
        compared += agree(f"max_pool{rank}d_with_indices_backward", arguments, element)
        gradient = (torch.ones_like(average) * 3).to(input.dtype)
        arguments = (gradient, input, *window, ceil_mode, choose.random() < 0.5, None)
        compared += agree(f"avg_pool{rank}d_backward", arguments, element)
        gradient = input.new_ones([*input.shape[:-rank], *(2,) * rank])
        arguments = (gradient, input)
        compared += agree(f"_adaptive_avg_pool{rank}d_backward", arguments, element)
    assert compared > 20 or element == "int64"


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_back_to_their_places(rank):
    generator = torch.Generator().manual_seed(rank)
    for sizes in ([2, 3, *[7] * rank], [3, *[6] * rank]):
        image = torch.rand(sizes, generator=generator)

        def there_and_back(library, x, **options):
            functional = library.nn.functional
            pool = getattr(functional, f"max_pool{rank}d")
            out, indices = pool(x, 3, stride=2, padding=1, return_indices=True)
            unpool = getattr(functional, f"max_unpool{rank}d")
            return unpool(out, indices, 3, stride=2, padding=1, **options)

        compare(there_and_back, image)
        compare(lambda library, x: there_and_back(library, x, output_size=x.shape), image)
        compare(lambda library, x: there_and_back(library, x, output_size=[99] * rank), image)
        compare(lambda library, x: there_and_back(library, x, output_size=[9]), image)


def test_places_out_of_range_are_refused():
    values, out = aten.ones(1, 1, 2, 2), aten.zeros(1, 1, 3, 3)
    for index in (-1, 9, 1 << 40):
        with pytest.raises(RuntimeError):
            aten.ops.aten.max_unpool2d.out(
                values, aten.full((1, 1, 2, 2), index, dtype=aten.int64), [3, 3], out=out
            )
    assert out.sum().item() == 0


FUNCTIONS = [
    ("max_pool2d", {"kernel_size": 2}),
    ("max_pool2d", {"kernel_size": (3, 2), "stride": 1, "ceil_mode": True, "return_indices": True}),
    ("max_pool2d_with_indices", {"kernel_size": 2}),
    ("adaptive_max_pool2d", {"output_size": (None, 3), "return_indices": True}),
    ("adaptive_max_pool2d", {"output_size": 3}),
    ("adaptive_avg_pool2d", {"output_size": (3, None)}),
    ("adaptive_avg_pool2d", {"output_size": 1}),
    ("lp_pool2d", {"norm_type": 2, "kernel_size": 3}),
    ("lp_pool2d", {"norm_type": 1.5, "kernel_size": (2, 3), "stride": 2, "ceil_mode": True}),
    ("fractional_max_pool2d", {"kernel_size": 2}),
]


@pytest.mark.parametrize(("name", "options"), FUNCTIONS, ids=str)
def test_functions(name, options):
    image = torch.rand(2, 3, 7, 8, generator=torch.Generator().manual_seed(1))
    compare(
        lambda library, x: getattr(library.nn.functional, name)(x, **options),
        image,
        tolerance=1e-5,
        absolute=1e-6,
    )


@pytest.mark.parametrize("rank", [1, 3])
def test_power_averages(rank):
    image = torch.rand(2, 3, *[5] * rank, generator=torch.Generator().manual_seed(1))
    compare(
        lambda library, x: getattr(library.nn.functional, f"lp_pool{rank}d")(x, 3, 2),
        image,
        tolerance=1e-5,
    )


ERRORS = [
    ("max_pool2d", (1, 3, 8, 8), (2,), (), (2,)),
    ("max_pool2d", (1, 3, 8, 8), (2,), (0,), (0,)),
    ("max_pool2d", (8, 8), (2,), (), (0,)),
    ("max_pool2d", (1, 0, 8, 8), (2,), (), (0,)),
    ("max_pool2d", (1, 3, 1, 1), (3,), (), (0,)),
    ("avg_pool2d", (1, 3, 8, 8), (2,), (), (2,)),
    ("avg_pool2d", (1, 3, 1, 1), (3,), (), (0,)),
]


@pytest.mark.parametrize(("name", "sizes", "kernel", "stride", "padding"), ERRORS, ids=str)
def test_refused_windows(name, sizes, kernel, stride, padding):
    with pytest.raises(RuntimeError):
        getattr(torch.ops.aten, name)(torch.zeros(sizes), kernel, stride, padding)
    with pytest.raises(RuntimeError):
        getattr(aten.ops.aten, name)(aten.zeros(sizes), kernel, stride, padding)


@pytest.mark.parametrize("rank", [2, 3])
def test_the_gradient_of_fractional_pools(rank):
    name = f"fractional_max_pool{rank}d"
    for batch in ((2, 3), (3,)):
        image = torch.randn(*batch, *[6] * rank, generator=torch.Generator().manual_seed(1))
        draws = torch.full((batch[0] if len(batch) > 1 else 1, 3, rank), 0.4)
        sizes = [2] * rank, [3] * rank
        result, indices = getattr(torch.ops.aten, name)(image, *sizes, draws)
        gradient = torch.arange(result.numel(), dtype=torch.float32).view(result.shape)

        def call(library, *given, sizes=sizes):
            *first, places = given
            return getattr(library.ops.aten, f"{name}_backward")(*first, *sizes, places)

        compare(call, gradient, image, indices)
        compare(call, gradient[..., :2], image, indices)


@pytest.mark.parametrize("kind", ["float32", "float64", "int32", "int64", "uint8"])
@pytest.mark.parametrize("shape", [(3, 5, 8, 8), (2, 3, 9, 7), (2, 4, 600), (2, 2, 2, 2)])
def test_windows_of_two_by_two(shape, kind):
    generator = np.random.default_rng(0)
    x = generator.integers(0, 5, shape).astype(kind)
    if kind.startswith("float"):
        x[generator.random(shape) < 0.1] = np.nan
        x[generator.random(shape) < 0.1] = -np.inf
    for given in (x, x.swapaxes(-1, -2)):
        expected = torch.ops.aten.max_pool2d_with_indices(torch.from_numpy(given), [2, 2])
        found = aten.ops.aten.max_pool2d_with_indices(aten.from_numpy(given), [2, 2])
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one.numpy(), other.numpy())

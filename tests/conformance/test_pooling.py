"""Pooling against torch: drawn windows, NaN and infinities, types, layouts, errors."""

from __future__ import annotations

import random

import pytest
from comparison import assert_same, torch, translated

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
    assert_same(result, expected, tolerance=tolerance, absolute=tolerance, strides=False)
    return True


@pytest.mark.parametrize("element", [*TOLERANCE, "int64", "int32", "uint8"])
@pytest.mark.parametrize(
    "name",
    [
        "max_pool1d",
        "max_pool2d",
        "max_pool3d",
        "max_pool2d_with_indices",
        "max_pool3d_with_indices",
    ],
)
def test_largest(name, element):
    rank = int(name[8])
    if rank == 1 and element not in TOLERANCE:
        pytest.skip("torch has no integer kernel for one dimension")
    compared = 0
    for seed in range(60):
        choose = random.Random(seed)
        input = draw_input(choose, rank, element)
        dilation = [choose.randint(1, 2) for _ in range(rank)]
        arguments = (input, *draw_window(choose, rank), dilation, choose.random() < 0.5)
        compared += agree(name, arguments, element)
    assert compared > 10


@pytest.mark.parametrize("element", [*TOLERANCE, "int64"])
def test_averages(element):
    compared = 0
    for seed in range(100):
        choose = random.Random(seed)
        input = draw_input(choose, 2, element)
        ceil_mode, count_padding = choose.random() < 0.5, choose.random() < 0.5
        divisor = choose.choice((None, None, 3, -2))
        arguments = (input, *draw_window(choose, 2), ceil_mode, count_padding, divisor)
        compared += agree("avg_pool2d", arguments, element)
    assert compared > 20


@pytest.mark.parametrize("element", list(TOLERANCE))
def test_adaptive_averages(element):
    for seed in range(60):
        choose = random.Random(seed)
        input = draw_input(choose, 2, element)
        size = [choose.randint(0, 5), choose.randint(0, 5)]
        assert agree("adaptive_avg_pool2d", (input, size), element)
        assert agree("_adaptive_avg_pool2d", (input, size), element)
        line = draw_input(choose, 1, element)
        assert agree("adaptive_avg_pool1d", (line, [3]), element)


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

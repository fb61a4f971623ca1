"""Resizing against torch: drawn sizes and factors, types, layouts, errors."""

from __future__ import annotations

import random

import pytest
from comparison import assert_same, torch, translated

import aten

TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-5, "float64": 1e-12, "uint8": 0.0}
NAMES = [
    *(
        f"{prefix}{rank}d"
        for prefix in ("upsample_nearest", "_upsample_nearest_exact")
        for rank in (1, 2, 3)
    ),
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
            factors = [choose.choice((0.3, 0.5, 1.0, 1.1, 1.7, 2.0, 3.0)) for _ in range(rank)]
            arguments = (image, None, *aligned, factors)
        else:
            overload = "default"
            sizes = [choose.randint(1, 12) for _ in range(rank)]
            arguments = (image, sizes, *aligned)
        compared += agree(name, overload, arguments, element)
    assert compared > 30 or element in ("uint8", "float16", "bfloat16")


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

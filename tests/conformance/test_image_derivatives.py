"""Derivatives of resizing and padding against torch: sizes, factors, types, layouts, refusals."""

from __future__ import annotations

import itertools

import pytest
from comparison import translated
from derivatives import TOLERANCE, compare, numbers, torch

import aten

RANKS = {
    **{f"upsample_nearest{rank}d": rank for rank in (1, 2, 3)},
    **{f"_upsample_nearest_exact{rank}d": rank for rank in (1, 2, 3)},
    "upsample_linear1d": 1,
    "upsample_bilinear2d": 2,
    "upsample_trilinear3d": 3,
    "upsample_bicubic2d": 2,
    "_upsample_bilinear2d_aa": 2,
    "_upsample_bicubic2d_aa": 2,
}
SIZES = [(3, 7), (5, 5), (4, 8), (6, 2), (1, 3), (3, 1)]
ORDERS = {2: torch.channels_last, 3: torch.channels_last_3d}


def options_of(name: str) -> list[tuple]:
    return [()] if "nearest" in name else [(False,), (True,)]


@pytest.mark.parametrize("element", [*TOLERANCE, "int64"])
@pytest.mark.parametrize("name", list(RANKS))
def test_resizing(name, element):
    rank = RANKS[name]
    for (size, wanted), options in itertools.product(SIZES, options_of(name)):
        gradient = numbers(2, 3, *[wanted] * rank, element=element)
        if "nearest" in name:  # sums of small whole numbers are the same in every type
            gradient = gradient.round() if gradient.is_floating_point() else gradient
        sizes = [wanted] * rank, [2, 3, *[size] * rank]
        compare(f"{name}_backward", gradient, *sizes, *options)
        compare(f"{name}_backward", gradient, *sizes, *options, *[wanted / size * 1.1] * rank)
        if rank in ORDERS:
            ordered = gradient.contiguous(memory_format=ORDERS[rank])
            compare(f"{name}_backward", ordered, *sizes, *options)


@pytest.mark.parametrize("name", list(RANKS))
def test_forms_and_refusals(name):
    rank, (options, *_) = RANKS[name], options_of(name)
    gradient, sizes = numbers(2, 3, *[4] * rank), ([4] * rank, [2, 3, *[3] * rank])
    assert compare(
        f"{name}_backward.grad_input", gradient, *sizes, *options, grad_input=torch.empty(0)
    )
    for wrong in (gradient[0], gradient[:, :2], gradient[..., :3]):
        assert not compare(f"{name}_backward", wrong, *sizes, *options)
    assert not compare(f"{name}_backward", gradient, [4] * rank, [2, 3, *[0] * rank], *options)
    assert not compare(f"{name}_backward", gradient, [4] * (rank + 1), sizes[1], *options)
    assert compare(f"{name}_backward", gradient[:0], [4] * rank, [0, *sizes[1][1:]], *options)


@pytest.mark.parametrize("element", [*TOLERANCE, "complex64", "int64", "bool"])
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("kind", ["reflection", "replication"])
def test_padding(kind, rank, element):
    for padding in ((1, 2), (0, 0), (2, 0), (-1, 1), (3, 3)):
        pads = padding * rank
        for batch in ((2, 2), (2,)):
            operand = numbers(*batch, *[4] * rank, element=element)
            # Sums of small whole numbers are the same in every type.
            gradient = numbers(*batch, *[4 + sum(padding)] * rank).round()
            gradient = gradient.to(getattr(torch, element))
            compare(f"{kind}_pad{rank}d_backward", gradient, operand, pads)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("kind", ["reflection", "replication"])
def test_padding_forms_and_refusals(kind, rank):
    name = f"{kind}_pad{rank}d_backward"
    operand, gradient = numbers(2, 2, *[4] * rank), numbers(2, 2, *[6] * rank)
    pads = (1, 1) * rank
    assert compare(f"{name}.grad_input", gradient, operand, pads, grad_input=torch.empty(0))
    assert not compare(name, gradient[..., :5], operand, pads)
    # torch looks for none of these everywhere, and reads beyond the tensors' ends.
    for wrong in ((*pads, 1), (4, 4) * rank) if kind == "reflection" else ((*pads, 1),):
        larger = numbers(2, 2, *[12] * rank)
        with pytest.raises(RuntimeError):
            getattr(aten.ops.aten, name)(translated(larger), translated(operand), wrong)

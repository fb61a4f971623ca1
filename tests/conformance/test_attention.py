"""Attention, RMS norm and resized images against torch."""

from __future__ import annotations

import random

import pytest
from comparison import assert_same, compare, torch, translated

import aten

TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "float64": 1e-12}


def sample(*shape, element="float32", seed=0):
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(shape, generator=generator).to(getattr(torch, element))


def agree(name, element, *operands, **options):
    expected = getattr(torch.ops.aten, name)(*operands, **options)
    ours = [translated(operand) for operand in operands]
    result = getattr(aten.ops.aten, name)(*ours, **options)
    tolerance = TOLERANCE[element]
    assert_same(result, expected, tolerance=tolerance, absolute=tolerance, strides=False)


@pytest.mark.parametrize("element", list(TOLERANCE))
@pytest.mark.parametrize("batch", [(), (2,), (2, 3), (0, 2)], ids=str)
def test_attention(element, batch):
    query = sample(*batch, 5, 8, element=element)
    key = sample(*batch, 7, 8, element=element, seed=1)
    value = sample(*batch, 7, 8, element=element, seed=2)
    some = torch.rand(5, 7, generator=torch.Generator().manual_seed(1)) < 0.6
    some[2] = False
    masks = [None, some, sample(5, 7, element=element), torch.zeros(1, 7, dtype=torch.bool)]
    for mask in masks:
        agree("scaled_dot_product_attention", element, query, key, value, mask)
    agree("scaled_dot_product_attention", element, query, key, value, is_causal=True)
    agree("scaled_dot_product_attention", element, query, key, value, scale=0.3)


def test_grouped_queries():
    query, key, value = sample(2, 6, 5, 4), sample(2, 2, 7, 4), sample(2, 2, 7, 3)
    agree("scaled_dot_product_attention", "float32", query, key, value, enable_gqa=True)


def test_masked_rows_do_not_hide_nan():
    query, key, value = sample(3, 4), sample(3, 4), sample(3, 4)
    key[1, 1] = float("nan")
    mask = torch.ones(3, 3, dtype=torch.bool)
    agree("scaled_dot_product_attention", "float32", query, key, value, mask)


@pytest.mark.parametrize(
    "expression",
    [
        lambda f, x, y: f(x, x, y),
        lambda f, x, y: f(x[0], x[0], x[0]),
        lambda f, x, y: f(x, x, x, y),
        lambda f, x, y: f(x, x, x, x, is_causal=True),
        lambda f, x, y: f(x, x.t(), x),
    ],
)
def test_refused_operands(expression):
    compare(
        lambda library, *operands: expression(
            library.ops.aten.scaled_dot_product_attention, *operands
        ),
        sample(3, 4),
        sample(3, 4).double(),
    )


@pytest.mark.parametrize("element", list(TOLERANCE))
@pytest.mark.parametrize("epsilon", [None, 1e-3])
def test_rms_norm(element, epsilon):
    input, weight = sample(3, 4, 6, element=element), sample(4, 6, element=element)
    agree("rms_norm", element, input, [6], None, epsilon)
    agree("rms_norm", element, input, [4, 6], weight, epsilon)
    agree("rms_norm", element, input.transpose(0, 1), [6], weight[0], epsilon)
    agree("rms_norm", element, input * 1e-4, [6], weight[0], epsilon)


@pytest.mark.parametrize("element", list(TOLERANCE))
def test_resized_images(element):
    for seed in range(40):
        choose = random.Random(seed)
        image = sample(2, 3, choose.randint(1, 7), choose.randint(1, 7), element=element)
        sizes = [choose.randint(1, 12), choose.randint(1, 12)]
        factors = [choose.uniform(1, 3), choose.choice((2.0, 1.7, 1.05))]
        align = choose.random() < 0.5
        for given in ((sizes, None), (None, factors)):
            ours = translated(image)
            tolerance = max(TOLERANCE[element], 1e-5)
            limits = {"tolerance": tolerance, "absolute": tolerance, "strides": False}
            expected = torch.ops.aten.upsample_bilinear2d.vec(image, given[0], align, given[1])
            result = aten.ops.aten.upsample_bilinear2d.vec(ours, given[0], align, given[1])
            assert_same(result, expected, **limits)
            expected = torch.ops.aten.upsample_nearest2d.vec(image, *given)
            assert_same(aten.ops.aten.upsample_nearest2d.vec(ours, *given), expected, **limits)

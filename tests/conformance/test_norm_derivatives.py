"""Derivatives of normalizations and distances against torch."""

from __future__ import annotations

import itertools
import math

import pytest
from comparison import assert_same, translated
from derivatives import compare, numbers, outcome, torch

import aten

MASKS = [[True] * 3, [True, False, True], [False, True, False]]


def same_gradients(name: str, call: tuple, full: tuple, mask: list, element: str) -> None:
    """`full` is the call with a weight of ones where `call` has none: torch's results that are
    missing cannot be seen from Python."""
    theirs, refused = outcome(torch, name, (*full, [True] * 3), {})
    assert refused is None, refused
    ours, error = outcome(aten, name, (*translated(call), mask), {})
    assert error is None, error
    limit = {"float32": 1e-4, "float64": 1e-11}[element]
    for one, other, asked in zip(ours, theirs, mask, strict=True):
        assert one is None or asked
        if one is not None:
            assert_same(one, other, tolerance=limit, absolute=limit, strides=False)
    assert all(one is not None for one in ours) or mask != [True] * 3 or call is not full


@pytest.mark.parametrize("element", ["float32", "float64"])
@pytest.mark.parametrize("mask", MASKS)
def test_layers(element, mask):
    for inner, weighed in itertools.product((1, 2), (False, True)):
        x = numbers(3, 4, 5, element=element)
        sizes = list(x.shape[-inner:])
        weight = numbers(*sizes, element=element, seed=2) if weighed else None
        _, mean, scale = torch.native_layer_norm(x, sizes, weight, weight, 1e-5)
        gradient = numbers(3, 4, 5, element=element, seed=7)
        call = (gradient, x, sizes, mean, scale, weight, weight)
        ones = weight if weighed else torch.ones_like(x[0, 0] if inner == 1 else x[0])
        full = call if weighed else (*call[:5], ones, ones)
        same_gradients("native_layer_norm_backward", call, full, mask, element)
    assert outcome(
        aten, "native_layer_norm_backward", (*translated((gradient[:2], *call[1:])), mask), {}
    )[1]


@pytest.mark.parametrize("element", ["float32", "float64"])
@pytest.mark.parametrize("mask", MASKS)
def test_groups(element, mask):
    for groups, weighed in itertools.product((1, 2, 4), (False, True)):
        x = numbers(3, 4, 5, 2, element=element)
        weight = numbers(4, element=element, seed=2) if weighed else None
        _, mean, scale = torch.native_group_norm(x, weight, weight, 3, 4, 10, groups, 1e-5)
        gradient = numbers(3, 4, 5, 2, element=element, seed=7)
        call = (gradient, x, mean, scale, weight, 3, 4, 10, groups)
        full = call if weighed else (*call[:4], torch.ones(4).to(x.dtype), *call[5:])
        same_gradients("native_group_norm_backward", call, full, mask, element)


@pytest.mark.parametrize("element", ["float32", "float64"])
@pytest.mark.parametrize("mask", MASKS)
def test_batches(element, mask):
    for train, weighed, shape in itertools.product(
        (True, False), (False, True), ((3, 4), (3, 4, 5), (2, 4, 3, 2))
    ):
        x = numbers(*shape, element=element)
        weight = numbers(4, element=element, seed=2) if weighed else None
        mean, variance = numbers(4, element=element), numbers(4, element=element).abs() + 1
        _, saved, scale = torch.native_batch_norm(
            x, weight, weight, mean.clone(), variance.clone(), train, 0.1, 1e-5
        )
        gradient = numbers(*shape, element=element, seed=7)
        call = (gradient, x, weight, mean, variance, saved, scale, train, 1e-5)
        full = call if weighed else (*call[:2], torch.ones(4).to(x.dtype), *call[3:])
        same_gradients("native_batch_norm_backward", call, full, mask, element)


@pytest.mark.parametrize("element", ["float32", "float64"])
@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, math.inf])
def test_distances(element, p):
    for batch in ((), (2,)):
        x, y = numbers(*batch, 4, 3, element=element), numbers(*batch, 5, 3, element=element)
        y[..., 0, :] = x[..., 1, :]
        gradient = numbers(*batch, 4, 5, element=element, seed=3)
        distances = torch.ops.aten._cdist_forward(x, y, p, None)
        assert compare("_cdist_backward", gradient, x, y, p, distances, strides=False)
    rows = numbers(5, 3, element=element)
    rows[1] = rows[0]
    distances = torch.ops.aten._pdist_forward(rows, p)
    gradient = numbers(10, element=element, seed=3)
    assert compare("_pdist_backward", gradient, rows, p, distances, strides=False)


def test_products_of_three():
    one, two, three = numbers(3, 4), numbers(2, 4, 5), numbers(3, 5)
    call = (one, two, three, [1, 3], [0], [1, 2], [2, 3])
    assert compare("_trilinear", *call, strides=False)
    assert compare("_trilinear.out", *call, strides=False, out=torch.empty(0))
    assert compare("_trilinear", *call, 0, strides=False)
    assert not compare("_trilinear", *call, 4)

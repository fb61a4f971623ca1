"""Rounding as quantized types would against torch: scales, limits, types, gradients, refusals."""

from __future__ import annotations

import itertools

import pytest
from derivatives import compare, layouts, numbers, torch

LIMITS = [(0, 255), (-128, 127), (-8, 7)]
LEARNT = "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams"


@pytest.mark.parametrize("element", ["float32", "float64", "int64"])
def test_one_scale(element):
    for operand, scale, limits in itertools.product(layouts(element, 1), (0.1, 0.37, 2.0), LIMITS):
        call = (operand, scale, 1, *limits)
        compare("fake_quantize_per_tensor_affine", *call)
        compare("fake_quantize_per_tensor_affine_cachemask", *call)
        tensors = (operand, torch.tensor([scale]), torch.tensor([1]))
        compare("fake_quantize_per_tensor_affine.tensor_qparams", *tensors, *limits)
        for enabled in (0, 1):
            compare(LEARNT, *tensors, torch.tensor([enabled]), *limits)


def test_halves_go_to_the_even_number():
    operand = torch.arange(-20, 20) * 0.25
    assert compare("fake_quantize_per_tensor_affine", operand, 0.5, 0, -8, 7)
    assert compare("fake_quantize_per_tensor_affine", operand, 0.5, 3, -8, 7)


@pytest.mark.parametrize("element", ["float32", "float64", "int64"])
def test_a_scale_for_each_channel(element):
    scale = torch.tensor([0.1, 0.5, 1.0, 0.07])
    for points, axis, limits in itertools.product(
        (torch.tensor([0, 1, 2, 3]).int(), torch.tensor([0.0, 1.0, 2.5, 3.0])), (0, 1, -1), LIMITS
    ):
        operand = (numbers(4, 4) * 3).to(getattr(torch, element))
        for one in (operand, operand.t()):
            compare("fake_quantize_per_channel_affine", one, scale, points, axis, *limits)
            compare("fake_quantize_per_channel_affine_cachemask", one, scale, points, axis, *limits)


def test_forms_and_gradients():
    operand, scale, point = numbers(3, 4) * 3, torch.tensor([0.1] * 4), torch.zeros(4).int()
    flags = torch.empty(0, dtype=torch.bool)
    outs = {"out0": torch.empty(0), "out1": flags}
    for name, call in (
        ("fake_quantize_per_tensor_affine_cachemask", (operand, 0.1, 0, -8, 7)),
        ("fake_quantize_per_channel_affine_cachemask", (operand, scale, point, 1, -8, 7)),
        (LEARNT, (operand, scale[:1], point[:1], torch.ones(1).long(), -8, 7)),
    ):
        outs = {"out0": torch.empty(0), "out1": torch.empty(0, dtype=torch.bool)}
        assert compare(f"{name}.out", *call, **outs)
    for kind in ("tensor", "channel"):
        name = f"fake_quantize_per_{kind}_affine_cachemask_backward"
        assert compare(name, operand, operand > 0)
        assert not compare(name, operand, operand)
        assert not compare(name, operand, operand[0] > 0)
        assert compare(name, operand[:0], operand[:0] > 0)


def test_refusals():
    operand, scale, point = numbers(3, 4), torch.ones(4), torch.zeros(4).int()
    for call in ((operand, 0.1, 0, 7, -8), (operand, 0.1, 9, -8, 7), (operand, 0.1, -9, -8, 7)):
        assert not compare("fake_quantize_per_tensor_affine", *call)
    for call in (
        (operand, scale[:3], point, 1, -8, 7),
        (operand, scale, point[:3], 1, -8, 7),
        (operand, scale.double(), point, 1, -8, 7),
        (operand, scale, point.long(), 1, -8, 7),
        (operand, scale, point + 9, 1, -8, 7),
        (operand, scale, point, 0, -8, 7),
        (operand, scale, point, 2, -8, 7),
        (operand, scale, point, 1, 7, -8),
    ):
        assert not compare("fake_quantize_per_channel_affine", *call)


@pytest.mark.parametrize("limits", LIMITS)
def test_learnt_scales(limits):
    operand, gradient = numbers(4, 3) * 9, numbers(4, 3, seed=4)
    for scale, point in itertools.product((0.1, 0.7), (0.0, 2.4)):
        one = (torch.tensor([scale]), torch.tensor([point]))
        name = "_fake_quantize_learnable_per_tensor_affine"
        assert compare(name, operand, *one, *limits)
        assert compare(f"{name}.out", operand, *one, *limits, out=torch.empty(0))
        for factor in ((), (0.5,)):
            assert compare(f"{name}_backward", gradient, operand, *one, *limits, *factor)
        several = (torch.tensor([scale, 0.3, 1.0, 2.0]), torch.tensor([point, 0.0, 1.0, -1.0]))
        name = "_fake_quantize_learnable_per_channel_affine"
        assert compare(name, operand, *several, 0, *limits)
        for factor in ((), (0.5,)):
            assert compare(f"{name}_backward", gradient, operand, *several, 0, *limits, *factor)
    assert not compare(name, operand, several[0].double(), several[1], 0, *limits)
    assert not compare(name, operand.long(), *several, 0, *limits)
    assert not compare(name, operand, *several, 1, *limits)

"""Derivatives of activation functions against torch: types, layouts, edges, forms, refusals."""

from __future__ import annotations

import itertools

import pytest
from comparison import translated
from derivatives import TOLERANCE, compare, layouts, numbers, torch

import aten

PLAIN = {
    "sigmoid_backward": [()],
    "tanh_backward": [()],
    "silu_backward": [()],
    "mish_backward": [()],
    "gelu_backward": [()],
    "hardshrink_backward": [(0.5,), (2,)],
    "softshrink_backward": [(0.5,), (0,)],
    "hardsigmoid_backward": [()],
    "hardswish_backward": [()],
    "hardtanh_backward": [(-1, 1), (0.5, 2.5)],
    "leaky_relu_backward": [(0.01, False), (0.2, True), (-0.2, False), (-0.2, True)],
    "logit_backward": [(), (0.2,)],
    "softplus_backward": [(1, 20), (2, 1.5)],
    "threshold_backward": [(0,), (0.5,)],
}
EDGES = [-4.0, -3.0, -2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0, float("nan"), 80.0]


@pytest.mark.parametrize("element", [*TOLERANCE, "complex64", "int64", "bool"])
@pytest.mark.parametrize("name", list(PLAIN))
def test_pointwise(name, element):
    if (name, element) == ("hardsigmoid_backward", "float64"):
        # torch's sixth is float32's.
        gradient, operand = numbers(9, element=element), numbers(9, element=element, seed=2)
        ours = aten.ops.aten.hardsigmoid_backward(translated(gradient), translated(operand))
        expected = torch.where(operand.abs() < 3, gradient / 6, 0)
        assert ours.tolist() == pytest.approx(expected.tolist(), rel=1e-15)
        return
    for options in PLAIN[name]:
        edges = torch.tensor(EDGES).to(getattr(torch, element))
        if name == "logit_backward":
            edges = edges + 0.0  # on some processors torch looks at the sign of zero
        compare(name, torch.ones_like(edges), edges, *options)
        for gradient, operand in zip(layouts(element, 1), layouts(element, 2), strict=True):
            compare(name, gradient, operand, *options)


@pytest.mark.parametrize("name", list(PLAIN))
def test_forms(name):
    gradient, operand = numbers(3, 4, seed=1), numbers(3, 4, seed=2)
    (options, *_) = PLAIN[name]
    if name == "mish_backward":  # has no other
        return
    overload = "out" if name == "hardswish_backward" else "grad_input"
    result = {overload: torch.empty(0)}
    assert compare(f"{name}.{overload}", gradient, operand, *options, **result)
    assert compare(name, gradient[:, :1].expand(3, 4), operand.t().contiguous().t(), *options)


@pytest.mark.parametrize("element", ["float32", "float64", "bfloat16"])
def test_gelu_in_steps(element):
    for gradient, operand in zip(layouts(element, 1), layouts(element, 2), strict=True):
        compare("infinitely_differentiable_gelu_backward", gradient, operand)


@pytest.mark.parametrize("element", list(TOLERANCE))
def test_elu(element):
    edges = torch.tensor(EDGES).to(getattr(torch, element))
    for is_result, alpha in itertools.product((False, True), (1.0, 0.3, -0.3)):
        compare("elu_backward", torch.ones_like(edges), alpha, 1.5, 0.7, is_result, edges)
        for gradient, operand in zip(layouts(element, 1), layouts(element, 2), strict=True):
            compare("elu_backward", gradient, alpha, 1.5, 0.7, is_result, operand)


@pytest.mark.parametrize("element", list(TOLERANCE))
def test_gelu_with_tanh(element):
    for gradient, operand in zip(layouts(element, 1), layouts(element, 2), strict=True):
        compare("gelu_backward", gradient, operand, approximate="tanh")
    assert not compare("gelu_backward", numbers(3), numbers(3), approximate="sinh")


@pytest.mark.parametrize("element", list(TOLERANCE))
def test_log_sigmoid(element):
    for gradient, operand in zip(layouts(element, 1), layouts(element, 2), strict=True):
        compare("log_sigmoid_backward", gradient, operand, (-operand.abs()).exp())


@pytest.mark.parametrize("element", list(TOLERANCE))
def test_prelu(element):
    for gradient, operand in zip(layouts(element, 1), layouts(element, 2), strict=True):
        weight = numbers(1, element=element).reshape((1,) * operand.dim())
        compare("_prelu_kernel_backward", gradient, operand, weight)


@pytest.mark.parametrize("element", ["float32", "float64"])
def test_glu(element):
    for dim in (0, 1, -1):
        x, dx = numbers(4, 6, element=element), numbers(4, 6, element=element, seed=5)
        half = torch.nn.functional.glu(x, dim)
        gradient, change = torch.ones_like(half) * 0.3, torch.ones_like(half) * 0.7
        assert compare("glu_backward", gradient, x, dim)
        assert compare("glu_backward.grad_input", gradient, x, dim, grad_input=x.new_empty(0))
        assert compare("glu_jvp", half, x, dx, dim)
        gated = torch.ops.aten.glu_backward(gradient, x, dim)
        assert compare("glu_backward_jvp", gated, gradient, x, change, dx, dim)
    assert not compare("glu_backward", torch.ones(()), torch.ones(()), 0)
    assert not compare("glu_backward", torch.ones(1), torch.ones(3), 0)
    assert not compare("glu_backward", torch.ones(1), torch.ones(2), 1)


def test_hard_gumbel_softmax_has_the_gradient_of_the_soft_one() -> None:
    def gradient(hard: bool) -> list[list[float]]:
        aten.manual_seed(3)
        logits = aten.tensor([[0.5, 1.0, -1.0]], requires_grad=True)
        sample = aten.nn.functional.gumbel_softmax(logits, tau=0.7, hard=hard)
        (sample * aten.tensor([1.0, 2.0, 3.0])).sum().backward()
        found: list[list[float]] = logits.grad.tolist()
        return found

    assert gradient(hard=True) == gradient(hard=False)

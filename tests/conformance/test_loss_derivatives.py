"""Derivatives of losses against torch: reductions, types, layouts, weights, refusals."""

from __future__ import annotations

import itertools

import pytest
from comparison import translated
from derivatives import TOLERANCE, compare, layouts, numbers, torch

import aten

ELEMENTWISE = {
    "mse_loss": [()],
    "smooth_l1_loss": [(1.0,), (0.3,)],
    "huber_loss": [(1.0,), (0.3,)],
    "soft_margin_loss": [()],
}
REDUCTIONS = [0, 1, 2]


def gradient_of(operand, reduction: int):
    return torch.ones_like(operand) * 0.7 if reduction == 0 else operand.new_tensor(0.7)


@pytest.mark.parametrize("element", [*TOLERANCE, "int64"])
@pytest.mark.parametrize("name", list(ELEMENTWISE))
def test_elementwise(name, element):
    for operand, target, options, reduction in (
        (*pair, options, reduction)
        for pair in zip(layouts(element, 1), layouts(element, 2), strict=True)
        for options in ELEMENTWISE[name]
        for reduction in REDUCTIONS
    ):
        if element == "int64":
            # torch computes some of them, with shares of a mean that are cut to 0.
            call = translated((operand, operand, target, reduction, *options))
            with pytest.raises(RuntimeError):
                getattr(aten.ops.aten, f"{name}_backward")(*call)
            continue
        gradient = gradient_of(operand, reduction)
        # Results lie in memory as operands do, but for torch's.
        call = (gradient, operand, target, reduction, *options)
        compare(f"{name}_backward", *call, strides=name == "soft_margin_loss")


@pytest.mark.parametrize("name", list(ELEMENTWISE))
def test_forms(name):
    overload = "out" if name == "huber_loss" else "grad_input"
    operand, target = numbers(3, 4), numbers(3, 4, seed=1)
    for reduction in REDUCTIONS:
        call = (gradient_of(operand, reduction), operand, target, reduction)
        keywords = {"grad_input": torch.empty(0)}
        assert compare(f"{name}_backward.{overload}", *call, *ELEMENTWISE[name][0], **keywords)
    wide = numbers(3, 1, 4)
    compare(f"{name}_backward", wide.new_tensor(1.0), wide, target, 2, *ELEMENTWISE[name][0])


@pytest.mark.parametrize("element", [*TOLERANCE, "int64"])
def test_binary_cross_entropy(element):
    name = "binary_cross_entropy_backward"
    for operand, target, reduction in (
        (*pair, reduction)
        for pair in zip(layouts(element, 1), layouts(element, 2), strict=True)
        for reduction in REDUCTIONS
    ):
        if element != "int64":
            operand, target = operand.sigmoid(), target.sigmoid()
        if element == "int64" and not operand.numel():
            continue  # torch refuses types where it meets elements of them
        gradient = gradient_of(operand, reduction)
        compare(name, gradient, operand, target, None, reduction, strides=False)
        compare(name, gradient, operand, target, target.clone(), reduction, strides=False)
    ends = torch.tensor([0.0, 1.0, 0.0, 1.0])
    assert compare(name, torch.ones(4), ends, torch.tensor([0.0, 1.0, 1.0, 0.0]), None, 0)
    call = (torch.ones(4), ends, ends.clone())
    assert compare(f"{name}.grad_input", *call, None, 1, grad_input=torch.zeros(4))


@pytest.mark.parametrize("element", ["float32", "float64", "bfloat16", "int64"])
@pytest.mark.parametrize("shape", [(5,), (3, 5), (0, 5), (2, 5, 3, 4), (0, 5, 2, 2)])
def test_negative_log_likelihood(shape, element):
    name = "nll_loss2d_backward" if len(shape) == 4 else "nll_loss_backward"
    operand = numbers(*shape, element=element)
    targets = () if len(shape) == 1 else (shape[0], *shape[2:])
    generator = torch.Generator().manual_seed(1)
    target = torch.randint(0, 5, targets, generator=generator)
    for reduction, weighed, ignored in itertools.product(REDUCTIONS, (False, True), (-100, 2)):
        weight = torch.arange(1.0, 6).to(operand.dtype) if weighed else None
        sizes = targets if reduction == 0 else ()
        gradient = torch.ones(sizes).to(operand.dtype) * 2
        total = operand.new_tensor(3.0)
        call = (gradient, operand, target, weight, reduction, ignored, total)
        served = compare(name, *call)
        if served:
            keywords = {"grad_input": operand.new_empty(0)}
            assert compare(f"{name}.grad_input", *call, **keywords)


def test_negative_log_likelihood_is_refused():
    operand, one = numbers(3, 5), torch.ones(())
    target = torch.tensor([0, 1, 4])
    for call in (
        (one, operand, torch.tensor([0, 1]), None, 1, -100, one),
        (one, operand, target, torch.ones(4), 1, -100, one),
        (one, operand, target, None, 1, -100, torch.ones(2)),
        (torch.ones(2), operand, target, None, 0, -100, one),
        (one, operand, torch.tensor([0, 1, 5]), None, 1, -100, one),
        (one, operand, torch.tensor([0, 1, -1]), None, 1, -100, one),
        (one, operand, target.float(), None, 1, -100, one),
        (one, numbers(2, 3, 4), torch.zeros(2, 4).long(), None, 1, -100, one),
    ):
        assert not compare("nll_loss_backward", *call)


@pytest.mark.parametrize("element", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(5,), (3, 5)])
def test_margins(shape, element):
    operand = numbers(*shape, element=element)
    rows = shape[:-1]
    target = torch.tensor([1, 4, 0])[: rows[0]] if rows else torch.tensor(1)
    for reduction, p, margin, weighed in itertools.product(
        REDUCTIONS, (1, 2), (1, 0.5), (False, True)
    ):
        weight = torch.arange(1.0, 6).to(operand.dtype) if weighed else None
        gradient = torch.ones(rows if reduction == 0 else (), dtype=operand.dtype) * 2
        call = (gradient, operand, target, p, margin, weight, reduction)
        assert compare("multi_margin_loss_backward", *call)
        keywords = {"grad_input": operand.new_empty(0)}
        assert compare("multi_margin_loss_backward.grad_input", *call, **keywords)
    assert not compare("multi_margin_loss_backward", gradient, operand, target, 3, 1, None, 1)
    assert not compare("multi_margin_loss_backward", gradient, operand, target + 5, 1, 1, None, 1)


@pytest.mark.parametrize("element", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(4,), (3, 4)])
def test_several_labels(shape, element):
    operand = numbers(*shape, element=element)
    target = torch.tensor([[3, 0, -1, 1], [-1, 0, 1, 2], [2, 1, 0, 3]])
    target = target if len(shape) == 2 else target[0]
    for reduction in REDUCTIONS:
        _, marks = torch.ops.aten.multilabel_margin_loss_forward(operand, target, reduction)
        rows = shape[:-1] if reduction == 0 else ()
        gradient = torch.ones(rows, dtype=operand.dtype) * 2
        call = (gradient, operand, target, reduction, marks)
        assert compare("multilabel_margin_loss_backward", *call)
        keywords = {"grad_input": operand.new_empty(0)}
        assert compare("multilabel_margin_loss_backward.grad_input", *call, **keywords)
        assert not compare(
            "multilabel_margin_loss_backward", gradient, operand, target[..., :2], reduction, marks
        )

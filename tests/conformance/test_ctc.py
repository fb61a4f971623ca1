"""CTC loss against torch: padded and joined targets, lengths, repeated labels, refusals."""

from __future__ import annotations

import itertools

import pytest
from comparison import compare, torch

import aten

STEPS, BATCH, CLASSES = 7, 3, 4
TARGETS = torch.tensor([[1, 1, 2], [3, 2, 3], [2, 0, 0]])
LENGTHS = (3, 3, 1)


def scores(element=torch.float32):
    generator = torch.Generator().manual_seed(5)
    return torch.randn(STEPS, BATCH, CLASSES, generator=generator).to(element).log_softmax(2)


def same(log_probs, targets, inputs=(7, 6, 4), labels=LENGTHS, **options):
    def run(library, log_probs, targets):
        return library.nn.functional.ctc_loss(log_probs, targets, inputs, labels, **options)

    def in_tensors(library, log_probs, targets):
        given = library.tensor(inputs), library.tensor(labels)
        return library.nn.functional.ctc_loss(log_probs, targets, *given, **options)

    for expression in (run, in_tensors):
        compare(expression, log_probs, targets, tolerance=1e-5, absolute=1e-5)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("element", [torch.float32, torch.float64, torch.float16])
def test_ctc_loss(reduction, element):
    joined = torch.cat([row[:length] for row, length in zip(TARGETS, LENGTHS, strict=True)])
    variants = itertools.product((TARGETS, TARGETS.int(), joined), (False, True))
    for targets, zero_infinity in variants:
        options = {"reduction": reduction, "zero_infinity": zero_infinity}
        same(scores(element), targets, **options)
        same(scores(element), targets, inputs=(2, 7, 0), **options)
    same(scores(element), TARGETS, labels=(0, 2, 0), inputs=(7, 0, 0), reduction=reduction)
    same(scores(element), TARGETS - 1 + 1, blank=3, labels=(3, 0, 1), reduction=reduction)
    same(scores(element)[:, 0], TARGETS[0], inputs=(7,), labels=(3,), reduction=reduction)


@pytest.mark.parametrize("zero_infinity", [False, True])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize(
    "lengths", [((7, 6, 4), LENGTHS), ((2, 7, 0), LENGTHS), ((7, 0, 0), (0, 2, 0))]
)
def test_gradients(reduction, zero_infinity, lengths):
    def run(library, log_probs):
        leaf = log_probs.clone().requires_grad_()
        loss = library.nn.functional.ctc_loss(
            leaf, library.tensor(TARGETS.tolist()), *lengths, 0, reduction, zero_infinity
        )
        return library.autograd.grad(loss, leaf)[0]

    compare(run, scores(torch.float64), tolerance=1e-12, absolute=1e-12)
    compare(run, scores(), tolerance=1e-5, absolute=1e-5)


def test_gradients_have_no_derivative():
    leaf = aten.tensor(scores().tolist()).requires_grad_()
    loss = aten.nn.functional.ctc_loss(leaf, aten.tensor(TARGETS.tolist()), (7, 6, 4), LENGTHS)
    (gradient,) = aten.autograd.grad(loss, leaf, create_graph=True)
    with pytest.raises(NotImplementedError, match="_ctc_loss_backward"):
        gradient.sum().backward()


@pytest.mark.parametrize(
    "sizes", [((2,), (3,), (3, 7, 7)), ((3,), (1,), (3, 7, 7)), ((3,), (3,), (3, 7, 5))]
)
def test_gradients_of_other_sizes(sizes):
    seed, losses, table = (aten.zeros(one) for one in sizes)
    with pytest.raises(RuntimeError, match="_ctc_loss_backward"):
        aten.ops.aten._ctc_loss_backward(
            seed, aten.zeros(7, 3, 4), aten.tensor(TARGETS.tolist()), (7, 6, 4), LENGTHS, losses,
            table, 0,
        )  # fmt: skip


@pytest.mark.parametrize(
    "options",
    [
        {"inputs": (7, 6)},
        {"inputs": (7, 6, 8)},
        {"inputs": (7, 6, -1)},
        {"labels": (3, 3, 4)},
        {"labels": (3, 3, -1)},
        {"labels": (3, 3)},
        {"blank": CLASSES},
        {"blank": -1},
        {"inputs": (7.0, 6.0, 4.0)},
    ],
    ids=str,
)
def test_lengths_that_do_not_go_together(options):
    same(scores(), TARGETS, **options)


def test_targets_that_do_not_go_together():
    for targets in (TARGETS[:2], TARGETS.view(-1), TARGETS[:, :2]):
        same(scores(), targets)
    same(scores()[:0], TARGETS)

"""Operators recorded for gradients, the way back, and whole steps of training."""

from __future__ import annotations

from operands import Operand, normal
from timing import Case, Result, geometric_mean, measure

VECTOR = {"a": normal(4), "b": normal(4)}
LARGE = {"a": normal(2048, 2048), "b": normal(2048, 2048)}
LEAF = "a = a.requires_grad_()"
PERCEPTRON = {
    "x": normal(16, 64),
    "first": normal(128, 64),
    "bias": normal(128),
    "second": normal(10, 128),
    "t": Operand((16,), "int64", "integers", 10),
}
PERCEPTRON_LEAVES = """
first, bias, second = (one.requires_grad_() for one in (first, bias, second))
def step():
    hidden = lib.relu(lib.nn.functional.linear(x, first, bias))
    loss = lib.nn.functional.cross_entropy(lib.nn.functional.linear(hidden, second), t)
    loss.backward()
    with lib.no_grad():
        for one in (first, bias, second):
            one.sub_(one.grad, alpha=1e-6)
            one.grad = None
"""
STEP_OF_CHAIN = """
a = a.requires_grad_()
def back():
    (lib.tanh(a * b) * lib.sigmoid(a) + a).sum().backward()
    a.grad = None
"""
SHORT_WAY = """
a = a.requires_grad_()
def back():
    (a * b).sum().backward()
    a.grad = None
"""

CASES = [
    Case(
        "relu(a + b), recorded", "lib.relu(a + b)", VECTOR, setup=LEAF, checked=False, recorded=True
    ),
    Case("a + b, recorded", "a + b", VECTOR, setup=LEAF, checked=False, recorded=True),
    Case(
        "(a * b).sum().backward()", "back()", VECTOR, setup=SHORT_WAY, checked=False, recorded=True
    ),
    Case(
        "chain of 4M elements, back",
        "back()",
        LARGE,
        setup=STEP_OF_CHAIN,
        checked=False,
        recorded=True,
    ),
    Case(
        "step of a perceptron, 16 rows",
        "step()",
        PERCEPTRON,
        setup=PERCEPTRON_LEAVES,
        checked=False,
        recorded=True,
    ),
]


def cases() -> list[Case]:
    return CASES


def run() -> list[Result]:
    measured = measure(CASES)
    return [*measured, geometric_mean("training, mean of all", measured, 1.5)]

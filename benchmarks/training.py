"""Operators recorded for gradients, the way back, and whole steps of training."""

from __future__ import annotations

from operands import Operand, normal
from timing import Case, Result, geometric_mean, measure

VECTOR = {"a": normal(4), "b": normal(4)}
LARGE = {"a": normal(2048, 2048), "b": normal(2048, 2048)}
LEAF = "a = a.requires_grad_()"
CHAIN = """
a = a.requires_grad_()
def back():
    (lib.tanh(a * b) * lib.sigmoid(a) + a).sum().backward()
    a.grad = None
"""
SHORT = """
a = a.requires_grad_()
def back():
    (a * b).sum().backward()
    a.grad = None
"""
ADAM = """
parameters = [lib.zeros(16, 8).requires_grad_() for _ in range(100)]
for one in parameters:
    one.grad = lib.ones(16, 8)
optimizer = lib.optim.Adam(parameters, lr=1e-6)
"""
STEP = """
optimizer = lib.optim.{optimizer}(model.parameters(), lr=1e-6)
def step():
    optimizer.zero_grad()
    {loss}.backward()
    optimizer.step()
"""
PERCEPTRON = """
nn = lib.nn
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
""" + STEP.format(optimizer="SGD", loss="nn.functional.cross_entropy(model(x), t)")
DIGITS = """
nn = lib.nn
model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10),
)
""" + STEP.format(optimizer="Adam", loss="nn.functional.cross_entropy(model(x), t)")
LSTM = """
model = lib.nn.LSTM(32, 64)
""" + STEP.format(optimizer="SGD", loss="model(x)[0].square().mean()")
GRU = LSTM.replace("LSTM", "GRU")
TRANSFORMER = """
nn = lib.nn
layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
""" + STEP.format(optimizer="AdamW", loss="model(x).square().mean()")


def _labels(count: int) -> Operand:
    return Operand((count,), "int64", "integers", 10)


def _case(
    name: str,
    statement: str,
    operands: dict[str, Operand],
    setup: str,
    least_ratio: float = 1.0,
    group: str = "",
) -> Case:
    return Case(
        name,
        statement,
        operands,
        setup=setup,
        checked=False,
        recorded=True,
        least_ratio=least_ratio,
        group=group,
    )


STEPS = "steps"
CASES = [
    _case("relu(a + b), recorded", "lib.relu(a + b)", VECTOR, LEAF, 5),
    _case("a + b, recorded", "a + b", VECTOR, LEAF),
    _case("(a * b).sum().backward()", "back()", VECTOR, SHORT, 5),
    _case("pointwise chain of 4M elements, back", "back()", LARGE, CHAIN, 2),
    _case("Adam, 100 parameters of 128 elements", "optimizer.step()", {}, ADAM, 5),
    *(
        _case(
            f"step of a perceptron, {rows} rows",
            "step()",
            {"x": normal(rows, 64), "t": _labels(rows)},
            PERCEPTRON,
            group=STEPS,
        )
        for rows in (16, 128)
    ),
    _case(
        "step of the digits network, 64 images",
        "step()",
        {"x": normal(64, 1, 8, 8), "t": _labels(64)},
        DIGITS,
        group=STEPS,
    ),
    _case(
        "step of an LSTM, 20 steps of 16", "step()", {"x": normal(20, 16, 32)}, LSTM, group=STEPS
    ),
    _case("step of a GRU, 20 steps of 16", "step()", {"x": normal(20, 16, 32)}, GRU, group=STEPS),
    _case(
        "step of a transformer, 8 × 32 tokens",
        "step()",
        {"x": normal(8, 32, 64)},
        TRANSFORMER,
        group=STEPS,
    ),
]


def cases() -> list[Case]:
    return CASES


def run() -> list[Result]:
    measured = measure(CASES)
    steps = [result for result in measured if result.group == STEPS]
    return [
        *measured,
        geometric_mean("training: mean of all", measured, 1.5),
        geometric_mean("training: mean of steps", steps, 1.5),
    ]

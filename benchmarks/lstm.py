"""Recurrent layers without gradients: sequences in batches, and one token after the other."""

from __future__ import annotations

from operands import normal
from timing import Case, Result, geometric_mean, measure

CASES = [
    Case(
        f"{kind} {width}→{hidden}, {steps} steps of {batch}{', both ways' if ways else ''}",
        "model(x)[0]",
        {"x": normal(steps, batch, width)},
        f"lib.manual_seed(0); model = lib.nn.{kind}({width}, {hidden}, {layers}, "
        f"bidirectional={ways}).eval()",
        checked=False,
    )
    for kind in ("LSTM", "GRU", "RNN")
    for steps, batch, width, hidden, layers, ways in (
        (20, 16, 32, 64, 1, False),
        (100, 1, 64, 64, 1, False),
        (50, 8, 128, 256, 2, False),
        (50, 8, 128, 128, 1, True),
    )
] + [
    Case(
        f"{kind}Cell 64→64, {batch}",
        "model(x, state)",
        {"x": normal(batch, 64), "h": normal(batch, 64), "c": normal(batch, 64)},
        f"model = lib.nn.{kind}Cell(64, 64).eval(); state = (h, c) if '{kind}' == 'LSTM' else h",
        checked=False,
    )
    for kind in ("LSTM", "GRU")
    for batch in (1, 32)
]


def cases() -> list[Case]:
    return CASES


def run() -> list[Result]:
    results = measure(CASES)
    return [*results, geometric_mean("lstm: mean of all", results, 1.1)]

"""Whole eager programs, written once against the names both libraries have."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

from operands import normal
from timing import Case, Result, geometric_mean, measure


def perceptron(lib: Any, x: Any, layers: list[tuple[Any, Any]]) -> Any:
    """Linear layers with rectified units between them, and probabilities at the end."""
    functional = lib.nn.functional
    for weight, bias in layers[:-1]:
        x = functional.relu(functional.linear(x, weight, bias))
    return functional.softmax(functional.linear(x, *layers[-1]), dim=-1)


def transformer_block(lib: Any, x: Any, weights: dict[str, Any], heads: int) -> Any:
    """Attention by hand, then two layers; each behind a layer norm, with the input added."""
    functional = lib.nn.functional
    batch, length, width = x.shape
    h = functional.layer_norm(x, (width,), weights["norm"], weights["shift"])
    query, key, value = functional.linear(h, weights["qkv"], weights["qkv_bias"]).chunk(3, dim=-1)
    query, key, value = (
        part.view(batch, length, heads, width // heads).transpose(1, 2)
        for part in (query, key, value)
    )
    scores = query @ key.transpose(-2, -1) / math.sqrt(width // heads)
    attended = functional.softmax(scores, dim=-1) @ value
    attended = attended.transpose(1, 2).reshape(batch, length, width)
    x = x + functional.linear(attended, weights["out"], weights["shift"])
    h = functional.layer_norm(x, (width,), weights["norm"], weights["shift"])
    h = functional.gelu(functional.linear(h, weights["up"], weights["up_bias"]))
    return x + functional.linear(h, weights["down"], weights["shift"])


def recurrence(lib: Any, steps: Any, weights: dict[str, Any]) -> Any:
    """A recurrent network, step by step."""
    hidden = lib.zeros(steps.shape[1], weights["hidden"].shape[0])
    outputs = []
    for step in steps.unbind(0):
        hidden = lib.tanh(
            lib.nn.functional.linear(step, weights["input"], weights["bias"])
            + lib.nn.functional.linear(hidden, weights["hidden"])
        )
        outputs.append(hidden)
    return lib.stack(outputs)


def long_short_term_memory(lib: Any, steps: Any, weights: dict[str, Any]) -> Any:
    """An LSTM cell by hand, step by step."""
    width = weights["hidden"].shape[1]
    hidden = cell = lib.zeros(steps.shape[1], width)
    for step in steps.unbind(0):
        gates = (
            lib.addmm(weights["bias"], step, weights["input"].t()) + hidden @ weights["hidden"].t()
        )
        enter, forget, content, leave = gates.chunk(4, 1)
        cell = lib.sigmoid(forget) * cell + lib.sigmoid(enter) * lib.tanh(content)
        hidden = lib.sigmoid(leave) * lib.tanh(cell)
    return hidden


def k_means_step(lib: Any, points: Any, centres: Any) -> Any:
    """Assign points to the nearest centres, and move the centres to their means."""
    nearest = ((points[:, None, :] - centres[None]) ** 2).sum(-1).argmin(1)
    sums = lib.zeros_like(centres).index_add_(0, nearest, points)
    counts = lib.bincount(nearest, minlength=len(centres)).clamp(min=1)
    return sums / counts[:, None]


def descent(lib: Any, x: Any, y: Any, weight: Any) -> Any:
    """Twenty steps of linear regression, in place, with the gradient by hand."""
    weight = weight.clone()
    for _ in range(20):
        error = x @ weight - y
        weight.sub_(x.t() @ error, alpha=0.1 / x.shape[0])
    return weight


_NAMES = "import math, programs\n"


def block(batch: int, length: int, width: int, heads: int) -> Case:
    operands = {
        "x": normal(batch, length, width),
        "norm": normal(width),
        "shift": normal(width),
        "qkv": normal(3 * width, width),
        "qkv_bias": normal(3 * width),
        "out": normal(width, width),
        "up": normal(4 * width, width),
        "up_bias": normal(4 * width),
        "down": normal(width, 4 * width),
    }
    setup = (
        _NAMES + "weights = dict(norm=norm, shift=shift, qkv=qkv * 0.05, qkv_bias=qkv_bias,"
        " out=out * 0.05, up=up * 0.05, up_bias=up_bias, down=down * 0.05)"
    )
    return Case(
        f"transformer block, {batch}×{length}×{width}",
        f"programs.transformer_block(lib, x, weights, {heads})",
        operands,
        setup,
    )


def network(batch: int) -> Case:
    sizes = (784, 256, 128, 10)
    operands = {"x": normal(batch, 784)}
    for place, (inner, outer) in enumerate(pairwise(sizes)):
        operands[f"w{place}"] = normal(outer, inner)
        operands[f"b{place}"] = normal(outer)
    setup = _NAMES + "layers = [(w0 * 0.05, b0), (w1 * 0.05, b1), (w2 * 0.05, b2)]"
    return Case(
        f"MLP 784-256-128-10, batch {batch}", "programs.perceptron(lib, x, layers)", operands, setup
    )


def recurrent(batch: int, width: int) -> Case:
    operands = {
        "steps": normal(20, batch, width),
        "input": normal(width, width),
        "hidden": normal(width, width),
        "bias": normal(width),
    }
    setup = _NAMES + "weights = dict(input=input * 0.1, hidden=hidden * 0.1, bias=bias)"
    return Case(
        f"RNN of 20 steps, batch {batch}, {width} wide",
        "programs.recurrence(lib, steps, weights)",
        operands,
        setup,
    )


CASES = [
    network(1),
    network(64),
    block(1, 16, 64, 4),
    block(2, 128, 256, 8),
    recurrent(1, 16),
    recurrent(8, 64),
    Case(
        "LSTM cell of 20 steps, batch 8, 64 wide",
        "programs.long_short_term_memory(lib, steps, weights)",
        {
            "steps": normal(20, 8, 64),
            "input": normal(256, 64),
            "hidden": normal(256, 64),
            "bias": normal(256),
        },
        _NAMES + "weights = dict(input=input * 0.1, hidden=hidden * 0.1, bias=bias)",
    ),
    Case(
        "k-means step, 2000 points, 16 centres",
        "programs.k_means_step(lib, points, centres)",
        {"points": normal(2000, 8), "centres": normal(16, 8)},
        _NAMES,
    ),
    Case(
        "20 steps of regression, 256×16",
        "programs.descent(lib, x, y, weight)",
        {"x": normal(256, 16), "y": normal(256, 1), "weight": normal(16, 1)},
        _NAMES,
    ),
]


def cases() -> list[Case]:
    return [replace(case, least_ratio=1.5, headline=True) for case in CASES]


def run() -> list[Result]:
    results = measure(cases())
    return [*results, geometric_mean(f"programs: mean of {len(results)}", results, 1.5)]

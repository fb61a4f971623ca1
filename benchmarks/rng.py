"""Random numbers: torch's bits, at whose speed they are drawn."""

from __future__ import annotations

from operands import normal, positive
from timing import Case, Result, geometric_mean, measure

CASES = [
    Case(f"{name}, {label}", f"{call.format(count=count)}", checked=False)
    for label, count in (("16", 16), ("64K", 1 << 16), ("4M", 1 << 22))
    for name, call in (
        ("rand", "lib.rand({count})"),
        ("randn", "lib.randn({count})"),
        ("randint", "lib.randint(0, 1000, ({count},))"),
        ("randn of float64", "lib.randn({count}, dtype=lib.float64)"),
    )
] + [
    Case(
        "dropout of 1M",
        "lib.nn.functional.dropout(x, 0.5, True)",
        {"x": normal(1 << 20)},
        checked=False,
    ),
    Case(
        "bernoulli of 1M",
        "lib.bernoulli(x)",
        {"x": normal(1 << 20)},
        "x = x.sigmoid()",
        checked=False,
    ),
    Case("randperm of 64K", "lib.randperm(65536)", checked=False),
    Case("exponential of 1M", "x.exponential_()", {"x": normal(1 << 20)}, checked=False),
    Case(
        "multinomial, 32 of 1000 for 64 rows",
        "lib.multinomial(x, 32, replacement=True)",
        {"x": positive(64, 1000)},
        checked=False,
    ),
    Case(
        "multinomial without replacement",
        "lib.multinomial(x, 32)",
        {"x": positive(64, 1000)},
        checked=False,
    ),
]


def cases() -> list[Case]:
    return CASES


def run() -> list[Result]:
    results = measure(CASES)
    return [*results, geometric_mean("rng: mean of all", results, 1.1)]

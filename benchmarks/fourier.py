"""Fourier transforms of powers of two, other products of small primes, and primes."""

from __future__ import annotations

from operands import Operand, normal
from timing import Case, Result, geometric_mean, measure

MILLION = 1 << 20
# A prime, and a number with many small factors, beside powers of two.
LENGTHS = (64, 1000, 1021, 1024, 1 << 14, 1 << 16, MILLION)
ROWS = 256
SIDES = (64, 512, 1000)


def cases() -> list[Case]:
    made = []
    for dtype in ("float32", "float64"):
        for name in ("fft", "rfft"):
            made += [_case(name, normal(length, dtype=dtype)) for length in LENGTHS]
            made += [_case(name, normal(ROWS, length, dtype=dtype)) for length in LENGTHS[:4]]
            made += [_case(f"{name}2", normal(side, side, dtype=dtype)) for side in SIDES]
    return made


def _case(name: str, given: Operand) -> Case:
    """A transform, of complex numbers but for those that take real ones."""
    is_real = name.startswith("r")
    shape = "×".join(map(str, given.shape))
    return Case(
        f"{name}, {shape}, {given.dtype if is_real else f'complex of {given.dtype}'}",
        f"lib.fft.{name}(x)",
        {"x": given},
        setup="" if is_real else "x = x + 1j * x",
        least_ratio=None,
        numpy="",
    )


def run() -> list[Result]:
    results = measure(cases())
    return [*results, geometric_mean(f"fourier: mean of {len(results)}", results, 1.0)]

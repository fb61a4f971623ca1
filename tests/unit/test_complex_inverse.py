"""Inverse functions of complex numbers beside their branch points."""

import mpmath
import pytest

import aten

BESIDE = [1.0, -1.0, 1 - 2.0**-53, 1 + 2.0**-52]
SMALL = [5e-324, 1e-320, 1e-310, 1.29e-201, 1e-160, -1e-154, 1e-30, 1e-8]


@pytest.mark.parametrize("name", ["acos", "asin", "acosh", "asinh"])
def test_squares_of_small_parts_are_not_needed(name):
    """Of float64 the square of 1e-160 is 0, which its root is not."""
    numbers = [complex(x, y) for x in BESIDE for y in SMALL]
    if name == "asinh":
        numbers = [complex(one.imag, one.real) for one in numbers]
    found = getattr(aten, name)(aten.tensor(numbers, dtype=aten.complex128)).tolist()
    with mpmath.workprec(2400):
        for number, made in zip(numbers, found, strict=True):
            exact = getattr(mpmath, name)(mpmath.mpc(number))
            for part, expected in ((made.real, exact.real), (made.imag, exact.imag)):
                allowed = abs(expected) * 3e-15 + 5e-324
                assert abs(part - expected) <= allowed, (number, made)

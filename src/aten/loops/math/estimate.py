"""Rough inverses and inverse roots, for devices that have no such primitive."""

from __future__ import annotations

from aten.loops.math.building_blocks import is_float32
from aten.prims import Value
from aten.prims import arithmetic as a

# The first, less half of a number's bits, has the bits of a first guess at its inverse root; a step
# of Newton's method with the two others in it improves that to 2^-10.6 (Kadlec 2010).
GUESS_BITS, GUESS_SCALE, GUESS_OFFSET = 0x5F1FFFF9, 0.703952253, 2.38924456


def reciprocal_estimate(x: Value) -> Value:
    """``1 / x``, which is better than asked for."""
    return 1.0 / x


def rsqrt_estimate(x: Value) -> Value:
    """``1 / sqrt(x)`` of a positive normal number; float32 to 2^-20 and without dividing."""
    if not is_float32(x):
        return 1.0 / a.sqrt(x)
    bits = a.constant(a.bitcast(x, "int32"), GUESS_BITS) - (a.bitcast(x, "int32") >> 1)
    guess = a.bitcast(bits, "float32")
    step = a.fma(-x * guess, guess, a.constant(x, GUESS_OFFSET))
    guess = guess * GUESS_SCALE * step
    step = a.fma(x * guess, guess, a.constant(x, -1.0))
    return a.fma(guess * -0.5, step, guess)

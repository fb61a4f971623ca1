"""The 8-bit floating point formats: what their codes mean, and how numbers are rounded to them.

Source: OCP 8-bit Floating Point Specification (2023), Microscaling Formats (2023) for e8m0fnu;
Noune et al., 8-bit Numerical Formats for Deep Neural Networks (2022) for the fnuz formats.
"""

from __future__ import annotations

import math
import struct
from typing import NamedTuple


class Float8(NamedTuple):
    """A format with a sign: `mantissa` bits, and what stands where numbers end.

    `overflow` is what numbers past `largest`, the code of the largest one, become; `nan` is the
    code of what is no number. In the `unsigned_zero` formats this code is -0's, and has no sign.
    """

    mantissa: int
    bias: int
    largest: int
    overflow: int
    nan: int
    unsigned_zero: bool


FORMATS = {
    "float8_e4m3fn": Float8(3, 7, 0x7E, 0x7E, 0x7F, unsigned_zero=False),
    "float8_e5m2": Float8(2, 15, 0x7B, 0x7C, 0x7F, unsigned_zero=False),
    "float8_e4m3fnuz": Float8(3, 8, 0x7F, 0x80, 0x80, unsigned_zero=True),
    "float8_e5m2fnuz": Float8(2, 16, 0x7F, 0x80, 0x80, unsigned_zero=True),
}
EXPONENTS = "float8_e8m0fnu"  # powers of two, without a sign and without zero


def decode(code: int, name: str) -> float:
    """The number that `code` stands for."""
    if name == EXPONENTS:
        return math.nan if code == 0xFF else math.ldexp(1.0, code - 127)
    form = FORMATS[name]
    magnitude = code & 0x7F
    if (code if form.unsigned_zero else magnitude) == form.nan:
        return math.nan
    if magnitude > form.largest:
        number = math.nan if magnitude & ((1 << form.mantissa) - 1) else math.inf
    else:
        exponent, fraction = magnitude >> form.mantissa, magnitude & ((1 << form.mantissa) - 1)
        whole = fraction if exponent == 0 else fraction + (1 << form.mantissa)
        number = math.ldexp(whole, max(exponent, 1) - form.bias - form.mantissa)
    return -number if code & 0x80 else number


def encode(value: float, name: str) -> int:
    """The code of the nearest number, ties to even; `value` is rounded to float32 first."""
    try:
        bits = struct.unpack("<I", struct.pack("<f", value))[0]
    except OverflowError:
        bits = 0x7F800000 | (0x80000000 if value < 0 else 0)
    magnitude = bits & 0x7FFFFFFF
    if name == EXPONENTS:
        return _encode_exponent(magnitude)
    form = FORMATS[name]
    sign = bits >> 24 & 0x80
    if magnitude > 0x7F800000:
        return form.nan if form.unsigned_zero else form.nan | sign
    code = _rounded(magnitude, form)
    if code > form.largest:
        return form.overflow if form.unsigned_zero else form.overflow | sign
    return code if form.unsigned_zero and code == 0 else code | sign


def _rounded(magnitude: int, form: Float8) -> int:
    """The code nearest to a float32 without its sign; past the largest one where it is too big."""
    number = struct.unpack("<f", struct.pack("<I", magnitude))[0]
    exponent = max((magnitude >> 23) - 127, 1 - form.bias)
    if magnitude >= 0x7F800000:
        return 0xFF
    units = round(math.ldexp(number, form.mantissa - exponent))
    return units + (exponent + form.bias - 1 << form.mantissa)


def _encode_exponent(magnitude: int) -> int:
    if magnitude >= 0x7F800000:
        return 0xFF
    exponent, fraction = magnitude >> 23, magnitude & 0x7FFFFF
    # The middle between two powers goes up, but for the one between the two smallest.
    return exponent + (fraction > (0x3FFFFF if exponent else 0x400000))

"""The numeric limits of dtypes."""

from __future__ import annotations

import math

from aten._core.base.dtypes import dtype, get_default_dtype

# Bits of the fraction; the least exponent of a normal number; the greatest finite number.
_FLOATS = {
    "float64": (52, -1022, (2 - 2.0**-52) * 2.0**1023),
    "float32": (23, -126, (2 - 2.0**-23) * 2.0**127),
    "float16": (10, -14, 65504.0),
    "bfloat16": (7, -126, (2 - 2.0**-7) * 2.0**127),
    "float8_e5m2": (2, -14, 57344.0),
    "float8_e4m3fn": (3, -6, 448.0),
    "float8_e5m2fnuz": (2, -15, 57344.0),
    "float8_e4m3fnuz": (3, -7, 240.0),
}


class finfo:  # noqa: N801
    """Limits of a floating point dtype; of its parts, for a complex one.

    Attributes: `bits`, `eps` (the distance from 1 to the next number), `max`, `min`, `tiny` and
    `smallest_normal` (the least positive normal number), `resolution`, `dtype` (the name). Without
    an argument, the default dtype. Raises TypeError for other dtypes.
    """

    def __init__(self, type: dtype | None = None) -> None:
        element = (get_default_dtype() if type is None else type).to_real()
        if element.name not in _FLOATS:
            raise TypeError(
                f"aten.finfo() requires a floating point input type, not {type}; use aten.iinfo "
                f"for integers"
            )
        fraction, least_exponent, greatest = _FLOATS[element.name]
        self.bits = 8 * element.itemsize
        self.eps = 2.0**-fraction
        self.max = greatest
        self.min = -greatest
        self.tiny = self.smallest_normal = 2.0**least_exponent
        self.resolution = 10.0 ** -math.floor(fraction * math.log10(2))
        self.dtype = element.name

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
            f"eps={self.eps:g}, smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, "
            f"dtype={self.dtype})"
        )


class iinfo:  # noqa: N801
    """Limits of an integer dtype: `bits`, `max`, `min`, `dtype` (the name).

    Raises TypeError for other dtypes.
    """

    def __init__(self, type: dtype) -> None:
        if type.kind not in ("signed", "unsigned"):
            raise TypeError(
                f"aten.iinfo() requires an integer input type, not {type}; use aten.finfo for "
                f"floating point types"
            )
        signed = type.kind == "signed"
        self.bits = 8 * type.itemsize
        self.max = (1 << (self.bits - signed)) - 1
        self.min = -(1 << (self.bits - 1)) if signed else 0
        self.dtype = type.name

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"

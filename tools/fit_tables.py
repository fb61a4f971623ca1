"""The complement of the error function and the inverse as polynomials by intervals.

For `make_tables`, which writes them; `fit_polynomials` does the fitting. A row of a table holds one
number for each of 32 intervals: first where its middle is and the function's value there, then the
coefficients of the polynomial by which the distance from the middle is to be multiplied, lowest
power first.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass

import mpmath as mp
from fit_polynomials import Fit, fit, round_to

INTERVALS = 32
HALF = mp.mpf(1) / 2
INDENT = " " * 8
BITS = 24
# The intervals for erfc are even in x (x + bend), so that erfc falls by about the same share in
# each, and end where the index would be 31.5.
ERFC_BEND = mp.mpf("1.5")
ERFC_SCALE = mp.mpf("1.25")
ERFC_DEGREE = 5
# Float32s that may be an interval's middle.
CANDIDATES = 1024

Function = Callable[[mp.mpf], mp.mpf]


@dataclass(frozen=True)
class Piece:
    """A function of the distance from an interval's middle, and what stands in the first rows."""

    function: Function
    low: mp.mpf
    high: mp.mpf
    leading: tuple[mp.mpf, ...]


@dataclass(frozen=True)
class Table:
    """A function by intervals, of which some may never be met; `leading` rows come first."""

    name: str
    meaning: str
    piece: Callable[[int], Piece | None]
    leading: int
    degree: int


def fitted_rows(table: Table) -> tuple[list[list[mp.mpf]], mp.mpf]:
    """The rows, and the largest error relative to the function."""
    columns, worst = [], mp.mpf(0)
    for place in range(INTERVALS):
        piece = table.piece(place)
        if piece is None:
            columns.append([mp.mpf(0)] * (table.leading + table.degree + 1))
            continue
        coefficients, error = fitted_slope(piece, table.degree)
        columns.append([*piece.leading, *coefficients])
        worst = max(worst, error)
    return [list(row) for row in zip(*columns, strict=True)], worst


def fitted_slope(piece: Piece, degree: int) -> tuple[list[mp.mpf], mp.mpf]:
    return fit(slope_of(piece, degree, BITS))


def fitted_exactly(piece: Piece, degree: int) -> list[mp.mpf]:
    return fit(slope_of(piece, degree, 53))[0]


def slope_of(piece: Piece, degree: int, bits: int) -> Fit:
    middle = piece.function(mp.mpf(0))

    def slope(h: mp.mpf) -> mp.mpf:
        return (piece.function(h) - middle) / h if h else mp.diff(piece.function, 0)

    def weight(h: mp.mpf) -> mp.mpf:
        return h / piece.function(h)

    return Fit("", "", slope, (piece.low, piece.high), degree, weight, bits)


def erfc_piece(place: int) -> Piece:
    """Around a middle where erfc and its slope are all but float32s, so that they round little.

    Gal and Bachelis, An accurate elementary mathematical library (1991).
    """
    low, middle, high = (erfc_argument(max(place + shift, mp.mpf(0))) for shift in (-HALF, 0, HALF))
    middle = round_to(middle, BITS)
    if place:
        guess = erfc_around(middle, low, high)
        excess = fitted_exactly(guess, ERFC_DEGREE)[0] - erfc_slope(middle)
        unit = mp.mpf(2) ** (mp.frexp(middle)[1] - BITS)
        middle = min(
            (middle + shift * unit for shift in range(CANDIDATES)),
            key=lambda x: max(
                distance_to_float(mp.erfc(x)), distance_to_float(erfc_slope(x) + excess)
            ),
        )
    return erfc_around(middle, low, high)


def erfc_around(middle: mp.mpf, low: mp.mpf, high: mp.mpf) -> Piece:
    leading = (middle, round_to(mp.erfc(middle), BITS))
    return Piece(lambda h: mp.erfc(middle + h), low - middle, high - middle, leading)


def erfc_slope(x: mp.mpf) -> mp.mpf:
    return -2 / mp.sqrt(mp.pi) * mp.exp(-x * x)


def erfc_argument(index: mp.mpf) -> mp.mpf:
    """Where ERFC_SCALE x (x + ERFC_BEND) is the index."""
    return mp.sqrt(ERFC_BEND**2 / 4 + index / ERFC_SCALE) - ERFC_BEND / 2


def distance_to_float(value: mp.mpf) -> mp.mpf:
    """From the nearest float32, relative to the value."""
    return abs((round_to(value, BITS) - value) / value)


def erfinv_piece(place: int) -> Piece | None:
    """erfinv(x) / x with 1 - x = 2^e (1.5 + h), where place is e + 127 modulo 32.

    From 2^-24 to 1/2; the last place is that of x = 0. The value in the middle is in two parts,
    both positive: at -0, their products with x must not cancel to 0.
    """
    exponent = place - 31
    if exponent < -24:
        return None
    scale = mp.mpf(2) ** exponent
    ratio = ratio_at_zero if exponent == 0 else lambda h: erfinv_ratio(scale * (3 * HALF + h))
    middle = ratio(mp.mpf(0))
    with mp.workprec(BITS):
        head = mp.fadd(middle, 0, rounding="f")
    return Piece(ratio, -HALF, HALF, (head, round_to(middle - head, BITS)))


def ratio_at_zero(h: mp.mpf) -> mp.mpf:
    return mp.sqrt(mp.pi) / 2


def erfinv_ratio(c: mp.mpf) -> mp.mpf:
    """erfinv(x) / x where x is 1 - c; Newton's method on erfc."""
    x = 1 - c
    if x == 0:
        return mp.sqrt(mp.pi) / 2
    y = mp.erfinv(mp.mpf(float(x))) if c > 2**-10 else mp.sqrt(-mp.log(2 * c)) - mp.mpf("0.3")
    for _ in range(80):
        step = (mp.erfc(y) - c) * mp.exp(y * y) * mp.sqrt(mp.pi) / 2
        y += step
        if abs(step) < mp.mpf(10) ** -40:
            break
    return y / x


TABLES = [
    Table(
        "ERFC",
        "erfc(m + h), 5/4 (m + h) (m + h + 3/2) = i to the nearest",
        erfc_piece,
        2,
        ERFC_DEGREE,
    ),
    Table(
        "ERFINV",
        "erfinv(x) / x, 1 - |x| = 2^(i - 31) (1.5 + h), 7 <= i",
        erfinv_piece,
        2,
        7,
    ),
]


def source_of(table: Table, rows: list[list[mp.mpf]], error: mp.mpf) -> str:
    lines = [f"# {table.meaning}: error 2^{mp.nstr(mp.log(error, 2), 4)}", f"{table.name} = ("]
    for row in rows:
        listed = ", ".join(repr(float(one)) for one in row)
        lines += [
            "    (",
            textwrap.fill(f"{listed},", 100, initial_indent=INDENT, subsequent_indent=INDENT),
            "    ),",
        ]
    return "\n".join([*lines, ")"])


def tables() -> list[str]:
    """The text of all of them."""
    return [source_of(table, *fitted_rows(table)) for table in TABLES]

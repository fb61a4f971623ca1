"""Make the tables of ``aten.loops.math`` and write them to its ``tables.py``.

    python tools/make_tables.py            # all of them, a minute

A logarithm of ``m`` in [3/4, 3/2) is that of an inverse nearby and that of ``m`` times the inverse,
which is close to 1. Among the float32 numbers about the inverse of the middle of an interval there
are some whose logarithm is nearly a multiple of 2^-17, or of 2^-16 for base 2, where exponents have
more bits: with these, its sum with a multiple of the logarithm of 2 is exact, and no second part is
needed (Gal, Computing Elementary Functions, 1986).

Other functions are polynomials on 32 intervals, about centers that are chosen the same way: among
the float32 numbers near the middle, one with a value that is a float32 but for 2^-10 of a unit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mpmath as mp
import numpy as np
from fit_polynomials import Fit, fit
from fit_tables import tables

mp.mp.dps = 40
OUTPUT = Path(__file__).parents[1] / "src/aten/loops/math/tables.py"
HEADER = '''"""Tables of the math functions, by leading bits. Written by tools/make_tables.py."""
'''
PER_LINE = 5
ENTRIES = 32
CANDIDATES = 500
QUARTER = mp.mpf(1) / 4
# Here the inverse is 1 and nothing is lost to it; just beyond, results are larger than remainders.
ABOUT_ONE = (1 - mp.mpf(3) / 64, 1 + mp.mpf(1) / 16)


def float32(value: mp.mpf) -> float:
    return float(np.float32(float(value)))


def interval(index: int) -> tuple[mp.mpf, mp.mpf]:
    """The numbers in [3/4, 3/2) whose bits after the leading one begin with `index`."""
    scale = mp.mpf(1) if index < ENTRIES // 2 else mp.mpf(1) / 2
    return (1 + mp.mpf(index) / ENTRIES) * scale, (1 + mp.mpf(index + 1) / ENTRIES) * scale


def inverse_and_logarithm(index: int, base: mp.mpf, unit: mp.mpf) -> tuple[float, float]:
    """An inverse of a number near the interval's middle, and the logarithm of that number."""
    low, high = interval(index)
    if low >= ABOUT_ONE[0] and high <= ABOUT_ONE[1]:
        return 1.0, 0.0
    # Nearer to 1, where the logarithm is smaller, the remainder is to be, too.
    width = high - low
    places = (low + width / 4, low + width / 2) if low > 1 else (high - width / 2, high - width / 4)
    first, last = (int(mp.nint(mp.log(place) / mp.log(base) / unit)) for place in places)
    errors = {}
    for multiple in range(first, last + 1):
        inverse = float32(base ** -(multiple * unit))
        errors[multiple] = abs(mp.log(1 / mp.mpf(inverse)) / mp.log(base) - multiple * unit)
    best = min(errors, key=errors.__getitem__)
    return float32(base ** -(best * unit)), float(best * unit)


def logarithm_tables(name: str, text: str, base: mp.mpf, bits: int) -> list[str]:
    pairs = [inverse_and_logarithm(index, base, mp.mpf(2) ** -bits) for index in range(ENTRIES)]
    worst = max(abs(mp.log(1 / mp.mpf(one)) / mp.log(base) - mp.mpf(other)) for one, other in pairs)
    inverses, logarithms = zip(*pairs, strict=True)
    error = f"error 2^{mp.nstr(mp.log(worst, 2), 4)}"
    return [
        f"# Inverses of numbers in [3/4, 3/2), and {text} of the numbers: {error}",
        source_of(f"{name}_INVERSES", inverses),
        source_of(f"{name}_OF_INVERSES", logarithms),
    ]


@dataclass(frozen=True)
class Pieces:
    """A function as polynomials on 32 intervals, in the order of the table."""

    name: str
    meaning: str
    function: Callable[[mp.mpf], mp.mpf]
    intervals: list[tuple[mp.mpf, mp.mpf]]
    degree: int
    # How far from the middle of an interval centers are looked for, in its widths.
    reach: mp.mpf


def octaves_above_one() -> list[tuple[mp.mpf, mp.mpf]]:
    """Numbers ``x >= 0`` by five bits of ``x + 1``: from 0, 1, 3 and 7 on, eight intervals each.

    The bits are the last two of the exponent and the first three after the leading one.
    """
    intervals = []
    for exponent in (1, 2, 3, 0):
        width = mp.mpf(2) ** (exponent - 3)
        first = mp.mpf(2) ** exponent - 1
        intervals += [(first + i * width, first + (i + 1) * width) for i in range(8)]
    return intervals


def halves_about_zero() -> list[tuple[mp.mpf, mp.mpf]]:
    """Numbers by the last five bits of twice the number, rounded to an integer."""
    middles = [mp.mpf(i if i < 16 else i - 32) / 2 for i in range(32)]
    return [(middle - mp.mpf(1) / 4, middle + mp.mpf(1) / 4) for middle in middles]


def center_of(piece: tuple[mp.mpf, mp.mpf], pieces: Pieces) -> tuple[float, float]:
    """A number near the middle, and the function's value there."""
    low, high = piece
    if low == 0:
        return 0.0, 0.0  # exact about 0
    middle, reach = (low + high) / 2, (high - low) * pieces.reach
    best = None
    for place in range(-CANDIDATES, CANDIDATES + 1):
        center = float32(middle + reach * place / CANDIDATES)
        exact = pieces.function(mp.mpf(center))
        value = float32(exact)
        error = abs(exact - mp.mpf(value)) / mp.mpf(2) ** (mp.frexp(exact)[1] - 24)
        if best is None or error < best[0]:
            best = error, center, value
    assert best is not None
    return best[1], best[2]


def piece_fit(piece: tuple[mp.mpf, mp.mpf], center: float, pieces: Pieces) -> Fit:
    """``(f(c + d) - f(c)) / d``, less 1 where ``f(d)`` is about ``d``; the error is relative."""
    low, high = piece
    margin = (high - low) / 1000
    middle, function = mp.mpf(center), pieces.function
    value, slope = function(middle), mp.diff(function, middle)
    known = mp.mpf(0 if value else 1)
    return Fit(
        "",
        "",
        lambda d: (function(middle + d) - value) / d - known if d else slope - known,
        ((low - margin if low != 0 else low) - middle, high + margin - middle),
        pieces.degree - 1,
        lambda d: d / function(middle + d) if d else known,
        24,
    )


def piecewise_tables(pieces: Pieces) -> list[str]:
    centers, rows, worst = [], [], mp.mpf(0)
    for piece in pieces.intervals:
        center, value = center_of(piece, pieces)
        terms, error = fit(piece_fit(piece, center, pieces))
        centers.append(center)
        rows.append((value, *map(float, terms)))
        worst = max(worst, error)
    terms_text = [source_of("", row).replace(" = (", "(", 1) for row in zip(*rows, strict=True)]
    body = "\n".join("    " + text.replace("\n", "\n    ") + "," for text in terms_text)
    return [
        f"# {pieces.meaning}: error 2^{mp.nstr(mp.log(worst, 2), 4)}",
        source_of(f"{pieces.name}_CENTERS", tuple(centers)),
        f"{pieces.name}_TERMS = (\n{body}\n)",
    ]


PIECES = [
    Pieces("TANH", "tanh(c + d), x + 1 in [1, 16)", mp.tanh, octaves_above_one(), 5, QUARTER),
    Pieces("ATAN", "atan(c + d), x + 1 in [1, 16)", mp.atan, octaves_above_one(), 5, QUARTER),
    Pieces("ERF", "erf(c + d), x + 1 in [1, 16)", mp.erf, octaves_above_one(), 6, QUARTER),
    Pieces(
        "SIGMOID",
        "1 / (1 + exp(-c - d)), |2 x| rounded up to 16",
        lambda x: 1 / (1 + mp.exp(-x)),
        halves_about_zero(),
        6,
        mp.mpf(1) / 16,
    ),
]


def tables_of_steps() -> list[str]:
    """Sines and cosines of the multiples of pi/16, by which a period is a table."""
    steps = [mp.mpf(step) / (ENTRIES // 2) for step in range(ENTRIES)]
    sines, cosines = ([f(step) for step in steps] for f in (mp.sinpi, mp.cospi))
    rounded = [float32(sine) for sine in sines]
    # A sine of -0 is this and another zero of the same sign.
    rounded[0] = -0.0
    excesses = [float32(head - sine) for head, sine in zip(rounded, sines, strict=True)]
    return [
        "# Sines of the multiples of pi/16, by how much they exceed them, and cosines",
        source_of("SINES", tuple(rounded)),
        source_of("SINE_EXCESSES", tuple(excesses)),
        source_of("COSINES", tuple(map(float32, cosines))),
    ]


def source_of(name: str, table: tuple[float, ...]) -> str:
    lines = [
        "    " + ", ".join(str(np.float32(one)) for one in table[i : i + PER_LINE]) + ","
        for i in range(0, len(table), PER_LINE)
    ]
    return "\n".join([f"{name} = (", *lines, ")"])


def main() -> None:
    blocks = [
        *logarithm_tables("LOG", "logarithms", mp.e, 17),
        *logarithm_tables("LOG2", "logarithms to base 2", mp.mpf(2), 16),
        *logarithm_tables("LOG10", "logarithms to base 10", mp.mpf(10), 17),
        *tables_of_steps(),
        *(line for pieces in PIECES for line in piecewise_tables(pieces)),
        *tables(),
    ]
    OUTPUT.write_text(HEADER + "\n# fmt: off\n" + "\n".join(blocks) + "\n")


if __name__ == "__main__":
    main()

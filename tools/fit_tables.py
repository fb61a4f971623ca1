"""Fit the functions that are polynomials by intervals and write ``table_coefficients.py``.

    python tools/fit_tables.py         # all of them, about a minute
    python tools/fit_tables.py ERFC    # only this one, printed, nothing written

As `fit_polynomials`, which does the fitting. A row of a table holds one coefficient for each of 32
intervals: the value in the middle in two parts, then the coefficients of the polynomial by which
the difference from it is to be divided, lowest power first.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mpmath as mp
from fit_polynomials import Fit, fit, round_to

OUTPUT = Path(__file__).parents[1] / "src/aten/loops/math/table_coefficients.py"
HEADER = '''"""Coefficients by interval, one row for each. Written by tools/fit_tables.py."""
'''
INTERVALS = 32
ERFC_WIDTH = mp.mpf(9) / 64
HALF = mp.mpf(1) / 2
INDENT = " " * 8

Function = Callable[[mp.mpf], mp.mpf]


@dataclass(frozen=True)
class Table:
    """A function by intervals: of `interval(i)` as a function of h, |h| <= half_width.

    None where the interval is never met.
    """

    name: str
    meaning: str
    interval: Callable[[int], Function | None]
    half_width: mp.mpf
    degree: int


def fitted_rows(table: Table) -> tuple[list[list[mp.mpf]], mp.mpf]:
    """The rows, and the largest error relative to the function."""
    columns, worst = [], mp.mpf(0)
    for place in range(INTERVALS):
        function = table.interval(place)
        if function is None:
            columns.append([mp.mpf(0)] * (table.degree + 3))
            continue
        column, error = fitted_column(table, function)
        columns.append(column)
        worst = max(worst, error)
    return [list(row) for row in zip(*columns, strict=True)], worst


def fitted_column(table: Table, function: Function) -> tuple[list[mp.mpf], mp.mpf]:
    middle = function(mp.mpf(0))
    head = round_to(middle, 24)

    def slope(h: mp.mpf) -> mp.mpf:
        return (function(h) - middle) / h if h else mp.diff(function, 0)

    item = Fit(
        table.name, "", slope, (-table.half_width, table.half_width), table.degree,
        lambda h: h / function(h), 24,
    )  # fmt: skip
    coefficients, error = fit(item)
    return [head, round_to(middle - head, 24), *coefficients], error


def complement_in(place: int) -> Function:
    return lambda h: mp.erfc(place * ERFC_WIDTH + h)


def inverse_error_function_in(place: int) -> Function | None:
    """erfinv(1 - c) / (1 - c) for c = 2^e (1.5 + h); place is e + 127 modulo 32.

    From 2^-24 to 1/2; the last place is that of c = 1.
    """
    exponent = place - 31
    if exponent < -24:
        return None
    if exponent == 0:
        return lambda h: mp.sqrt(mp.pi) / 2
    scale = mp.mpf(2) ** exponent
    return lambda h: erfinv_of_complement(scale * (3 * HALF + h))


def erfinv_of_complement(c: mp.mpf) -> mp.mpf:
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
        "erfc(9/64 i + h), |h| <= 9/128",
        complement_in,
        ERFC_WIDTH / 2,
        6,
    ),
    Table(
        "ERFINV",
        "erfinv(x) / x, 1 - |x| = 2^(i - 31) (1.5 + h), |h| <= 1/2, 7 <= i",
        inverse_error_function_in,
        HALF,
        7,
    ),
]


def source_of(table: Table, rows: list[list[mp.mpf]], error: mp.mpf) -> str:
    lines = [f"# {table.meaning}: error 2^{mp.nstr(mp.log(error, 2), 4)}", f"{table.name} = ("]
    for row in rows:
        listed = ", ".join(repr(float(one)) for one in row)
        lines += ["    (", textwrap.fill(f"{listed},", 100, initial_indent=INDENT,
                                         subsequent_indent=INDENT), "    ),"]
    return "\n".join([*lines, ")"])


def main(names: list[str]) -> None:
    blocks = []
    for table in TABLES:
        if names and table.name not in names:
            continue
        blocks.append(source_of(table, *fitted_rows(table)))
        print(blocks[-1].partition("\n")[0], table.name, flush=True)
    if names:
        print("\n".join(blocks))
    else:
        OUTPUT.write_text(HEADER + "\n" + "\n".join(blocks) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])

"""Make the tables of ``aten.loops.math`` and write them to its ``tables.py``.

    python tools/make_tables.py            # all of them, some seconds

A logarithm of ``m`` in [3/4, 3/2) is that of an inverse nearby and that of ``m`` times the inverse,
which is close to 1. Among the float32 numbers about the inverse of the middle of an interval there
are some whose logarithm is nearly a multiple of 2^-17, or of 2^-16 for base 2, where exponents have
more bits: with these, its sum with a multiple of the logarithm of 2 is exact, and no second part is
needed (Gal, Computing Elementary Functions, 1986).
"""

from __future__ import annotations

from pathlib import Path

import mpmath as mp
import numpy as np

mp.mp.dps = 40
OUTPUT = Path(__file__).parents[1] / "src/aten/loops/math/tables.py"
HEADER = '''"""Tables of the math functions, by leading bits. Written by tools/make_tables.py."""
'''
PER_LINE = 4
ENTRIES = 32
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


def source_of(name: str, table: tuple[float, ...]) -> str:
    lines = [
        "    " + ", ".join(map(repr, table[i : i + PER_LINE])) + ","
        for i in range(0, len(table), PER_LINE)
    ]
    return "\n".join([f"{name} = (", *lines, ")"])


def main() -> None:
    blocks = [
        *logarithm_tables("LOG", "logarithms", mp.e, 17),
        *logarithm_tables("LOG2", "logarithms to base 2", mp.mpf(2), 16),
        *logarithm_tables("LOG10", "logarithms to base 10", mp.mpf(10), 17),
    ]
    OUTPUT.write_text(HEADER + "\n# fmt: off\n" + "\n".join(blocks) + "\n")


if __name__ == "__main__":
    main()

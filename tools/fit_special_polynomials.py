"""Fit the polynomials of the special functions and write ``special_coefficients.py``.

    python tools/fit_special_polynomials.py             # all of them, several minutes
    python tools/fit_special_polynomials.py BESSEL_J0   # only these, printed, nothing written

As `fit_polynomials`, which does the fitting. The variable always runs over [-1, 1]: coefficients
of high powers stay small there, and so do rounding errors.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import mpmath as mp
from fit_polynomials import Fit, erfinv_ratio, fit, source_of

OUTPUT = Path(__file__).parents[1] / "src/aten/loops/math/special_coefficients.py"
HEADER = '''"""Polynomial coefficients of special functions, lowest power first.

Written by tools/fit_special_polynomials.py.
"""
'''
LIMIT = mp.mpf(10) ** -24  # stands for zero where a formula has a removable singularity
ONE = mp.mpf(1)

Function = Callable[[mp.mpf], mp.mpf]


def on_interval(
    name: str,
    text: str,
    function: Function,
    low: object,
    high: object,
    degree: int,
    weight: Function | None = None,
) -> Fit:
    """A fit of ``function(v)`` for low <= v <= high, in ``t = (v - middle) / half``.

    The error is relative where no ``weight`` is given.
    """
    middle = (mp.mpf(low) + mp.mpf(high)) / 2
    half = (mp.mpf(high) - mp.mpf(low)) / 2

    def shifted(t: mp.mpf) -> mp.mpf:
        return function(max(middle + half * t, LIMIT) if low == 0 else middle + half * t)

    weigh = (lambda t: 1 / shifted(t)) if weight is None else weight
    meaning = f"{text},\n# {mp.nstr(mp.mpf(low), 6)} <= v <= {mp.nstr(mp.mpf(high), 6)}"
    return Fit(name, meaning, shifted, (-ONE, ONE), degree, weigh)


def constant_weight(t: mp.mpf) -> mp.mpf:
    return ONE


def bessel_fits() -> list[Fit]:
    """J and Y of orders 0 and 1: series in x^2 up to 8, Hankel's amplitudes beyond.

    J(x) = sqrt(2 / (pi x)) (P cos(chi) - Q sin(chi)), Y with sin(chi) and cos(chi), where
    chi = x - (2 order + 1) pi/4. Errors are absolute: the functions have zeros.
    """

    def amplitudes(order: int, v: mp.mpf) -> tuple[mp.mpf, mp.mpf]:
        x = 8 / mp.sqrt(v)
        scale, chi = mp.sqrt(mp.pi * x / 2), x - (2 * order + 1) * mp.pi / 4
        j, y = mp.besselj(order, x), mp.bessely(order, x)
        p = scale * (j * mp.cos(chi) + y * mp.sin(chi))
        return p, scale * (y * mp.cos(chi) - j * mp.sin(chi)) * x / 8

    def regular_y0(v: mp.mpf) -> mp.mpf:
        x = mp.sqrt(v)
        return mp.bessely(0, x) - 2 / mp.pi * mp.log(x) * mp.besselj(0, x)

    def regular_y1(v: mp.mpf) -> mp.mpf:
        x = mp.sqrt(v)
        return (mp.bessely(1, x) - 2 / mp.pi * (mp.log(x) * mp.besselj(1, x) - 1 / x)) / x

    def slope_of_j1(v: mp.mpf) -> mp.mpf:
        return mp.besselj(1, mp.sqrt(v)) / mp.sqrt(v)

    fits = [
        on_interval(
            "BESSEL_J0", "J0(x), v = x^2", lambda v: mp.besselj(0, mp.sqrt(v)), 0, 64, 17,
            constant_weight,
        ),
        on_interval("BESSEL_J1", "J1(x) / x, v = x^2", slope_of_j1, 0, 64, 17, constant_weight),
        on_interval(
            "BESSEL_Y0", "Y0(x) - 2/pi log(x) J0(x), v = x^2", regular_y0, 0, 64, 17,
            constant_weight,
        ),
        on_interval(
            "BESSEL_Y1", "(Y1(x) - 2/pi (log(x) J1(x) - 1/x)) / x, v = x^2", regular_y1, 0, 64, 17,
            constant_weight,
        ),
    ]  # fmt: skip
    for order in (0, 1):
        for place, letter in enumerate("PQ"):
            fits.append(
                on_interval(
                    f"BESSEL_{letter}{order}",
                    f"{letter}(x){' x / 8' if place else ''} of order {order}, v = (8/x)^2",
                    lambda v, order=order, place=place: amplitudes(order, v)[place],
                    0,
                    1,
                    13,
                    constant_weight,
                )
            )
    return fits


def modified_bessel_fits() -> list[Fit]:
    """I: series in x^2 up to 8, beyond sqrt(x) exp(-x) I(x); K: up to 2 and beyond, likewise."""

    def small_k(order: int, v: mp.mpf) -> mp.mpf:
        x = mp.sqrt(v)
        if order == 0:
            return mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x)
        return (mp.besselk(1, x) - mp.log(x / 2) * mp.besseli(1, x) - 1 / x) / x

    def large(function: Callable[..., mp.mpf], order: int, sign: int, start: int) -> Function:
        def scaled(v: mp.mpf) -> mp.mpf:
            x = start / v
            if x > 10**20:
                return mp.sqrt(mp.pi / 2) if sign > 0 else 1 / mp.sqrt(2 * mp.pi)
            return mp.sqrt(x) * mp.exp(sign * x) * function(order, x)

        return scaled

    def growing(order: int, u: mp.mpf) -> mp.mpf:
        x = 8 * mp.sqrt(max(u, LIMIT))
        return mp.besseli(order, x) / x**order

    fits = []
    for order in (0, 1):
        division = " / x" if order else ""
        fits += [
            # All of its coefficients are positive: where it starts from 0, nothing cancels.
            Fit(
                f"MODIFIED_I{order}",
                f"I{order}(x){division} in u = (x/8)^2, 0 <= u <= 1",
                lambda u, order=order: growing(order, u),
                (mp.mpf(0), ONE),
                18,
                lambda u, order=order: 1 / growing(order, u),
            ),
            on_interval(
                f"MODIFIED_I{order}_LARGE",
                f"sqrt(x) exp(-x) I{order}(x), v = 8/x",
                large(mp.besseli, order, -1, 8),
                0,
                1,
                21,
            ),
            on_interval(
                f"MODIFIED_K{order}",
                "K0(x) + log(x/2) I0(x), v = x^2"
                if order == 0
                else "(K1(x) - log(x/2) I1(x) - 1/x) / x, v = x^2",
                lambda v, order=order: small_k(order, v),
                0,
                4,
                9,
                constant_weight,
            ),
            on_interval(
                f"MODIFIED_K{order}_LARGE",
                f"sqrt(x) exp(x) K{order}(x), v = 2/x",
                large(mp.besselk, order, 1, 2),
                0,
                1,
                22,
            ),
        ]
    return fits


def airy_fits() -> list[Fit]:
    """Ai: a polynomial from -4 to 2, its asymptotic forms in zeta = 2/3 |x|^(3/2) outside."""

    def right(v: mp.mpf) -> mp.mpf:
        x = 2 / v
        if x > 10**12:
            return 1 / (2 * mp.sqrt(mp.pi))
        zeta = mp.mpf(2) / 3 * x ** mp.mpf("1.5")
        return mp.airyai(x) * mp.exp(zeta) * x ** mp.mpf("0.25")

    def left(v: mp.mpf) -> tuple[mp.mpf, mp.mpf]:
        y = (64 / v) ** THIRD
        zeta = mp.mpf(2) / 3 * y ** mp.mpf("1.5")
        scale, chi = mp.sqrt(mp.pi) * y ** mp.mpf("0.25"), zeta + mp.pi / 4
        a, b = mp.airyai(-y) * scale, mp.airybi(-y) * scale
        return (
            a * mp.sin(chi) + b * mp.cos(chi),
            (b * mp.sin(chi) - a * mp.cos(chi)) * zeta,
        )

    fits = [
        on_interval("AIRY_CENTER", "Ai(v)", mp.airyai, -4, 2, 32, constant_weight),
        on_interval(
            "AIRY_RIGHT", "exp(zeta) x^(1/4) Ai(x), v = (2/x)^(3/2)",
            lambda v: right(v ** (2 * THIRD)), 0, 1, 20,
        ),
    ]  # fmt: skip
    for place, letter in enumerate("FG"):
        fits.append(
            on_interval(
                f"AIRY_{letter}",
                f"{letter}{' zeta' if place else ''} where Ai(-y) = (F sin(chi) - G cos(chi)) / "
                "(sqrt(pi) y^(1/4)), v = (4/y)^3",
                lambda v, place=place: left(v)[place],
                0,
                1,
                14,
                constant_weight,
            )
        )
    return fits


THIRD = mp.mpf(1) / 3


def quantile_fits() -> list[Fit]:
    """Of the inverse of erfc beyond the middle, where w = -log(x (2 - x)) is at least 5."""
    small, large = 1 / mp.sqrt(750), 1 / mp.sqrt(5)

    def inverse(v: mp.mpf) -> mp.mpf:
        w = 1 / v**2
        complement = mp.exp(-w) / (1 + mp.sqrt(-mp.expm1(-w)))
        y = mp.sqrt(w) - mp.log(mp.pi * w) / (4 * mp.sqrt(w))
        for _ in range(80):
            step = (mp.erfc(y) - complement) * mp.exp(y * y) * mp.sqrt(mp.pi) / 2
            y += step
            if abs(step) < mp.mpf(10) ** -40:
                break
        return y * v

    return [
        on_interval(
            "ERFC_INVERSE_TAIL",
            "y v where erfc(y) = x and v = 1 / sqrt(-log(x (2 - x)))",
            inverse, small, large, 24,
        ),
        on_interval(
            "ERFINV_MIDDLE",
            "erfinv(x) / x, v = -log(1 - x^2)",
            lambda v: erfinv_ratio(v) if v > LIMIT else mp.sqrt(mp.pi) / 2,
            0, 5, 20,
        ),
    ]  # fmt: skip


FITS = [*bessel_fits(), *modified_bessel_fits(), *airy_fits(), *quantile_fits()]


def main(names: list[str]) -> None:
    blocks = []
    for item in FITS:
        if names and item.name not in names:
            continue
        blocks.append(source_of(item, *fit(item)))
        print(blocks[-1].partition("\n" + item.name)[0], item.name, flush=True)
    if names:
        print("\n".join(blocks))
    else:
        OUTPUT.write_text(HEADER + "\n" + "\n".join(blocks) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])

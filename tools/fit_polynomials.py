"""Fit the polynomials of ``aten.loops.math`` and write them to its ``coefficients.py``.

Each polynomial minimizes the largest weighted error on its interval (Remez exchange on a fine
Chebyshev grid, in 60-digit arithmetic). The coefficients are then rounded to the type they are
used in; the error written beside them is the one after the rounding.

    python tools/fit_polynomials.py            # all of them, about two minutes
    python tools/fit_polynomials.py EXP LOG    # only these, printed, nothing written
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import mpmath as mp
import numpy as np

mp.mp.dps = 60
OUTPUT = Path(__file__).parents[1] / "src/aten/loops/math/coefficients.py"
HEADER = '''"""Polynomial coefficients, lowest power first. Written by tools/fit_polynomials.py."""
'''
POINTS_PER_COEFFICIENT = 24
LN2 = mp.log(2)

Function = Callable[[mp.mpf], mp.mpf]


@dataclass(frozen=True)
class Fit:
    """One polynomial: what it approximates, where, and how its error is weighed.

    The error reported is ``max |polynomial - function| * weight``: with the weights below it is
    the error of the finished function, relative to its value.
    """

    name: str
    meaning: str
    function: Function
    interval: tuple[mp.mpf, mp.mpf]
    degree: int
    weight: Function
    bits: int = 53
    # Units in the last place added to the last coefficient, for the rounding of the finished
    # function, which no fit sees: chosen by trying, on all arguments.
    moved: int = 0


def removable(function: Function, at_zero: object) -> Function:
    """``function`` with its limit filled in where the formula divides zero by zero."""
    return lambda x: mp.mpf(at_zero) if x == 0 else function(x)


def chebyshev_grid(interval: tuple[mp.mpf, mp.mpf], count: int) -> list[mp.mpf]:
    low, high = interval
    middle, half = (low + high) / 2, (high - low) / 2
    return [middle - half * mp.cos(mp.pi * i / (count - 1)) for i in range(count)]


def remez(
    grid: list[mp.mpf], values: list[mp.mpf], weights: list[mp.mpf], count: int
) -> list[mp.mpf]:
    """The best weighted approximation of ``values`` by ``count`` coefficients."""
    usable = [i for i, weight in enumerate(weights) if weight > 0]
    last = len(usable) - 1
    reference = [usable[last * i // count] for i in range(count + 1)]
    terms = [[x**p for p in range(count)] for x in grid]
    for _ in range(40):
        matrix = mp.matrix(count + 1, count + 1)
        right = mp.matrix(count + 1, 1)
        for row, i in enumerate(reference):
            for column in range(count):
                matrix[row, column] = terms[i][column]
            matrix[row, count] = (-1) ** row / weights[i]
            right[row] = values[i]
        solution = mp.lu_solve(matrix, right)
        coefficients = [solution[i] for i in range(count)]
        errors = [
            (mp.fdot(term, coefficients) - value) * weight
            for term, value, weight in zip(terms, values, weights, strict=True)
        ]
        worst = max(abs(error) for error in errors)
        if worst <= abs(solution[count]) * mp.mpf("1.001"):
            break
        reference = alternating_extrema(errors, count + 1) or reference
    return coefficients


def alternating_extrema(errors: list[mp.mpf], count: int) -> list[int] | None:
    """The indices of ``count`` extrema of alternating sign, the largest ones."""
    extrema: list[int] = []
    for i, error in enumerate(errors):
        if error == 0:
            continue
        if extrema and (errors[extrema[-1]] > 0) == (error > 0):
            if abs(error) > abs(errors[extrema[-1]]):
                extrema[-1] = i
        else:
            extrema.append(i)
    while len(extrema) > count:
        first, last = abs(errors[extrema[0]]), abs(errors[extrema[-1]])
        extrema.pop(0 if first < last else -1)
    return extrema if len(extrema) == count else None


def round_to(value: mp.mpf, bits: int) -> mp.mpf:
    with mp.workprec(bits):
        return +value


def fit(item: Fit) -> tuple[list[mp.mpf], mp.mpf]:
    grid = chebyshev_grid(item.interval, POINTS_PER_COEFFICIENT * (item.degree + 2))
    values = [item.function(x) for x in grid]
    weights = [abs(item.weight(x)) for x in grid]
    best = remez(grid, values, weights, item.degree + 1)
    rounded = [round_to(coefficient, item.bits) for coefficient in best]
    errors = [
        (mp.polyval(rounded[::-1], x) - value) * weight
        for x, value, weight in zip(grid, values, weights, strict=True)
    ]
    if item.bits == 53:
        return rounded, max(abs(error) for error in errors)
    adjusted, error = adjust_rounding(rounded, grid, weights, errors, item.bits)
    last = adjusted[-1]
    unit = mp.mpf(2) ** (mp.frexp(last)[1] - item.bits)
    return [*adjusted[:-1], last + item.moved * unit], error


def adjust_rounding(
    rounded: list[mp.mpf],
    grid: list[mp.mpf],
    weights: list[mp.mpf],
    errors: list[mp.mpf],
    bits: int,
) -> tuple[list[mp.mpf], mp.mpf]:
    """Move single coefficients and pairs of them by one unit while that lowers the error."""
    units = [mp.mpf(2) ** (mp.frexp(value)[1] - bits) for value in rounded]
    effects = [
        np.array([float(unit * x**power * weight) for x, weight in zip(grid, weights, strict=True)])
        for power, unit in enumerate(units)
    ]
    current = np.array([float(error) for error in errors])
    steps = [{p: sign} for p in range(len(rounded)) for sign in (-1, 1)]
    steps += [{**one, **other} for one in steps for other in steps if one.keys() < {*one, *other}]
    improved = True
    while improved:
        improved = False
        for step in steps:
            moved = current + sum(sign * effects[power] for power, sign in step.items())
            if np.abs(moved).max() < np.abs(current).max() * 0.999:
                current, improved = moved, True
                for power, sign in step.items():
                    rounded[power] += sign * units[power]
    return rounded, mp.mpf(float(np.abs(current).max()))


def odd_tail(function: Function, at_zero: object) -> Function:
    """g with ``function(x) = x + x^3 g(x^2)``."""
    return removable(lambda z: (function(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, at_zero)


def odd_weight(function: Function) -> Function:
    return removable(lambda z: z * mp.sqrt(z) / function(mp.sqrt(z)), 0)


def exp_fit(name: str, degree: int, bits: int = 53) -> Fit:
    bound = LN2 / 2 * mp.mpf("1.001")
    return Fit(
        name,
        "(exp(r) - 1 - r) / r^2, |r| <= log(2)/2",
        removable(lambda r: (mp.expm1(r) - r) / r**2, 0.5),
        (-bound, bound),
        degree,
        lambda r: r**2 / mp.exp(r),
        bits,
    )


def exp2_fit(name: str, degree: int, bits: int = 53) -> Fit:
    bound = mp.mpf("0.5005")
    return Fit(
        name,
        "(2^r - 1) / r, |r| <= 1/2",
        removable(lambda r: mp.expm1(r * LN2) / r, LN2),
        (-bound, bound),
        degree,
        lambda r: r / mp.exp(r * LN2),
        bits,
    )


def log_fit(name: str, degree: int) -> Fit:
    return Fit(
        name,
        "(2 atanh(s) - 2 s) / s^3 in z = s^2, |s| <= (sqrt(2) - 1)/(sqrt(2) + 1)",
        removable(lambda z: (2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 2) / z, mp.mpf(2) / 3),
        (mp.mpf(0), mp.mpf("0.02945")),
        degree,
        lambda z: z / 2,
    )


def log_float32_fit(
    name: str, text: str, base: mp.mpf, low: mp.mpf, high: mp.mpf, degree: int
) -> Fit:
    slope = "" if base == 1 else f" {text}(e)"
    return Fit(
        name,
        f"({text}(1 + f) - f{slope}) / f^2, {mp.nstr(low, 4)} <= f <= {mp.nstr(high, 4)}",
        removable(lambda f: (mp.log1p(f) - f) / f**2 * base, -base / 2),
        (low, high),
        degree,
        removable(lambda f: f**2 / mp.log1p(f) / base, 0),
        24,
    )


def odd_fit(
    name: str,
    text: str,
    function: Function,
    at_zero: object,
    bound: object,
    degree: int,
    bits: int = 53,
) -> Fit:
    return Fit(
        name,
        f"({text}(x) / x - 1) / z in z = x^2, z <= {mp.nstr(mp.mpf(bound), 6)}",
        odd_tail(function, at_zero),
        (mp.mpf(0), mp.mpf(bound)),
        degree,
        odd_weight(function),
        bits,
    )


def erf_fit(name: str, degree: int, bits: int = 53) -> Fit:
    """Centred at x^2 = 1/2, which halves the rounding errors of the higher terms."""
    half = mp.mpf(1) / 2
    return Fit(
        name,
        "erf(x) / x - 1 in w = x^2 - 1/2, |x| <= 1.125",
        removable(
            lambda w: mp.erf(mp.sqrt(w + half)) / mp.sqrt(w + half) - 1 if w > -half else ERF_SLOPE,
            mp.erf(mp.sqrt(half)) / mp.sqrt(half) - 1,
        ),
        (-half, mp.mpf("1.125") ** 2 - half),
        degree,
        lambda w: mp.sqrt(w + half) / mp.erf(mp.sqrt(w + half)) if w > -half else mp.mpf(1),
        bits,
    )


def ndtr_fits() -> list[Fit]:
    """The normal distribution's function, to an absolute error: that is what products with it need.

    Up to 2.125 what it adds to 1/2, centred as for erf; beyond, the tail that it leaves.
    """
    middle, half = mp.mpf("3.84375"), mp.mpf("1.71875")
    return [
        Fit(
            "NDTR_CENTER_FLOAT32",
            "(ndtr(x) - 1/2) / x in w = x^2 - 1, |x| <= 2.125",
            lambda w: mp.erf(mp.sqrt((w + 1) / 2)) / 2 / mp.sqrt(w + 1) if w > -1 else NDTR_SLOPE,
            (mp.mpf(-1), mp.mpf("2.125") ** 2 - 1),
            7,
            lambda w: mp.sqrt(w + 1),
            24,
        ),
        Fit(
            "NDTR_TAIL_FLOAT32",
            "ndtr(-(u + 3.84375)), 2.125 <= u + 3.84375 <= 5.5625",
            lambda u: mp.erfc((u + middle) / mp.sqrt(2)) / 2,
            (-half, half),
            10,
            lambda u: mp.mpf(1),
            24,
        ),
    ]


NDTR_SLOPE = 1 / mp.sqrt(2 * mp.pi)
ERF_SLOPE = 2 / mp.sqrt(mp.pi) - 1


def erfcx_fits() -> list[Fit]:
    """The first as Shepherd and Laframboise, Mathematics of Computation 36 (1981)."""

    def erfcx(x: mp.mpf) -> mp.mpf:
        return mp.exp(x * x) * mp.erfc(x)

    def scaled(t: mp.mpf) -> mp.mpf:
        x = 4 * (1 + t) / (1 - t)
        return (1 + 2 * x) * erfcx(x)

    def far_out(u: mp.mpf) -> mp.mpf:
        return erfcx(1 / mp.sqrt(u)) / mp.sqrt(u)

    return [
        Fit(
            "ERFCX",
            "(1 + 2 x) exp(x^2) erfc(x) in t = (x - 4) / (x + 4), 0 <= x <= 28",
            scaled,
            (mp.mpf(-1), mp.mpf(3) / 4),
            24,
            lambda t: 1 / scaled(t),
        ),
        Fit(
            "ERFCX_FAR",
            "x exp(x^2) erfc(x) in u = 1/x^2, 4.3 <= x <= 10.25",
            far_out,
            (1 / mp.mpf("10.25") ** 2, 1 / mp.mpf("4.3") ** 2),
            5,
            lambda u: 1 / far_out(u),
        ),
        Fit(
            "ERF_TAIL_EXPONENT",
            "log2(erfc(u + 1.125)), 0 <= u <= 4.875, for 1 - erfc",
            lambda u: mp.log(mp.erfc(u + mp.mpf("1.125")), 2),
            (mp.mpf(0), mp.mpf("4.875")),
            16,
            lambda u: mp.erfc(u + mp.mpf("1.125")) * LN2,
        ),
    ]


def even_cosine(z: mp.mpf) -> mp.mpf:
    return (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2


def trigonometric_fits(name_ending: str, degree: int) -> list[Fit]:
    bound = (mp.pi / 4) ** 2 * mp.mpf("1.001")
    return [
        odd_fit("SIN" + name_ending, "sin", mp.sin, -mp.mpf(1) / 6, bound, degree),
        Fit(
            "COS" + name_ending,
            "(cos(x) - 1 + z / 2) / z^2 in z = x^2, |x| <= pi/4",
            removable(even_cosine, mp.mpf(1) / 24),
            (mp.mpf(0), bound),
            degree,
            lambda z: z**2 / mp.cos(mp.sqrt(z)),
        ),
    ]


def fits_between_steps() -> list[Fit]:
    """What sine and cosine lack about 0, up to half a step of pi/16."""
    bound = (mp.pi / 32) ** 2 * mp.mpf("1.01")
    interval = (mp.mpf(0), bound)
    return [
        Fit(
            "SIN_FLOAT32",
            "(1 - sin(x) / x) / z in z = x^2, |x| <= pi/32",
            removable(lambda z: (1 - mp.sin(mp.sqrt(z)) / mp.sqrt(z)) / z, SIXTH),
            interval,
            1,
            odd_weight(mp.sin),
            24,
        ),
        Fit(
            "COS_FLOAT32",
            "(1 - cos(x)) / z in z = x^2, |x| <= pi/32",
            removable(lambda z: (1 - mp.cos(mp.sqrt(z))) / z, HALF),
            interval,
            1,
            lambda z: z / mp.cos(mp.sqrt(z)),
            24,
        ),
    ]


def erfinv_ratio(w: mp.mpf) -> mp.mpf:
    """erfinv(x) / x where w = -log(1 - x^2); Newton's method on erfc, which does not cancel."""
    if w == 0:
        return mp.sqrt(mp.pi) / 2
    x = mp.sqrt(-mp.expm1(-w))
    complement = mp.exp(-w) / (1 + x)
    y = mp.erfinv(mp.mpf(float(x))) if w < 30 else mp.sqrt(w) - mp.mpf("0.3")
    for _ in range(60):
        step = (mp.erfc(y) - complement) * mp.exp(y * y) * mp.sqrt(mp.pi) / 2
        y += step
        if abs(step) < mp.mpf(10) ** -40:
            break
    return y / x


def erfinv_fits() -> list[Fit]:
    """Giles, Approximating the erfinv function, GPU Computing Gems (2011): the variables."""
    return [
        Fit(
            "ERFINV_CENTER",
            "erfinv(x) / x in u = w - 2.5, w = -log(1 - x^2) <= 5",
            lambda u: erfinv_ratio(u + mp.mpf("2.5")),
            (mp.mpf("-2.5"), mp.mpf("2.5")),
            11,
            lambda u: 1 / erfinv_ratio(u + mp.mpf("2.5")),
        ),
        Fit(
            "ERFINV_TAIL",
            "erfinv(x) / x in u = sqrt(w) - 3, w = -log(1 - x^2), 5 <= w <= 37",
            lambda u: erfinv_ratio((u + 3) ** 2),
            (mp.sqrt(5) - 3, mp.sqrt(37) - 3),
            16,
            lambda u: 1 / erfinv_ratio((u + 3) ** 2),
        ),
    ]


def lgamma_fits() -> list[Fit]:
    half = mp.mpf(1) / 2

    def stirling(u: mp.mpf) -> mp.mpf:
        if u == 0:
            return mp.mpf(1) / 12
        x = 1 / mp.sqrt(u)
        leading = (x - half) * mp.log(x) - x + mp.log(2 * mp.pi) / 2
        return (mp.loggamma(x) - leading) * x

    def without_zeros(v: mp.mpf) -> mp.mpf:
        if v in (-1, 0):
            return mp.euler if v else 1 - mp.euler
        return mp.loggamma(2 + v) / (v * (v + 1))

    return [
        Fit(
            "LGAMMA",
            "lgamma(2 + v) / (v (1 + v)), |v| <= 1",
            without_zeros,
            (mp.mpf(-1), mp.mpf(1)),
            26,
            lambda v: 1 / without_zeros(v),
        ),
        Fit(
            "STIRLING",
            "x (lgamma(x) - (x - 1/2) log(x) + x - log(2 pi)/2) in 1/x^2, x >= 3",
            stirling,
            (mp.mpf(0), mp.mpf(1) / 9),
            9,
            removable(lambda u: mp.sqrt(u) / mp.loggamma(1 / mp.sqrt(u)), 0),
        ),
    ]


def digamma_fit(name: str, degree: int) -> Fit:
    def asymptotic(u: mp.mpf) -> mp.mpf:
        if u == 0:
            return mp.mpf(1) / 12
        x = 1 / mp.sqrt(u)
        return (mp.log(x) - 1 / (2 * x) - mp.digamma(x)) * x**2

    return Fit(
        name,
        "x^2 (log(x) - 1/(2 x) - digamma(x)) in 1/x^2, x >= 8",
        asymptotic,
        (mp.mpf(0), mp.mpf(1) / 64),
        degree,
        lambda u: u / 2,
    )


def sine_of_pi_fits() -> list[Fit]:
    """Of a half turn, |x| <= 1/4."""
    bound = mp.mpf(1) / 16
    return [
        Fit(
            "SINPI",
            "sin(pi x) / x in z = x^2, |x| <= 1/4",
            removable(lambda z: mp.sin(mp.pi * mp.sqrt(z)) / mp.sqrt(z), mp.pi),
            (mp.mpf(0), bound),
            7,
            removable(lambda z: mp.sqrt(z) / mp.sin(mp.pi * mp.sqrt(z)), 1 / mp.pi),
        ),
        Fit(
            "COSPI",
            "cos(pi x) in z = x^2, |x| <= 1/4",
            lambda z: mp.cos(mp.pi * mp.sqrt(z)),
            (mp.mpf(0), bound),
            7,
            lambda z: 1 / mp.cos(mp.pi * mp.sqrt(z)),
        ),
    ]


def log_tail_fit() -> Fit:
    """The part of the logarithm that `pow` takes in one float64; the rest it takes in two."""
    fifth = mp.mpf(1) / 5
    return Fit(
        "LOG_TAIL",
        "(atanh(s) / s - 1 - z / 3) / z^2 in z = s^2, |s| <= (sqrt(2) - 1)/(sqrt(2) + 1)",
        lambda z: (mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 1 - z / 3) / z**2 if z > 0 else fifth,
        (mp.mpf(0), mp.mpf("0.02945")),
        8,
        lambda z: z**2,
    )


THIRD = mp.mpf(1) / 3
SIXTH = mp.mpf(1) / 6
HALF = mp.mpf(1) / 2
TAN_BOUND = (mp.pi / 4) ** 2 * mp.mpf("1.01")
ATAN_BOUND = (mp.sqrt(2) - 1) ** 2 * mp.mpf("1.001")
NEAR_ONE = (mp.mpf(-3) / 64, mp.mpf(1) / 16, 3)
FITS = [
    exp_fit("EXP_FLOAT32", 4, 24),
    exp_fit("EXP_SHORT", 5),
    exp_fit("EXP", 9),
    exp2_fit("EXP2_FLOAT32", 5, 24),
    exp2_fit("EXP2_SHORT", 6),
    exp2_fit("EXP2", 10),
    log_float32_fit("LOG_FLOAT32", "log", mp.mpf(1), -THIRD, THIRD, 8),
    log_float32_fit("LOG_NEAR_ONE_FLOAT32", "log", mp.mpf(1), *NEAR_ONE),
    log_float32_fit("LOG2_NEAR_ONE_FLOAT32", "log2", 1 / LN2, *NEAR_ONE),
    log_float32_fit("LOG10_NEAR_ONE_FLOAT32", "log10", 1 / mp.log(10), *NEAR_ONE),
    log_fit("LOG_SHORT", 3),
    log_fit("LOG", 6),
    log_tail_fit(),
    odd_fit("ASIN_SHORT", "asin", mp.asin, SIXTH, 0.25, 7),
    odd_fit("ASIN_FLOAT32", "asin", mp.asin, SIXTH, 0.25, 4, 24),
    odd_fit("ASIN", "asin", mp.asin, SIXTH, 0.25, 13),
    odd_fit("ATAN_SHORT", "atan", mp.atan, -THIRD, ATAN_BOUND, 5),
    replace(odd_fit("ATAN_FLOAT32", "atan", mp.atan, -THIRD, 1, 9, 24), moved=20),
    odd_fit("ATAN", "atan", mp.atan, -THIRD, ATAN_BOUND, 11),
    odd_fit("SINH_SHORT", "sinh", mp.sinh, SIXTH, LN2**2 / 4, 2),
    Fit(
        "COSH_SHORT",
        "(cosh(r) - 1) / z in z = r^2, |r| <= log(2)/2",
        removable(lambda z: (mp.cosh(mp.sqrt(z)) - 1) / z, HALF),
        (mp.mpf(0), LN2**2 / 4),
        2,
        lambda z: z,
    ),
    odd_fit("SINH", "sinh", mp.sinh, SIXTH, 1, 6),
    *erfinv_fits(),
    Fit(
        "TANH_FLOAT32",
        "(tanh(x) / x - 1) / z in z = x^2, |x| <= 0.551",
        odd_tail(mp.tanh, -THIRD),
        (mp.mpf(0), mp.mpf("0.3036")),
        4,
        odd_weight(mp.tanh),
        24,
    ),
    Fit(
        "ATANH_FLOAT32",
        "(atanh(s) / s - 1) / z in z = s^2, |s| <= 0.29",
        odd_tail(mp.atanh, THIRD),
        (mp.mpf(0), mp.mpf("0.0841")),
        3,
        odd_weight(mp.atanh),
        24,
    ),
    *lgamma_fits(),
    *sine_of_pi_fits(),
    digamma_fit("DIGAMMA", 8),
    *trigonometric_fits("_SHORT", 3),
    *trigonometric_fits("", 5),
    *fits_between_steps(),
    odd_fit("TAN_FLOAT32", "tan", mp.tan, THIRD, TAN_BOUND, 6, 24),
    erf_fit("ERF_CENTER_FLOAT32", 7, 24),
    erf_fit("ERF_CENTER", 13),
    *erfcx_fits(),
    *ndtr_fits(),
]


def bits_of_two_over_pi() -> str:
    """64 zeros, then the bits of 2/pi after its point, as 64-bit words."""
    mp.mp.dps = 500
    digits = int(mp.floor(2 / mp.pi * mp.mpf(2) ** (64 * 19)))
    mp.mp.dps = 60
    words = [0] + [digits >> (64 * i) & (2**64 - 1) for i in reversed(range(19))]
    signed = [word - 2**64 if word >> 63 else word for word in words]
    lines = [f"    {word:#x}," for word in signed]
    return "\n".join(["# 64 zeros, then the bits of 2/pi", "TWO_OVER_PI_WORDS = (", *lines, ")"])


def chunks_of_turns() -> str:
    """1/(2 pi) as a sum of numbers of 29 bits each."""
    mp.mp.dps = 120
    rest, lines = 1 / (2 * mp.pi), []
    for chunk in range(1, 8):
        unit = mp.mpf(2) ** -(2 + 29 * chunk)
        part = mp.floor(rest / unit) * unit
        lines.append(f"    {float(part)!r},")
        rest -= part
    mp.mp.dps = 60
    return "\n".join(["# 1/(2 pi) in parts of 29 bits", "TURN_CHUNKS = (", *lines, ")"])


def source_of(item: Fit, coefficients: list[mp.mpf], error: mp.mpf) -> str:
    lines = [f"# {item.meaning}: error 2^{mp.nstr(mp.log(error, 2), 4)}", f"{item.name} = ("]
    lines += [f"    {float(coefficient)!r}," for coefficient in coefficients]
    return "\n".join([*lines, ")"])


def main(names: list[str]) -> None:
    chosen = [item for item in FITS if not names or item.name in names]
    blocks = []
    for item in chosen:
        blocks.append(source_of(item, *fit(item)))
        print(blocks[-1].splitlines()[0], item.name, flush=True)
    if names:
        print("\n".join(blocks))
    else:
        blocks += [chunks_of_turns(), bits_of_two_over_pi()]
        OUTPUT.write_text(HEADER + "\n" + "\n".join(blocks) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])

"""The math functions against mpmath, on samples and at the edges.

All inputs of float32 are gone through by ``benchmarks/accuracy.py``; these tests are quick.
"""

from __future__ import annotations

import importlib.util
import math
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from expression_standin import evaluate, load_expansions

EXPANSIONS = load_expansions()
SAMPLES = 150
MANTISSA_BITS = {"float32": 24, "float64": 53}
EXTREMES = {"float32": (-149, 128), "float64": (-1074, 1024)}


@dataclass(frozen=True)
class Case:
    """A function, its reference, the error it may have in ULP, and where it is sampled."""

    name: str
    reference: Callable[[mp.mpf], mp.mpf]
    float32: float
    float64: float
    low: float = -math.inf
    high: float = math.inf
    largest_unit_from: float = 0.0  # errors are counted in ULP of at least this number


TRIGONOMETRIC = {"sin", "cos", "tan"}
CASES = [
    Case("acos", mp.acos, 0.78, 2, -1, 1),
    Case("acosh", mp.acosh, 0.51, 3, 1),
    Case("asin", mp.asin, 0.72, 2, -1, 1),
    Case("asinh", mp.asinh, 0.51, 3),
    Case("atan", mp.atan, 0.97, 2),
    Case("atanh", mp.atanh, 0.8, 3, -1, 1),
    Case("cosh", mp.cosh, 0.51, 2, -800, 800),
    Case("cos", mp.cos, 0.87, 1),
    Case("digamma", mp.digamma, 0.51, 8, -40, largest_unit_from=1.0),
    Case("erf", mp.erf, 0.9, 1),
    Case("erfc", mp.erfc, 0.93, 4, -30, 30),
    Case("erfinv", mp.erfinv, 0.97, 3, -1, 1),
    Case("exp", mp.exp, 0.9, 1, -800, 800),
    Case("exp2", lambda x: mp.mpf(2) ** x, 0.91, 1, -1100, 1100),
    Case("expm1", mp.expm1, 0.51, 2, -800, 800),
    Case("lgamma", lambda x: mp.re(mp.loggamma(x)), 0.51, 6, -40, largest_unit_from=1.0),
    Case("log", mp.log, 0.88, 1, 0),
    Case("log10", mp.log10, 0.97, 1, 0),
    Case("log1p", mp.log1p, 0.94, 2, -1),
    Case("log2", lambda x: mp.log(x, 2), 0.94, 1, 0),
    Case("ndtr", mp.ncdf, 0.9, 3, -40, 40, largest_unit_from=1.0),
    Case("sigmoid", lambda x: 1 / (1 + mp.exp(-x)), 0.89, 3, -800, 800),
    Case("rsqrt", lambda x: 1 / mp.sqrt(x), 0.58, 1, 0),
    Case("sinh", mp.sinh, 0.51, 2, -800, 800),
    Case("sin", mp.sin, 0.87, 1),
    Case("sqrt", mp.sqrt, 0.5, 0.5, 0),
    Case("tan", mp.tan, 0.99, 3),
    Case("tanh", mp.tanh, 0.95, 3),
]


def samples(case: Case, dtype: str) -> np.ndarray:
    """Random numbers of every magnitude inside the case's interval, most of them around 1."""
    random = np.random.default_rng(1)
    low, high = EXTREMES[dtype]
    exponents = np.concatenate(
        [random.integers(low, high, SAMPLES), random.integers(-12, 12, 3 * SAMPLES)]
    )
    magnitudes = np.ldexp(random.uniform(0.5, 1.0, exponents.size), exponents)
    uniform = random.uniform(max(case.low, -20.0), min(case.high, 20.0), 2 * SAMPLES)
    near_one = np.concatenate(
        [1.0 - 2.0 ** -np.arange(3.0, 24.0), 1.0 + 2.0 ** -np.arange(3.0, 24.0)]
    )
    values = np.concatenate([magnitudes, -magnitudes, uniform, near_one, -near_one]).astype(dtype)
    return values[(values > case.low) & (values < case.high)]


def unit_in_the_last_place(exact: mp.mpf, dtype: str) -> mp.mpf:
    lowest, _ = EXTREMES[dtype]
    exponent = mp.frexp(exact)[1] if exact else lowest
    return mp.mpf(2) ** max(exponent - MANTISSA_BITS[dtype], lowest)


def error_in_ulp(
    computed: float, exact: mp.mpf, dtype: str, largest_unit_from: float = 0.0
) -> float:
    overflow = mp.mpf(2) ** EXTREMES[dtype][1]
    if mp.isnan(exact):
        return 0.0 if math.isnan(computed) else math.inf
    limited = mp.mpf(max(min(exact, overflow), -overflow))
    value = mp.sign(computed) * overflow if math.isinf(computed) else mp.mpf(computed)
    largest = overflow - overflow / 2 ** MANTISSA_BITS[dtype]
    scale = max(min(abs(limited), largest), mp.mpf(largest_unit_from))
    unit = unit_in_the_last_place(scale, dtype)
    return float(abs(value - limited) / unit)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_error_is_within_its_bound(case: Case, dtype: str) -> None:
    x = samples(case, dtype)
    computed = evaluate(EXPANSIONS[case.name], x)
    assert computed.dtype == x.dtype
    with mp.workdps(400 if case.name in TRIGONOMETRIC else 60):
        errors = [
            error_in_ulp(
                float(value),
                case.reference(mp.mpf(float(argument))),
                dtype,
                case.largest_unit_from,
            )
            for argument, value in zip(x, computed, strict=True)
        ]
    worst = int(np.argmax(errors))
    bound = getattr(case, dtype)
    assert errors[worst] <= bound, f"{case.name}({float(x[worst]).hex()}): {errors[worst]:.4} ULP"


INF, NAN, PI = math.inf, math.nan, math.pi
ODD_ZEROS = [(0.0, 0.0), (-0.0, -0.0), (NAN, NAN)]
LOGARITHM = [
    (0.0, -INF),
    (-0.0, -INF),
    (1.0, 0.0),
    (INF, INF),
    (-INF, NAN),
    (-1.0, NAN),
    (NAN, NAN),
]
EDGES: dict[str, list[tuple[float, float]]] = {
    "acos": [(1.0, 0.0), (-1.0, PI), (0.0, PI / 2), (2.0, NAN), (-INF, NAN), (NAN, NAN)],
    "acosh": [(1.0, 0.0), (0.5, NAN), (-1e30, NAN), (-INF, NAN), (INF, INF), (NAN, NAN)],
    "asin": [*ODD_ZEROS, (1.0, PI / 2), (-1.0, -PI / 2), (2.0, NAN), (-INF, NAN)],
    "asinh": [*ODD_ZEROS, (INF, INF), (-INF, -INF)],
    "atan": [*ODD_ZEROS, (INF, PI / 2), (-INF, -PI / 2), (1.0, PI / 4)],
    "atanh": [*ODD_ZEROS, (1.0, INF), (-1.0, -INF), (2.0, NAN), (-INF, NAN)],
    "cosh": [(0.0, 1.0), (INF, INF), (-INF, INF), (NAN, NAN), (1e30, INF)],
    "cos": [(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN), (NAN, NAN)],
    "digamma": [(0.0, -INF), (-0.0, INF), (-1.0, NAN), (INF, INF), (-INF, NAN), (NAN, NAN)],
    "erf": [*ODD_ZEROS, (INF, 1.0), (-INF, -1.0), (1e30, 1.0)],
    "erfc": [(0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, 2.0), (NAN, NAN), (1e30, 0.0)],
    "ndtr": [(0.0, 0.5), (-0.0, 0.5), (INF, 1.0), (-INF, 0.0), (-1e30, 0.0)],
    "erfinv": [*ODD_ZEROS, (1.0, INF), (-1.0, -INF), (1.5, NAN), (-INF, NAN)],
    "exp": [
        (0.0, 1.0),
        (-0.0, 1.0),
        (INF, INF),
        (-INF, 0.0),
        (NAN, NAN),
        (1e30, INF),
        (-1e30, 0.0),
    ],
    "exp2": [(0.0, 1.0), (INF, INF), (-INF, 0.0), (NAN, NAN), (10.0, 1024.0), (-149.0, 2.0**-149)],
    "expm1": [*ODD_ZEROS, (INF, INF), (-INF, -1.0)],
    "lgamma": [
        *[(0.0, INF), (-0.0, INF), (1.0, 0.0), (2.0, 0.0), (-1.0, INF), (-7.0, INF)],
        *[(INF, INF), (-INF, INF), (NAN, NAN), (-1e30, INF)],
    ],
    "log": LOGARITHM,
    "log10": [*LOGARITHM, (1000.0, 3.0)],
    "log1p": [*ODD_ZEROS, (-1.0, -INF), (INF, INF), (-INF, NAN), (-2.0, NAN)],
    "log2": [*LOGARITHM, (2.0**-149, -149.0)],
    "sigmoid": [(0.0, 0.5), (-0.0, 0.5), (INF, 1.0), (-INF, 0.0), (NAN, NAN)],
    "rsqrt": [(0.0, INF), (-0.0, -INF), (4.0, 0.5), (INF, 0.0), (-1.0, NAN), (NAN, NAN)],
    "sinh": [*ODD_ZEROS, (INF, INF), (-INF, -INF), (-1e30, -INF)],
    "sin": [*ODD_ZEROS, (INF, NAN), (-INF, NAN)],
    "sqrt": [(0.0, 0.0), (-0.0, -0.0), (4.0, 2.0), (INF, INF), (-1.0, NAN), (NAN, NAN)],
    "tan": [*ODD_ZEROS, (INF, NAN), (-INF, NAN)],
    "tanh": [*ODD_ZEROS, (INF, 1.0), (-INF, -1.0), (1e30, 1.0), (-1e30, -1.0)],
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", sorted(EDGES))
def test_edges(name: str, dtype: str) -> None:
    x, expected = np.array(EDGES[name], dtype).T
    computed = evaluate(EXPANSIONS[name], x)
    np.testing.assert_array_equal(computed, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(computed[numbers]), np.signbit(expected[numbers]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", sorted(EDGES))
def test_what_is_no_number_stays_none(name: str, dtype: str) -> None:
    """Whatever bits it has."""
    integer = np.dtype(dtype.replace("float", "uint"))
    mantissa = np.finfo(dtype).nmant
    ones = np.array([2**bit for bit in range(mantissa)] + [2**mantissa - 1, 0x7A2], integer)
    quiet = integer.type(2**mantissa * (2 ** (8 * integer.itemsize - mantissa - 1) - 1))
    bits = np.concatenate([ones | quiet, ones | quiet | integer.type(1 << (mantissa - 1))])
    bits = np.concatenate([bits, bits | integer.type(1 << (8 * integer.itemsize - 1))])
    assert np.isnan(evaluate(EXPANSIONS[name], bits.view(dtype))).all()


def test_every_expansion_is_tested() -> None:
    assert {case.name for case in CASES} == set(EDGES) == set(EXPANSIONS) - set(BINARY)


BINARY = {
    "pow": (mp.power, np.power, 0.51, 2.0),
    "atan2": (mp.atan2, np.arctan2, 1.02, 3.0),
    "fmod": (lambda x, y: x - abs(y) * mp.floor(x / abs(y)), np.fmod, 0.0, 0.0),
}
SPECIAL = [0.0, 1.0, 2.0, 3.0, 0.5, 1e-300, 1e300, 2.0**60 + 2.0**8, INF, NAN]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", sorted(BINARY))
def test_edges_of_two_arguments_are_those_of_c(name: str, dtype: str) -> None:
    with np.errstate(over="ignore"):
        values = np.array(SPECIAL + [-value for value in SPECIAL]).astype(dtype)
    x, y = (grid.ravel() for grid in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        expected = BINARY[name][1](x, y)
    computed = evaluate(EXPANSIONS[name], x, y)
    np.testing.assert_allclose(computed, expected, rtol=4 * float(np.finfo(dtype).eps))
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(computed[numbers]), np.signbit(expected[numbers]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", sorted(BINARY))
def test_error_of_two_arguments_is_within_its_bound(name: str, dtype: str) -> None:
    reference, _, *bounds = BINARY[name]
    random = np.random.default_rng(2)
    exponents = random.integers(-40, 40, (2, 3 * SAMPLES))
    x, y = np.ldexp(random.uniform(0.5, 1.0, exponents.shape), exponents).astype(dtype)
    near_one = (1 + random.uniform(-0.3, 0.3, 2 * SAMPLES)).astype(dtype)
    limit = 88.0 if dtype == "float32" else 709.0
    fitting = (random.uniform(-limit, limit, near_one.size) / np.log(near_one)).astype(dtype)
    x, y = np.concatenate([x, near_one]), np.concatenate([y, fitting])
    if name == "atan2":
        x, y = (
            x * random.choice([-1, 1], x.size).astype(dtype),
            y * random.choice([-1, 1], x.size).astype(dtype),
        )
    computed = evaluate(EXPANSIONS[name], x, y)
    with mp.workdps(60):
        errors = [
            error_in_ulp(float(value), reference(mp.mpf(float(left)), mp.mpf(float(right))), dtype)
            for left, right, value in zip(x, y, computed, strict=True)
        ]
    worst = int(np.argmax(errors))
    assert errors[worst] <= bounds[dtype == "float64"], (x[worst], y[worst], errors[worst])


# Arguments next to multiples of pi/2, the closest of their formats (Muller, Elementary Functions).
HARD_ANGLES = {
    "float32": [16367173.0 * 2.0**72, 1.5707964, 3.1415927, 113.09734, 8.0e30],
    "float64": [6381956970095103.0 * 2.0**797, math.pi / 2, math.pi, 1e22, 2.0**20, 2.0**1023],
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", sorted(TRIGONOMETRIC))
def test_hard_angles(name: str, dtype: str) -> None:
    case = next(case for case in CASES if case.name == name)
    x = np.array(HARD_ANGLES[dtype], dtype)
    computed = evaluate(EXPANSIONS[name], x)
    with mp.workdps(400):
        for argument, value in zip(x, computed, strict=True):
            exact = case.reference(mp.mpf(float(argument)))
            assert error_in_ulp(float(value), exact, dtype) <= getattr(case, dtype)


def test_committed_coefficients_are_what_the_tool_fits() -> None:
    path = Path(__file__).parents[2] / "tools/fit_polynomials.py"
    spec = importlib.util.spec_from_file_location("fit_polynomials", path)
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    sys.modules["fit_polynomials"] = tool
    with mp.workdps(60):
        spec.loader.exec_module(tool)
        committed = tool.OUTPUT.read_text()
        names = re.findall(r"^([A-Z0-9_]+) = \($", committed, re.MULTILINE)
        assert names[: len(tool.FITS)] == [item.name for item in tool.FITS]
        for item in tool.FITS[:3]:
            assert tool.source_of(item, *tool.fit(item)) in committed

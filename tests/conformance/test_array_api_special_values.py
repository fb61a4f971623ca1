"""The standard's special cases, from the tables in `array_api_special_values.py`.

Each case is tried in float32 and float64, alone, within a long row, as an operator and in place, so
that no path of a kernel is missed.
"""

import math
from itertools import product

import numpy as np
import pytest
from array_api_special_values import BINARY, COMPLEX, UNARY
from test_array_api_elementwise import SLOTS

from aten import array_api as xp

INF, NAN = math.inf, math.nan
POSITIVE = [1.0, 2.0, 3.0, 0.25, 2.5, 1e-30, 1e30]
_NAN = [NAN]
WORDS = {
    "0": [0.0],
    "-0": [-0.0],
    "inf": [INF],
    "-inf": [-INF],
    "nan": _NAN,
    "-nan": [math.copysign(NAN, -1.0)],
    "pos": POSITIVE,
    "neg": [-v for v in POSITIVE],
    "zero": [0.0, -0.0],
    "±inf": [INF, -INF],
    "nonzero": [*POSITIVE, *(-v for v in POSITIVE)],
    ">1": [1.5, 2.0, 1e30, INF],
    "<1": [0.5, 0.0, -0.0, -2.0, -INF],
    "<-1": [-1.5, -2.0, -1e30, -INF],
    "small": [0.5, -0.5, 0.0, -0.0, 1e-30],
    "+odd": [1.0, 3.0, 5.0],
    "-odd": [-1.0, -3.0, -5.0],
    "+even": [2.0, 4.0, 1e30],
    "-even": [-2.0, -4.0, -1e30],
    "+half": [0.5, 2.5],
    "-half": [-0.5, -2.5],
}
WORDS["fin"] = WORDS["nonzero"] + WORDS["zero"]
WORDS["odd"] = WORDS["+odd"] + WORDS["-odd"]
WORDS["even"] = WORDS["+even"] + WORDS["-even"]
WORDS["any_but_nan"] = WORDS["fin"] + WORDS["±inf"]
WORDS["any"] = WORDS["any_but_nan"] + _NAN


def values(word):
    return WORDS[word] if word in WORDS else [float(word)]


def is_same(found, expected):
    """Equal with the sign of zero; NaN is NaN."""
    if math.isnan(expected):
        return math.isnan(found)
    return found == expected and math.copysign(1, found) == math.copysign(1, expected)


def matches(found, result, arguments):
    """Whether a real result is what the table says."""
    x, y = (*arguments, None)[:2]
    named = {"x": x, "y": y, "|x|": abs(x), "-|x|": -abs(x), "|y|": None if y is None else abs(y)}
    if result in ("true", "false"):
        return found is (result == "true")
    if result in ("+nan", "-nan"):
        return math.isnan(found) and math.copysign(1, found) == (1 if result == "+nan" else -1)
    if result in named:
        return is_same(found, named[result])
    if result.startswith("?"):
        return matches(abs(found), result[1:], arguments)
    if result.endswith("?"):
        return matches(abs(found), result[:-1], arguments)
    if result.startswith("~"):
        return math.isclose(found, multiple_of_pi(result[1:]), rel_tol=1e-5)
    return is_same(found, float(result))


def multiple_of_pi(text):
    upper, _, lower = text.partition("/")
    factor = upper.removesuffix("pi")
    return math.pi * float({"": 1, "-": -1}.get(factor, factor)) / float(lower or 1)


def cases(table):
    return [
        pytest.param(name, case, id=f"{name} {case}")
        for name, listed in table.items()
        for case in listed
    ]


def rows(function, columns):
    """What the function gives: of each element alone, and of a row with many others."""
    arrays = [xp.asarray(column) for column in columns]
    yield function(*arrays)
    yield xp.stack([function(*(a[i] for a in arrays)) for i in range(arrays[0].size)])
    yield function(*(xp.tile(a, (40,)) for a in arrays))[: arrays[0].size]
    yield function(*(xp.stack([a, a], axis=1)[:, 0] for a in arrays))


def check(function, names, words, result):
    arguments = [*product(*(values(word) for word in words))]
    for dtype in names:
        columns = [np.asarray(column, dtype) for column in zip(*arguments, strict=True)]
        exact = [*zip(*(column.tolist() for column in columns), strict=True)]
        for found in rows(function, columns):
            for given, one in zip(exact, found.tolist(), strict=True):
                assert matches(one, result, given), f"{dtype} {given}: {one}, expected {result}"


@pytest.mark.parametrize(("name", "case"), cases(UNARY))
def test_unary(name, case):
    words, _, result = case.partition(": ")
    check(getattr(xp, name), ["float32", "float64"], words.split(), result)


@pytest.mark.parametrize(("name", "case"), cases(BINARY))
def test_binary(name, case):
    words, _, result = case.partition(": ")
    check(getattr(xp, name), ["float32", "float64"], words.split(), result)


@pytest.mark.parametrize(
    ("name", "case"), cases({name: BINARY[name] for name in BINARY if name in SLOTS})
)
def test_operators(name, case):
    words, _, result = case.partition(": ")
    slot = SLOTS[name]
    check(lambda x, y: getattr(x, slot)(y), ["float64"], words.split(), result)
    if name not in ("equal", "not_equal"):
        check(lambda x, y: in_place(slot, x, y), ["float32"], words.split(), result)


def in_place(slot, x, y):
    x = xp.asarray(x, copy=True)
    return getattr(x, f"__i{slot[2:]}")(y)


def complex_matches(found, result, z):
    """Whether a complex result is what the table says."""
    if result == "inf*cis":
        return is_scaled(found.real, math.cos(z.imag)) and is_scaled(found.imag, math.sin(z.imag))
    if result == "0*cis":
        return is_same(found.real, math.copysign(0.0, math.cos(z.imag))) and is_same(
            found.imag, math.copysign(0.0, math.sin(z.imag))
        )
    real, imaginary = result.split()
    if imaginary == "0*sin":
        imaginary = "-0" if math.sin(z.imag) < 0 else "0"
    return matches(found.real, real, (z.real,)) and matches(found.imag, imaginary, (z.imag,))


def is_scaled(found, direction):
    return math.isinf(found) and math.copysign(1, found) == math.copysign(1, direction)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize(("name", "case"), cases(COMPLEX))
def test_complex(name, case, dtype):
    words, _, result = case.partition(": ")
    real, imaginary = (values(word) for word in words.split())
    given = [complex(a, abs(b)) for a, b in product(real, imaginary)]
    array = np.asarray(given, dtype)
    function = getattr(xp, name)
    exact = array.tolist()
    for found in rows(function, [array]):
        for z, one in zip(exact, found.tolist(), strict=True):
            assert complex_matches(one, result, z), f"{z}: {one}, expected {result}"
    if name == "sign":
        return
    mirrored = function(xp.asarray(array.conj())).tolist()
    for z, one in zip(exact, mirrored, strict=True):
        assert complex_matches(one.conjugate(), result, z), f"conj of {z}: {one}, not {result}"


# Functions that the standard defines by others: f(z) = -i g(iz).
TURNED = {"asin": "asinh", "atan": "atanh", "sin": "sinh", "tan": "tanh"}
GRID = [*WORDS["±inf"], NAN, 0.0, -0.0, 1.0, -1.0, 2.5, -0.25]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", [*TURNED, "cos"])
def test_functions_by_others(name, dtype):
    z = np.asarray([complex(a, b) for a, b in product(GRID, GRID)], dtype)
    turned = np.empty_like(z)
    turned.real, turned.imag = -z.imag, z.real
    found = np.asarray(getattr(xp, name)(xp.asarray(z)))
    other = np.asarray(getattr(xp, TURNED.get(name, "cosh"))(xp.asarray(turned)))
    if name == "cos":
        pairs = (("real", found.real, other.real), ("imag", found.imag, other.imag))
    else:
        pairs = (("real", found.real, other.imag), ("imag", found.imag, -other.real))
    for part, mine, expected in pairs:
        for value, one, another in zip(z, mine, expected, strict=True):
            if math.isinf(value.imag) and not math.isfinite(value.real):
                one, another = abs(one), abs(another)  # the sign is open
            close = np.isclose(one, another, rtol=1e-5, atol=0, equal_nan=True)
            assert close, f"{part} of {name}({value}): {one}, expected {another}"


@pytest.mark.parametrize("name", ["log2", "log10"])
def test_logarithms_by_the_natural_one(name):
    z = np.asarray([complex(a, b) for a, b in product(GRID, GRID)])
    found = np.asarray(getattr(xp, name)(xp.asarray(z)))
    natural = np.asarray(xp.log(xp.asarray(z)))
    base = math.log(float(name[3:]))
    for mine, expected in ((found.real, natural.real / base), (found.imag, natural.imag / base)):
        np.testing.assert_allclose(mine, expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_predicates_and_size_of_complex_numbers(dtype):
    z = np.asarray([complex(a, b) for a, b in product(GRID, GRID)], dtype)
    x = xp.asarray(z)
    parts = [*zip(z.real.tolist(), z.imag.tolist(), strict=True)]
    assert xp.isnan(x).tolist() == [math.isnan(a) or math.isnan(b) for a, b in parts]
    assert xp.isinf(x).tolist() == [math.isinf(a) or math.isinf(b) for a, b in parts]
    assert xp.isfinite(x).tolist() == [math.isfinite(a) and math.isfinite(b) for a, b in parts]
    for (a, b), size in zip(parts, xp.abs(x).tolist(), strict=True):
        expected = INF if math.isinf(a) or math.isinf(b) else math.hypot(a, b)
        assert size == pytest.approx(expected, rel=1e-6, nan_ok=True)


def test_rounding_of_complex_numbers_is_by_parts():
    halves = [0.5, -0.5, 1.5, 2.5, -1.5, INF, -INF, NAN, 0.0, -0.0, 7.25]
    z = np.asarray([complex(a, b) for a, b in product(halves, halves)])
    found = np.asarray(xp.round(xp.asarray(z)))
    np.testing.assert_array_equal(found.real, np.round(z.real))
    np.testing.assert_array_equal(np.signbit(found.imag), np.signbit(z.imag))


def test_folds_of_special_values():
    nan, empty = xp.asarray([1.0, NAN, 2.0]), xp.zeros((0,))
    for name in ("max", "min", "sum", "prod", "mean", "std", "var"):
        assert math.isnan(float(getattr(xp, name)(nan))), name
    for name in ("mean", "std", "var"):
        assert math.isnan(float(getattr(xp, name)(empty))), name
    assert float(xp.sum(empty)) == 0
    assert float(xp.prod(empty)) == 1
    assert bool(xp.all(empty))
    assert not bool(xp.any(empty))
    assert bool(xp.all(nan))
    assert bool(xp.any(xp.asarray([NAN])))
    assert math.isnan(float(xp.var(xp.asarray([1.0]), correction=1)))

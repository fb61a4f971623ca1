"""Special functions against torch's, or against mpmath where torch's own are far off."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import pytest
from comparison import compare, from_torch, torch

import aten

POINTS = [0.0, 0.1, 0.5, 1.0, 1.9, 2.0, 2.1, 3.9, 4.1, 7.9, 8.1, 11.0, 27.9, 28.1, 50.0, 300.0]
INFINITE = [math.inf, -math.inf, math.nan]
SIGNED = [*POINTS, *(-point for point in POINTS), *INFINITE]

# The exact function, its arguments, and the absolute error a float64 result may have.
EXACT: dict[str, tuple[Any, list[float], float]] = {
    "bessel_j0": (lambda x: mpmath.besselj(0, x), SIGNED[:-3], 2e-15),
    "bessel_j1": (lambda x: mpmath.besselj(1, x), SIGNED[:-3], 2e-15),
    "bessel_y0": (lambda x: mpmath.bessely(0, x), POINTS[1:], 4e-15),
    "bessel_y1": (lambda x: mpmath.bessely(1, x), POINTS[1:], 8e-15),
    "i0": (lambda x: mpmath.besseli(0, x), SIGNED[:-3], 0),
    "i0e": (lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)), SIGNED[:-3], 0),
    "i1": (lambda x: mpmath.besseli(1, x), SIGNED[:-3], 0),
    "i1e": (lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)), SIGNED[:-3], 0),
    "modified_bessel_k0": (lambda x: mpmath.besselk(0, x), POINTS[1:], 0),
    "modified_bessel_k1": (lambda x: mpmath.besselk(1, x), POINTS[1:], 0),
    "scaled_modified_bessel_k0": (
        lambda x: mpmath.besselk(0, x) * mpmath.exp(x), POINTS[1:], 0,
    ),
    "scaled_modified_bessel_k1": (
        lambda x: mpmath.besselk(1, x) * mpmath.exp(x), POINTS[1:], 0,
    ),
    "spherical_bessel_j0": (mpmath.sinc, SIGNED[:-3], 1e-16),
    "airy_ai": (mpmath.airyai, [x for x in SIGNED[:-3] if x < 60], 1e-13),
    "erfcx": (
        lambda x: mpmath.exp(mpmath.mpf(x) ** 2) * mpmath.erfc(x),
        [x for x in SIGNED[:-3] if x > -26],
        0,
    ),
    "ndtr": (mpmath.ncdf, [x for x in SIGNED[:-3] if x > -12], 0),
    "log_ndtr": (lambda x: mpmath.log(mpmath.ncdf(x)), [x for x in SIGNED[:-3] if x < 8], 0),
    "ndtri": (
        lambda x: mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf(x) - 1),
        [1e-300, 1e-30, 1e-9, 0.003, 0.2, 0.4, 0.6, 0.97, 1 - 2.0**-50],
        1e-15,
    ),
}  # fmt: skip
# Limits at infinity, where torch gives NaN.
LIMITS = {
    **dict.fromkeys(("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "airy_ai"), 0.0),
    **dict.fromkeys(("i0", "i1", "modified_bessel_i0", "modified_bessel_i1"), math.inf),
}
UNARY = [*EXACT, "modified_bessel_i0", "modified_bessel_i1", "entr", "psi", "gammaln", "expit"]
POLYNOMIALS = [
    *(f"{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"),
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
]


def special(library: Any, name: str) -> Any:
    return getattr(library.special, name)


@pytest.mark.parametrize("name", EXACT)
def test_values(name: str) -> None:
    """In float64 to a few units in the last place; in float32 to less than one."""
    exact, points, absolute = EXACT[name]
    for element, relative in ((aten.float64, 4e-14), (aten.float32, 2.0**-23)):
        arguments = aten.tensor(points, dtype=element)
        computed = special(aten, name)(arguments).tolist()
        for x, value in zip(arguments.tolist(), computed, strict=True):
            with mpmath.workdps(60):
                right = exact(x) if not (name == "ndtri" and x < 1e-17) else None
            if right is None or abs(right) < 1e-300 or abs(right) > 1e300:
                continue
            if element is aten.float32 and not 1.2e-38 < abs(right) < 3.4e38:
                continue
            error = abs(value - right)
            assert error <= max(relative * abs(right), absolute), (name, x, value, float(right))


@pytest.mark.parametrize("name", UNARY)
def test_edges_types_and_layouts(name: str) -> None:
    """Infinities, zeros and NaN; which types there are; strides, out=."""
    infinite = [math.nan] if name in LIMITS else INFINITE
    with_edges = torch.tensor([*infinite, 0.0, -0.0, 1.0, -1.0, 2.0, 0.25])
    if name in LIMITS:
        assert special(aten, name)(aten.tensor(math.inf)).item() == LIMITS[name]
    compare(lambda lib, x: special(lib, name)(x), with_edges, tolerance=1e-5, absolute=1e-6)
    for dtype in (torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.complex64):
        loose = 1e-2 if dtype in (torch.float16, torch.bfloat16) else 1e-5
        compare(lambda lib, x: special(lib, name)(x), torch.tensor([1, 2]).to(dtype),
                tolerance=loose, absolute=loose)  # fmt: skip
    grid = (torch.arange(24, dtype=torch.float32) / 5 + 0.1).reshape(4, 6)
    for layout in (grid.t(), grid[::2, 1::3], grid[:0], grid[0, 0]):
        compare(lambda lib, x: special(lib, name)(x), layout, tolerance=1e-5, absolute=1e-6)
    out = aten.empty(0)
    special(aten, name)(from_torch(grid), out=out)
    assert out.shape == (4, 6)


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_orthogonal_polynomials(name: str) -> None:
    x = torch.tensor([-3.0, -1.0, -0.7, 0.0, 0.3, 1.0, 1.5], dtype=torch.float64).reshape(-1, 1)
    n = torch.tensor([-1, 0, 1, 2, 3, 7, 10], dtype=torch.float64)
    close = {"tolerance": 1e-9, "absolute": 1e-9}
    compare(lambda lib, x, n: special(lib, name)(x, n), x, n, **close)
    compare(lambda lib, x: special(lib, name)(x, 4), x, **close)
    compare(lambda lib, n: special(lib, name)(0.25, n), n, **close)
    compare(
        lambda lib, x, n: special(lib, name)(x, n),
        x.long(),
        n.long(),
        tolerance=1e-5,
        absolute=1e-6,
    )
    compare(lambda lib, x: special(lib, name)(x, 2), torch.ones(2, dtype=torch.float16))
    on_meta = special(aten, name)(aten.empty(3, 1, device="meta"), aten.empty(4, device="meta"))
    assert (on_meta.shape, on_meta.dtype) == ((3, 4), aten.float32)


def test_degrees_that_would_never_end_are_refused() -> None:
    with pytest.raises(RuntimeError, match="degrees up to"):
        aten.special.legendre_polynomial_p(aten.tensor([0.5]), 1e18)


@pytest.mark.parametrize("name", ["igamma", "igammac"])
def test_incomplete_gamma(name: str) -> None:
    shape = torch.tensor([0.0, 0.01, 0.5, 1, 3, 20, 150, 2000, 1e5, math.inf, -1])
    shape = shape.double().reshape(-1, 1)
    x = torch.tensor([0.0, 0.02, 0.7, 1, 3, 18, 160, 2100, 1e5, math.inf, -1]).double()
    compare(lambda lib, a, x: getattr(lib, name)(a, x), shape, x, tolerance=1e-9, absolute=1e-12)
    compare(lambda lib, a: getattr(lib, name)(a, a), torch.arange(3))
    large = torch.tensor([1e6, 2e6, 1e9]).double()
    compare(lambda lib, a, x: getattr(lib, name)(a, x), large, large * 1.0003, tolerance=1e-6)


def test_zeta_and_polygamma() -> None:
    s = torch.tensor([0.5, 1.0, 1.5, 2, 3, 4, 7.5, 30]).double().reshape(-1, 1)
    q = torch.tensor([-3.5, -2.0, -0.25, 0.0, 0.3, 1, 2.5, 9, 100]).double()
    compare(lambda lib, s, q: lib.special.zeta(s, q), s, q, tolerance=1e-9)
    compare(lambda lib, q: lib.special.zeta(3, q), q, tolerance=1e-9)
    compare(lambda lib, s: lib.special.zeta(s, 2), s, tolerance=1e-9)
    for n in (0, 1, 2, 5):
        points = aten.tensor([-3.5, -0.25, 0.3, 1.0, 2.5, 9.0, 100.0], dtype=aten.float64)
        found = points.polygamma(n).tolist()
        for x, value in zip(points.tolist(), found, strict=True):
            assert math.isclose(value, float(mpmath.psi(n, x)), rel_tol=1e-11)
    with pytest.raises(RuntimeError):
        aten.polygamma(-1, points)


@pytest.mark.parametrize("name", ["gcd", "lcm"])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int32, torch.int64])
def test_divisors(name: str, dtype: Any) -> None:
    numbers = torch.tensor([0, 1, 2, 3, 12, 18, 35, 64, 100, 127]).to(dtype)
    if dtype != torch.uint8:
        numbers = torch.cat([numbers, -numbers])
    compare(lambda lib, a, b: getattr(lib, name)(a, b), numbers.reshape(-1, 1), numbers)
    compare(lambda lib, a: getattr(lib, name)(a, a), numbers.float())
    if name == "gcd":
        # The least one has no absolute value; large ones are not divided as short integers.
        ends = torch.tensor([torch.iinfo(dtype).min, torch.iinfo(dtype).max // 3], dtype=dtype)
        compare(lambda lib, a, b: lib.gcd(a, b), torch.cat([numbers, ends]).reshape(-1, 1), numbers)
        compare(lambda lib, a, b: lib.gcd(b, a), ends, numbers.reshape(-1, 1))
        compare(lambda lib, a: lib.gcd(a, a), ends)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_frexp(dtype: Any) -> None:
    tiny = torch.finfo(dtype).tiny
    values = [0.0, -0.0, 1, -1, 0.75, 1000, tiny, tiny / 8, -3.1e-3, *INFINITE]
    ours = aten.frexp(from_torch(torch.tensor(values, dtype=dtype)))
    theirs = torch.frexp(torch.tensor(values, dtype=dtype))
    assert ours[0].tolist()[:-1] == theirs[0].tolist()[:-1]
    assert math.isnan(ours[0].tolist()[-1])
    assert ours[1].tolist()[:-3] == theirs[1].tolist()[:-3]
    assert (ours[0].dtype.name, ours[1].dtype) == (str(dtype)[6:], aten.int32)


def test_powers_in_float64() -> None:
    close = {"tolerance": 1e-12}
    compare(lambda lib, a, b: lib.float_power(a, b), torch.arange(4), torch.rand(3, 4), **close)
    compare(lambda lib, a: lib.float_power(a, 2), torch.rand(3), **close)
    compare(lambda lib, a: lib.float_power(2, a), torch.rand(3), **close)
    compare(lambda lib, a: lib.float_power(a, 2j), torch.rand(3), **close)
    compare(lambda lib, a: a.float_power_(2), torch.rand(3))
    compare(lambda lib, a: a.float_power_(2), torch.rand(3).double())
    compare(lambda lib, a, b: lib.ldexp(a, b), torch.arange(4), torch.arange(4))


LDEXP_DTYPES = "uint8 int8 int32 int64 float16 bfloat16 float32 float64".split()


# torch resizes a result of its own, where a number meets several exponents.
@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("exponent", LDEXP_DTYPES)
@pytest.mark.parametrize("number", LDEXP_DTYPES)
def test_ldexp_keeps_the_type_of_numbers(number: str, exponent: str) -> None:
    for shapes in (((2,), (2,)), ((2,), ()), ((), (2,)), ((), ())):
        operands = (
            torch.ones(shape, dtype=getattr(torch, name))
            for shape, name in zip(shapes, (number, exponent), strict=True)
        )
        compare(lambda lib, a, b: lib.ldexp(a, b), *operands)


def test_ldexp_of_bool() -> None:
    compare(lambda lib, a, b: lib.ldexp(a, b), torch.ones(2), torch.ones(2, dtype=torch.bool))
    compare(lambda lib, a, b: lib.ldexp(a, b), torch.arange(2), torch.ones(2, dtype=torch.bool))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_ldexp_rounds_once_and_goes_beyond_what_powers_can_be(dtype: Any) -> None:
    torch.manual_seed(3)
    limits = (-1070, 1000, 2300) if dtype is torch.float64 else (-20, 20, 300)
    powers = torch.exp2(torch.randint(*limits[:2], (20000,)).double())
    numbers = (torch.randn(20000, dtype=torch.float64) * powers).to(dtype)
    exponents = torch.randint(-limits[2], limits[2], (20000,))
    compare(lambda lib, a, b: lib.ldexp(a, b), numbers, exponents)
    compare(lambda lib, a, b: a.ldexp_(b), numbers, exponents.to(torch.int16))
    special = torch.tensor([math.inf, -math.inf, math.nan, 0.0, -0.0, 1.0], dtype=dtype)
    for exponent in (-(1 << 62), -1, 0, 1 << 62):
        compare(lambda lib, a, b: lib.ldexp(a, b), special, torch.tensor(exponent >> 32))


# The principal values on both sides of a cut, and at infinity: C11, annex G.
PARTS = [math.inf, -math.inf, 0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 3e10, 1e-20]
COMPLEX = [complex(x, y) for x in PARTS for y in PARTS if math.isfinite(x) or math.isfinite(y)]
OF_COMPLEX = (
    "acos acosh asin asinh atan atanh cos cosh exp exp2 log log10 log1p log2 sigmoid sin sinh "
    "sqrt tan tanh"
).split()


@pytest.mark.parametrize("name", OF_COMPLEX)
@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_complex_numbers(name: str, dtype: Any) -> None:
    """As torch's, wherever torch's is a number."""
    z = torch.tensor(COMPLEX, dtype=dtype)
    found = getattr(aten, name)(from_torch(z)).tolist()
    expected = getattr(torch, name)(z).tolist()
    wrong = [
        (z, one, other)
        for z, one, other in zip(COMPLEX, found, expected, strict=True)
        if not (_same_part(one.real, other.real) and _same_part(one.imag, other.imag))
    ]
    assert not wrong, wrong[:5]


def _same_part(found: float, expected: float) -> bool:
    if math.isnan(expected) or math.isinf(expected):
        return math.isnan(expected) or found == expected
    return math.isclose(found, expected, rel_tol=1e-5, abs_tol=1e-6)

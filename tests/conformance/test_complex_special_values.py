"""Functions of complex numbers where a part is infinite, NaN or a zero of either sign.

C11, annex G, says what they are, and torch agrees but for what `OURS` lists. Where the annex leaves
a sign open, we have torch's.
"""

import math

import pytest
from comparison import from_torch

import aten

torch = pytest.importorskip("torch")

INF, NAN = math.inf, math.nan
PARTS = [-INF, -1.0, -0.0, 0.0, 1.0, INF, NAN]
NUMBERS = [complex(x, y) for x in PARTS for y in PARTS]
FUNCTIONS = (
    "abs acos acosh angle asin asinh atan atanh conj_physical cos cosh exp exp2 expm1 log log10 "
    "log1p log2 reciprocal rsqrt sigmoid sin sinh sqrt square tan tanh"
).split()
# Where torch's is not what it could be: annex G, or the limit where that does not know a function.
OURS = {
    # torch's acos of complex128 forgets the sign of zero below the cut.
    ("acos", "complex128"): [
        (complex(-1.0, 0.0), complex(math.pi, -0.0)),
        (complex(-0.0, 0.0), complex(math.pi / 2, -0.0)),
        (complex(0.0, 0.0), complex(math.pi / 2, -0.0)),
        (complex(1.0, 0.0), complex(0.0, -0.0)),
    ],
    # exp(x) sin(0) is 0 for any x, as in exp itself.
    "expm1": [(complex(x, y), complex(x, y)) for x in (INF, NAN) for y in (0.0, -0.0)],
    # As log has it.
    "log1p": [
        *((complex(x, NAN), complex(INF, NAN)) for x in (INF, -INF)),
        *((complex(NAN, y), complex(INF, NAN)) for y in (INF, -INF)),
    ],
}


def _same(found, expected, *, signs=True):
    scale = max((abs(part) for part in _parts(expected) if math.isfinite(part)), default=0.0)
    pairs = zip(_parts(found), _parts(expected), strict=True)
    return all(_same_part(one, other, scale, signs) for one, other in pairs)


def _parts(number):
    return (number.real, number.imag) if isinstance(number, complex) else (number,)


def _same_part(found, expected, scale, signs):
    if math.isnan(expected):
        return math.isnan(found)
    if math.isinf(expected):
        return found == expected
    if expected == 0.0 and signs:
        return found == 0.0 and math.copysign(1.0, found) == math.copysign(1.0, expected)
    return math.isclose(found, expected, rel_tol=2e-5, abs_tol=1e-15 * scale)


def _key(number):
    """Tells zeros apart by their sign, and finds NaN."""
    return tuple((repr(part), math.copysign(1.0, part)) for part in _parts(number))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name, dtype):
    z = torch.tensor(NUMBERS, dtype=getattr(torch, dtype))
    ours = [*OURS.get(name, []), *OURS.get((name, dtype), [])]
    named = {_key(number): value for number, value in ours}
    theirs = getattr(torch, name)(z).tolist()
    expected = [named.get(_key(z), t) for z, t in zip(NUMBERS, theirs, strict=True)]
    found = getattr(aten, name)(from_torch(z)).tolist()
    alone = [getattr(aten, name)(from_torch(one)).item() for one in z]
    differing = [
        triple
        for values in (found, alone)
        for triple in zip(NUMBERS, values, expected, strict=True)
        if not _same(*triple[1:])
    ]
    assert not differing
    assert all(
        not _same(t, one)
        for z, t, one in zip(NUMBERS, theirs, expected, strict=True)
        if _key(z) in named
    ), "torch has it as well by now"


PAIRS = [(z, w) for z in NUMBERS for w in NUMBERS]


def _results(name, pairs, dtype):
    sides = zip(*pairs, strict=True)
    left, right = (torch.tensor(side, dtype=getattr(torch, dtype)) for side in sides)
    found = getattr(aten, name)(from_torch(left), from_torch(right)).tolist()
    return zip(pairs, found, getattr(torch, name)(left, right).tolist(), strict=True)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ["mul", "div"])
def test_products_and_quotients(name, dtype):
    assert not [triple for triple in _results(name, PAIRS, dtype) if not _same(*triple[1:])]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_powers(dtype):
    """The signs of zeros are those of NaN in between, which the processor chooses."""
    pairs = [(z, w) for z, w in PAIRS if w != 0]
    differing = [
        triple for triple in _results("pow", pairs, dtype) if not _same(*triple[1:], signs=False)
    ]
    assert not differing


@pytest.mark.parametrize("dtype", [aten.complex64, aten.complex128])
def test_the_power_zero_is_one(dtype):
    """Python's and NumPy's view, and torch's of real numbers; it has NaN for bases 0, inf, NaN."""
    z = aten.tensor(NUMBERS, dtype=dtype)
    assert aten.pow(z, aten.zeros(len(NUMBERS), dtype=dtype)).tolist() == [1] * len(NUMBERS)
    assert torch.pow(torch.zeros(1), torch.zeros(1)).item() == 1

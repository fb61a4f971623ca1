"""Every function of each element, over all its dtypes and shapes, beside array-api-strict."""

import numpy as np
import pytest
from array_api_cases import (
    ALL,
    BOOLS,
    DTYPES,
    FLOATS,
    INEXACT,
    INTEGERS,
    NUMERIC,
    REAL,
    agree,
    arrays,
    broadcasting,
    compare,
    few,
    numbers,
    pairs,
    strict,
)
from hypothesis import given
from hypothesis import strategies as st

import aten
from aten import array_api as xp

pytestmark = pytest.mark.usefixtures("double")

# Function → its dtypes, and how far elements may be from 0 for results that both can tell.
UNARY = {
    "abs": NUMERIC,
    "acos": INEXACT,
    "acosh": INEXACT,
    "asin": INEXACT,
    "asinh": INEXACT,
    "atan": INEXACT,
    "atanh": INEXACT,
    "bitwise_invert": BOOLS + INTEGERS,
    "ceil": REAL,
    "conj": NUMERIC,
    "cos": INEXACT,
    "cosh": INEXACT,
    "exp": INEXACT,
    "expm1": INEXACT,
    "floor": REAL,
    "imag": DTYPES["complex"],
    "isfinite": NUMERIC,
    "isinf": NUMERIC,
    "isnan": NUMERIC,
    "log": INEXACT,
    "log10": INEXACT,
    "log1p": INEXACT,
    "log2": INEXACT,
    "logical_not": BOOLS,
    "negative": NUMERIC,
    "positive": NUMERIC,
    "real": DTYPES["complex"],
    "reciprocal": INEXACT,
    "round": NUMERIC,
    "sign": NUMERIC,
    "signbit": FLOATS,
    "sin": INEXACT,
    "sinh": INEXACT,
    "sqrt": INEXACT,
    "square": NUMERIC,
    "tan": INEXACT,
    "tanh": INEXACT,
    "trunc": REAL,
}
BINARY = {
    "add": NUMERIC,
    "atan2": FLOATS,
    "bitwise_and": BOOLS + INTEGERS,
    "bitwise_left_shift": INTEGERS,
    "bitwise_or": BOOLS + INTEGERS,
    "bitwise_right_shift": INTEGERS,
    "bitwise_xor": BOOLS + INTEGERS,
    "copysign": FLOATS,
    "divide": INEXACT,
    "equal": ALL,
    "floor_divide": REAL,
    "greater": REAL,
    "greater_equal": REAL,
    "hypot": FLOATS,
    "less": REAL,
    "less_equal": REAL,
    "logaddexp": FLOATS,
    "logical_and": BOOLS,
    "logical_or": BOOLS,
    "logical_xor": BOOLS,
    "maximum": REAL,
    "minimum": REAL,
    "multiply": NUMERIC,
    "nextafter": FLOATS,
    "not_equal": ALL,
    "pow": NUMERIC,
    "remainder": REAL,
    "subtract": NUMERIC,
}
SLOTS = {
    "add": "__add__",
    "bitwise_and": "__and__",
    "bitwise_left_shift": "__lshift__",
    "bitwise_or": "__or__",
    "bitwise_right_shift": "__rshift__",
    "bitwise_xor": "__xor__",
    "divide": "__truediv__",
    "equal": "__eq__",
    "floor_divide": "__floordiv__",
    "greater": "__gt__",
    "greater_equal": "__ge__",
    "less": "__lt__",
    "less_equal": "__le__",
    "multiply": "__mul__",
    "not_equal": "__ne__",
    "pow": "__pow__",
    "remainder": "__mod__",
    "subtract": "__sub__",
}
# Where neither library is exact to the last places, in units in them.
ROUNDING = {"pow": 32, "tan": 16, "logaddexp": 16, "reciprocal": 8}
# Beyond these the arguments of complex functions are reduced in other ways, or overflow midway.
COMPLEX_LIMIT = 50.0


def unary_elements(function, name):
    if name in DTYPES["complex"] and function not in ("abs", "conj", "isnan", "isinf", "isfinite"):
        return {"finite": True, "high": COMPLEX_LIMIT}
    return {}


@pytest.mark.parametrize("function", UNARY)
@few
@given(data=st.data())
def test_unary(function, data):
    name = data.draw(st.sampled_from(UNARY[function]))
    x = data.draw(arrays(name, **unary_elements(function, name)))
    rounding = 256 if name in DTYPES["complex"] else ROUNDING.get(function, 4)
    agree(function, x, rounding=rounding)


def binary_elements(function, name, right):
    if function.endswith("shift") and right:
        return {"low": 0, "high": 8 * np.dtype(name).itemsize - 1}
    if function == "pow":
        if name in INTEGERS:
            return {"low": 0, "high": 12} if right else {}
        return {"finite": True, "high": 4.0} if name in DTYPES["complex"] else {}
    if name in DTYPES["complex"] and function not in ("equal", "not_equal"):
        return {"finite": True, "high": 1e6}
    return {}


def usable(function, x1, x2, common):
    """Whether the standard says what the result is."""
    if function in ("floor_divide", "remainder"):
        if common in INTEGERS:
            return bool((x2 != 0).all())
        # At infinities NumPy does as Python; quotients that are no numbers of the dtype round.
        return bool(np.isfinite(x1).all() and np.isfinite(x2).all()) and usable_quotients(x1, x2)
    if function.endswith("shift"):
        return bool((x2 < 8 * np.dtype(common).itemsize).all()) if x2.size else True
    if function == "divide" and common in DTYPES["complex"]:
        return bool((np.abs(x2) > 1e-3).all())
    if function == "pow" and common in DTYPES["complex"]:
        return bool((np.abs(x1) > 1e-3).all())
    return True


def usable_quotients(x1, x2):
    with np.errstate(all="ignore"):
        quotients = np.divide(x1, x2, dtype=np.float64)
    return bool((np.abs(quotients) < 1e6).all())


@pytest.mark.parametrize("function", BINARY)
@few
@given(data=st.data())
def test_binary(function, data):
    left, right = data.draw(st.sampled_from(pairs(BINARY[function])))
    if function == "nextafter":
        right = left
    first, second = data.draw(broadcasting(2))
    x1 = data.draw(arrays(left, first, **binary_elements(function, left, False)))
    x2 = data.draw(arrays(right, second, **binary_elements(function, right, True)))
    common = str(strict.result_type(strict.asarray(x1), strict.asarray(x2))).split(".")[-1]
    if not usable(function, x1, x2, common):
        return
    rounding = 256 if common in DTYPES["complex"] else ROUNDING.get(function, 4)
    agree(function, x1, x2, rounding=rounding)
    if function in SLOTS:
        agree_slot(function, x1, x2, common)


def agree_slot(function, x1, x2, common):
    """The operator, and its reflected and in-place forms, do what the function does."""
    slot = SLOTS[function]
    expected = getattr(xp, function)(xp.asarray(x1), xp.asarray(x2))
    ours = xp.asarray(x1), xp.asarray(x2)
    same(getattr(ours[0], slot)(ours[1]), expected)
    if function in ("equal", "not_equal") or function.startswith(("less", "greater")):
        return
    same(getattr(ours[1], f"__r{slot[2:]}")(ours[0]), expected)
    if x1.dtype.name == common and expected.shape == x1.shape:
        target = xp.asarray(x1, copy=True)
        result = getattr(target, f"__i{slot[2:]}")(ours[1])
        assert result is target
        same(target, expected)


def same(found, expected):
    assert type(found) is xp.Array
    assert found.dtype is expected.dtype
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


SCALARS = {
    "bool": st.booleans(),
    "signed": st.integers(-128, 127),
    "unsigned": st.integers(0, 255),
    "float": st.integers(-1000, 1000) | st.floats(width=32, allow_subnormal=False),
    "complex": st.integers(-9, 9)
    | st.floats(-9, 9, width=16)
    | st.complex_numbers(max_magnitude=9, width=64, allow_subnormal=False),
}


@pytest.mark.parametrize("function", [name for name in BINARY if name != "nextafter"])
@few
@given(data=st.data())
def test_one_operand_a_number(function, data):
    kind = data.draw(
        st.sampled_from([k for k, names in DTYPES.items() if names[0] in BINARY[function]])
    )
    name = data.draw(st.sampled_from(DTYPES[kind]))
    x = data.draw(arrays(name, **binary_elements(function, name, False)))
    value = data.draw(SCALARS[kind])
    if function.endswith("shift"):
        value = abs(value) % (8 * x.itemsize)
    if function == "pow" and kind in ("signed", "unsigned"):
        value = abs(value) % 8
    if not usable(function, x, np.asarray(value), name):
        return
    rounding = 256 if kind == "complex" else ROUNDING.get(function, 4)
    agree(function, x, value, rounding=rounding)
    turned = not function.endswith("shift") and function != "pow"
    if turned and usable(function, np.asarray(value), x, name):
        agree(function, value, x, rounding=rounding)


@pytest.mark.parametrize("function", BINARY)
def test_two_numbers_are_refused(function):
    with pytest.raises(TypeError, match="must be an array"):
        getattr(xp, function)(True, True)


@pytest.mark.parametrize("name", INTEGERS)
def test_numbers_out_of_range_are_refused(name):
    limits = np.iinfo(name)
    for value in (limits.min - 1, limits.max + 1):
        with pytest.raises(OverflowError, match="out of the range"):
            xp.add(xp.ones(1, dtype=getattr(xp, name)), int(value))


@few
@given(data=st.data())
def test_complex_numbers_make_floats_complex(data):
    name = data.draw(st.sampled_from(FLOATS))
    x = data.draw(arrays(name, finite=True, high=1e3, low=-1e3))
    agree("add", x, 1 + 2j)
    agree("multiply", x, 2j)


@few
@given(data=st.data())
def test_clip(data):
    name = data.draw(st.sampled_from(REAL))
    first, second, third = data.draw(broadcasting(3))
    shape = np.broadcast_shapes(first, second, third)
    x = data.draw(arrays(name, shape))
    bounds = [data.draw(arrays(name, second)), data.draw(arrays(name, third))]
    low, high = np.minimum(*np.broadcast_arrays(*bounds)), np.maximum(*np.broadcast_arrays(*bounds))
    for given_low, given_high in ((low, high), (None, high), (low, None), (None, None)):
        found = xp.clip(
            xp.asarray(x), *(None if b is None else xp.asarray(b) for b in (given_low, given_high))
        )
        expected = x if given_low is None else np.maximum(x, given_low)
        expected = expected if given_high is None else np.minimum(expected, given_high)
        compare("clip", found, strict.asarray(expected.astype(name)))


@few
@given(data=st.data())
def test_clip_between_numbers(data):
    name = data.draw(st.sampled_from(REAL))
    x = data.draw(arrays(name))
    low, high = sorted(
        data.draw(
            st.lists(numbers(name), min_size=2, max_size=2).filter(
                lambda v: v[0] == v[0] and v[1] == v[1]
            )
        )
    )
    agree("clip", x, low.item(), high.item())
    agree("clip", x, max=high.item())
    agree("clip", x, min=low.item())


def test_clip_is_a_copy():
    x = xp.asarray([1.0, 2.0])
    xp.clip(x)[0] = 5.0
    assert x[0] == 1


@pytest.mark.parametrize("name", ["uint8", "float32", "complex64", "bool"])
def test_tensors_of_any_layout(name):
    x = aten.arange(24).reshape(2, 3, 4).to(getattr(aten, name)).permute(2, 0, 1)[::2]
    expected = np.asarray(x) == np.asarray(x)[:, :1]
    found = xp.equal(x, x[:, :1])
    np.testing.assert_array_equal(np.asarray(found), expected)
    assert type(found) is xp.Array

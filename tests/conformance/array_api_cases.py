"""What the tests of the array API share: arrays of every dtype, and two namespaces compared.

The oracle is array-api-strict, which is NumPy behind the standard's rules. Both get the same
arrays; results must have the same dtype and shape, and the same values up to rounding.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from aten import array_api as xp

strict = pytest.importorskip("array_api_strict")
strict.set_array_api_strict_flags(api_version="2025.12")

DTYPES = {
    "bool": ["bool"],
    "signed": ["int8", "int16", "int32", "int64"],
    "unsigned": ["uint8", "uint16", "uint32", "uint64"],
    "float": ["float32", "float64"],
    "complex": ["complex64", "complex128"],
}
BOOLS = DTYPES["bool"]
INTEGERS = DTYPES["signed"] + DTYPES["unsigned"]
FLOATS = DTYPES["float"]
REAL = INTEGERS + FLOATS
INEXACT = FLOATS + DTYPES["complex"]
NUMERIC = REAL + DTYPES["complex"]
ALL = BOOLS + NUMERIC
ROUNDING = {"float32": 2.0**-23, "float64": 2.0**-52, "complex64": 2.0**-23, "complex128": 2.0**-52}

few = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def promotes(left: str, right: str) -> bool:
    """Whether the standard says what dtype an operation on both has."""
    try:
        strict.result_type(getattr(strict, left), getattr(strict, right))
    except TypeError:
        return False
    return True


def pairs(names: list[str]) -> list[tuple[str, str]]:
    """The pairs of dtypes that mix."""
    return [(left, right) for left in names for right in names if promotes(left, right)]


def shapes(**limits: int) -> st.SearchStrategy[tuple[int, ...]]:
    """Shapes with and without elements."""
    return hnp.array_shapes(
        **{"min_dims": 0, "max_dims": 4, "min_side": 0, "max_side": 4, **limits}
    )


def numbers(name: str, finite: bool = False, low: Any = None, high: Any = None) -> Any:
    """Elements of a dtype."""
    limits = {
        key: value for key, value in (("min_value", low), ("max_value", high)) if value is not None
    }
    if name in DTYPES["complex"] and limits:
        limits = {"max_magnitude": high}
    if finite and name in INEXACT:
        limits |= {"allow_nan": False, "allow_infinity": False}
    if name in INEXACT:
        # The oracle's processor and ours may flush them or not.
        limits["allow_subnormal"] = False
    return hnp.from_dtype(np.dtype(name), **limits)


def arrays(name: str, shape: Any = None, **kinds: Any) -> st.SearchStrategy[np.ndarray]:
    """Arrays of a dtype as NumPy's."""
    return hnp.arrays(
        np.dtype(name), shapes() if shape is None else shape, elements=numbers(name, **kinds)
    )


def broadcasting(count: int) -> Any:
    """Shapes that broadcast."""
    return hnp.mutually_broadcastable_shapes(
        num_shapes=count, max_dims=3, max_side=4, min_side=0
    ).map(lambda found: found.input_shapes)


def both(value: Any) -> tuple[Any, Any]:
    """A NumPy array, or whatever holds some, as arrays of ours and of the oracle."""
    if isinstance(value, np.ndarray):
        return xp.asarray(value, copy=True), strict.asarray(value, copy=True)
    if isinstance(value, np.dtype):
        return getattr(xp, value.name), getattr(strict, value.name)
    if isinstance(value, (tuple, list)):
        found = [both(one) for one in value]
        return type(value)(one[0] for one in found), type(value)(one[1] for one in found)
    return value, value


def agree(name: str, *args: Any, rounding: float = 4, **kwargs: Any) -> None:
    """Call the function in both namespaces and compare.

    `rounding` is how many units in the last place results may lie apart.
    """
    mine, theirs = both(args)
    mine_named = {key: both(value)[0] for key, value in kwargs.items()}
    theirs_named = {key: both(value)[1] for key, value in kwargs.items()}
    with np.errstate(all="ignore"):
        expected = _find(strict, name)(*theirs, **theirs_named)
    compare(name, _find(xp, name)(*mine, **mine_named), expected, rounding)


def _find(namespace: Any, name: str) -> Any:
    for part in name.split("."):
        namespace = getattr(namespace, part)
    return namespace


def compare(name: str, found: Any, expected: Any, rounding: float = 4) -> None:
    """Fail unless results agree: the same structure, dtypes, shapes and values."""
    if isinstance(expected, (tuple, list)):
        assert isinstance(found, tuple), f"{name}: {type(found)}"
        assert len(found) == len(expected), f"{name}: {len(found)} of {len(expected)} results"
        for one, other in zip(found, expected, strict=True):
            compare(name, one, other, rounding)
        return
    if not hasattr(expected, "dtype"):
        assert found == expected, f"{name}: {found}, expected {expected}"
        return
    assert type(found) is xp.Array, f"{name}: {type(found)}"
    assert _name(found.dtype) == _name(expected.dtype), (
        f"{name}: {found.dtype} for {expected.dtype}"
    )
    assert tuple(found.shape) == tuple(expected.shape), f"{name}: {found.shape}, {expected.shape}"
    assert_close(name, np.asarray(found), np.asarray(expected), rounding)


def _name(dtype: Any) -> str:
    return str(dtype).split(".")[-1]


def assert_close(name: str, found: np.ndarray, expected: np.ndarray, rounding: float) -> None:
    """Fail unless elements are equal, inexact ones up to rounding; NaN equals NaN."""
    if expected.dtype.name not in ROUNDING:
        assert np.array_equal(found, expected), f"{name}:\n{found}\n{expected}"
        return
    limit = rounding * ROUNDING[expected.dtype.name]
    tiny = np.finfo(expected.dtype).tiny
    with np.errstate(all="ignore"):
        near = np.abs(found - expected) <= limit * np.abs(expected) + tiny
    same = near | (found == expected) | (np.isnan(found) & np.isnan(expected))
    assert same.all(), f"{name}:\n{found[~same]}\n{expected[~same]}"


def is_negative_zero(value: float) -> bool:
    """Whether it is the zero with a sign."""
    return value == 0 and math.copysign(1, value) < 0


# For a test that draws as it goes.
DATA = given(data=st.data())


def some(data, names, **limits):
    """An array of one of the dtypes."""
    kinds = {key: limits.pop(key) for key in ("finite", "low", "high") if key in limits}
    return data.draw(arrays(data.draw(st.sampled_from(names)), shapes(**limits), **kinds))


def axis_of(data, ndim):
    return data.draw(st.integers(-ndim, ndim - 1))


def axes_of(data, ndim):
    """None, an axis, or a tuple of them."""
    if ndim == 0:
        return data.draw(st.sampled_from([None, ()]))
    return data.draw(
        st.none() | st.integers(-ndim, ndim - 1) | hnp.valid_tuple_axes(ndim, min_size=0)
    )

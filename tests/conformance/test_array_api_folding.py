"""Functions that fold arrays along axes, beside array-api-strict."""

import math

import numpy as np
import pytest
from array_api_cases import (
    ALL,
    DATA,
    DTYPES,
    FLOATS,
    INEXACT,
    INTEGERS,
    NUMERIC,
    REAL,
    agree,
    arrays,
    axes_of,
    axis_of,
    compare,
    few,
    shapes,
    some,
    strict,
)
from hypothesis import assume
from hypothesis import strategies as st

import aten
from aten import array_api as xp

pytestmark = pytest.mark.usefixtures("double")


@pytest.mark.parametrize("name", ["sum", "prod"])
@few
@DATA
def test_sums(name, data):
    kind = data.draw(st.sampled_from(NUMERIC))
    limits = (
        {"finite": True, "low": -8, "high": 8}
        if kind in FLOATS
        else {"finite": True, "high": 4}
        if kind in DTYPES["complex"]
        else {}
    )
    x = data.draw(arrays(kind, **limits))
    keywords = {"axis": axes_of(data, x.ndim), "keepdims": data.draw(st.booleans())}
    found = getattr(xp, name)(xp.asarray(x), **keywords)
    with np.errstate(all="ignore"):
        expected = getattr(strict, name)(strict.asarray(x), **keywords)
    assert str(found.dtype).split(".")[-1] == str(expected.dtype).split(".")[-1]
    if kind in INTEGERS:
        np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))
    else:
        precise = getattr(np, name)(x.astype("complex128"), **keywords)
        scale = getattr(np, name)(np.abs(x).astype(np.float64), **keywords)
        eps = np.finfo(x.dtype).eps * max(x.size, 1)
        assert (np.abs(np.asarray(found) - precise) <= 4 * eps * scale + 1e-30).all()
    wanted = data.draw(st.sampled_from([n for n in NUMERIC if np.can_cast(kind, n)]))
    assert getattr(xp, name)(xp.asarray(x), dtype=getattr(xp, wanted)).dtype is getattr(xp, wanted)


@pytest.mark.parametrize("name", ["max", "min"])
@few
@DATA
def test_greatest_and_least(name, data):
    x = some(data, REAL, min_side=1)
    agree(name, x, axis=axes_of(data, x.ndim), keepdims=data.draw(st.booleans()))


@pytest.mark.parametrize("name", ["all", "any"])
@few
@DATA
def test_truth(name, data):
    x = some(data, ALL)
    agree(name, x, axis=axes_of(data, x.ndim), keepdims=data.draw(st.booleans()))


@few
@DATA
def test_means(data):
    name = data.draw(st.sampled_from(INEXACT))
    limits = {"low": -100, "high": 100} if name in FLOATS else {"high": 100}
    x = data.draw(arrays(name, finite=True, **limits))
    keywords = {"axis": axes_of(data, x.ndim), "keepdims": data.draw(st.booleans())}
    with np.errstate(all="ignore"), pytest.MonkeyPatch.context():
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = np.asarray(np.mean(x.astype("complex128"), **keywords))
    found = xp.mean(xp.asarray(x), **keywords)
    assert found.dtype is getattr(xp, name)
    assert found.shape == expected.shape
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["std", "var"])
@few
@DATA
def test_spread(name, data):
    kind = data.draw(st.sampled_from(FLOATS))
    x = data.draw(arrays(kind, shapes(min_side=1), finite=True, low=-100, high=100))
    axis = axes_of(data, x.ndim)
    correction = data.draw(st.sampled_from([0, 1, 0.0, 0.5, 1.5]))
    keywords = {"axis": axis, "keepdims": data.draw(st.booleans())}
    count = (
        x.size
        if axis is None
        else math.prod(np.take(x.shape, axis if isinstance(axis, tuple) else [axis]))
        if x.ndim
        else 1
    )
    assume(count > correction)
    found = getattr(xp, name)(xp.asarray(x), correction=correction, **keywords)
    expected = getattr(np, name)(x.astype(np.float64), ddof=correction, **keywords)
    assert found.dtype is getattr(xp, kind)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
@few
@DATA
def test_cumulated(name, data):
    kind = data.draw(st.sampled_from(NUMERIC))
    limits = (
        {}
        if kind in INTEGERS
        else {"finite": True, "high": 2} | ({"low": -2} if kind in FLOATS else {})
    )
    x = data.draw(arrays(kind, shapes(min_dims=1), **limits))
    axis = data.draw(st.none() | st.integers(-1, 0)) if x.ndim == 1 else axis_of(data, x.ndim)
    initial = data.draw(st.booleans())
    found = getattr(xp, name)(xp.asarray(x), axis=axis, include_initial=initial)
    with np.errstate(all="ignore"):
        expected = getattr(strict, name)(strict.asarray(x), axis=axis, include_initial=initial)
    assert str(found.dtype).split(".")[-1] == str(expected.dtype).split(".")[-1]
    assert tuple(found.shape) == tuple(expected.shape)
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-4, atol=1e-5)
    wanted = data.draw(st.sampled_from([n for n in NUMERIC if np.can_cast(kind, n)]))
    with np.errstate(all="ignore"):
        assert getattr(xp, name)(
            xp.asarray(x), axis=axis, dtype=getattr(xp, wanted)
        ).dtype is getattr(xp, wanted)


def test_cumulated_needs_an_axis():
    for name in ("cumulative_sum", "cumulative_prod"):
        with pytest.raises(ValueError, match="axis must be given"):
            getattr(xp, name)(xp.ones((2, 2)))


@few
@DATA
def test_diff(data):
    name = data.draw(st.sampled_from(NUMERIC))
    limits = {"finite": True, "high": 1e3} if name in INEXACT else {}
    x = data.draw(arrays(name, shapes(min_dims=1), **limits))
    axis, n = axis_of(data, x.ndim), data.draw(st.integers(0, 3))
    agree("diff", x, axis=axis, n=n, rounding=64)
    ends = [*x.shape]
    ends[axis] = data.draw(st.integers(0, 2))
    end = data.draw(arrays(name, tuple(ends), **limits))
    agree("diff", x, axis=axis, n=1, prepend=end)
    agree("diff", x, axis=axis, n=1, append=end)
    with pytest.raises(ValueError, match="negative"):
        xp.diff(xp.ones(2), n=-1)


@pytest.mark.parametrize(
    "name", ["sum", "prod", "max", "min", "mean", "std", "var", "all", "any", "count_nonzero"]
)
def test_axes_out_of_range(name):
    for axis in (2, -3, (0, 2)):
        with pytest.raises(IndexError):
            getattr(xp, name)(xp.ones((2, 2)), axis=axis)
    with pytest.raises(ValueError, match="twice"):
        getattr(xp, name)(xp.ones((2, 2)), axis=(0, 0))


def test_results_are_compared():
    """The comparison itself notices differences."""
    for found, expected in (
        (xp.ones(2), strict.ones(2, dtype=strict.float32)),
        (xp.ones(2), strict.ones((1, 2))),
        (xp.ones(2), strict.zeros(2)),
        ((xp.ones(2),), (strict.ones(2), strict.ones(2))),
        (aten.ones(2, dtype=aten.float64), strict.ones(2)),
    ):
        with pytest.raises(AssertionError):
            compare("x", found, expected)

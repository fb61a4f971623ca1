"""Linear algebra and Fourier transforms of the array API, by what must hold, and beside NumPy."""

import numpy as np
import pytest
from array_api_cases import (
    DTYPES,
    FLOATS,
    INEXACT,
    INTEGERS,
    NUMERIC,
    agree,
    arrays,
    compare,
    few,
    shapes,
    strict,
)
from hypothesis import assume, given
from hypothesis import strategies as st

from aten import array_api as xp

pytestmark = pytest.mark.usefixtures("double")

DATA = given(data=st.data())
EPS = {"float32": 1e-3, "complex64": 1e-3, "float64": 1e-9, "complex128": 1e-9}
REAL_OF = {"complex64": "float32", "complex128": "float64"}
COMPLEX_OF = {"float32": "complex64", "float64": "complex128"}


def matrices(data, rows=None, columns=None, names=INEXACT):
    """Stacks of well-scaled matrices; square without a number of columns."""
    name = data.draw(st.sampled_from(names))
    rows = data.draw(st.integers(0, 4)) if rows is None else rows
    stack = data.draw(shapes(max_dims=2, max_side=2))
    shape = (*stack, rows, rows if columns is None else columns)
    return drawn(data, shape, name)


def drawn(data, shape, name):
    generator = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    x = generator.standard_normal(shape)
    if name in DTYPES["complex"]:
        x = x + 1j * generator.standard_normal(shape)
    return x.astype(name)


def near(found, expected, name, shape=None):
    """The dtype, and the values as near as the dtype allows."""
    assert type(found) is xp.Array
    assert str(found.dtype).split(".")[-1] == name
    if shape is not None:
        assert tuple(found.shape) == tuple(shape)
    found = np.asarray(found)
    assert found.shape == np.shape(expected)
    assert np.allclose(found, expected, rtol=EPS[name] * 10, atol=EPS[name] * 10), (found, expected)


def dagger(x):
    return np.conj(np.swapaxes(x, -1, -2))


@few
@DATA
def test_cholesky(data):
    x = matrices(data)
    positive = x @ dagger(x) + 3 * np.eye(x.shape[-1], dtype=x.dtype)
    name = positive.dtype.name
    for upper in (False, True):
        factor = xp.linalg.cholesky(xp.asarray(positive), upper=upper)
        f = np.asarray(factor)
        near(factor, np.triu(f) if upper else np.tril(f), name, x.shape)
        np.testing.assert_allclose(
            dagger(f) @ f if upper else f @ dagger(f), positive, rtol=EPS[name], atol=EPS[name] * 10
        )


@few
@DATA
def test_determinants(data):
    x = matrices(data)
    name = x.dtype.name
    near(xp.linalg.det(xp.asarray(x)), np.linalg.det(x.astype("complex128")), name)
    found = xp.linalg.slogdet(xp.asarray(x))
    sign, size = np.linalg.slogdet(x.astype("complex128"))
    assert found._fields == ("sign", "logabsdet")
    near(found.sign, sign, name)
    near(found.logabsdet, size, REAL_OF.get(name, name))


@few
@DATA
def test_inverses_and_powers(data):
    x = matrices(data) / 2
    x = x + 4 * np.eye(x.shape[-1], dtype=x.dtype)
    name = x.dtype.name
    x = x.astype(name)
    near(xp.linalg.inv(xp.asarray(x)), np.linalg.inv(x), name, x.shape)
    for n in (-2, 0, 1, 3):
        near(xp.linalg.matrix_power(xp.asarray(x), n), np.linalg.matrix_power(x, n), name)
    near(xp.linalg.pinv(xp.asarray(x)), np.linalg.inv(x), name)


@few
@DATA
def test_solve(data):
    a = matrices(data)
    a = a + 4 * np.eye(a.shape[-1], dtype=a.dtype)
    a = a.astype(data.draw(st.sampled_from([a.dtype.name])))
    n = a.shape[-1]
    stack = data.draw(st.sampled_from([(), a.shape[:-2]]))
    b = drawn(data, (*stack, n, data.draw(st.integers(0, 3))), a.dtype.name)
    near(xp.linalg.solve(xp.asarray(a), xp.asarray(b)), np.linalg.solve(a, b), a.dtype.name)
    v = drawn(data, (n,), a.dtype.name)
    expected = np.linalg.solve(a, v[:, None])[..., 0]
    near(xp.linalg.solve(xp.asarray(a), xp.asarray(v)), expected, a.dtype.name)


def test_solve_takes_matrices_for_matrices():
    """A right-hand side of the shape of a stack of vectors is still matrices."""
    a = np.stack([np.eye(3) * (i + 1) for i in range(3)])
    b = np.arange(9.0).reshape(3, 3)
    near(xp.linalg.solve(xp.asarray(a), xp.asarray(b)), np.linalg.solve(a, b[None]), "float64")


@few
@DATA
def test_eigenvalues(data):
    x = matrices(data)
    name = x.dtype.name
    hermitian = x + dagger(x)
    found = xp.linalg.eigh(xp.asarray(hermitian))
    assert found._fields == ("eigenvalues", "eigenvectors")
    near(found.eigenvalues, np.linalg.eigvalsh(hermitian), REAL_OF.get(name, name))
    near(
        xp.linalg.eigvalsh(xp.asarray(hermitian)),
        np.linalg.eigvalsh(hermitian),
        REAL_OF.get(name, name),
    )
    w, v = (np.asarray(one) for one in found)
    near(found.eigenvectors, v, name)
    np.testing.assert_allclose(
        hermitian @ v, v * w[..., None, :], rtol=EPS[name], atol=EPS[name] * 100
    )
    found = xp.linalg.eig(xp.asarray(x))
    assert found._fields == ("eigenvalues", "eigenvectors")
    w, v = (np.asarray(one) for one in found)
    assert {w.dtype.name, v.dtype.name} == {COMPLEX_OF.get(name, name)}
    np.testing.assert_allclose(x @ v, v * w[..., None, :], rtol=EPS[name], atol=EPS[name] * 100)
    values = xp.linalg.eigvals(xp.asarray(x))
    near(xp.sum(values, axis=-1), np.trace(x, axis1=-2, axis2=-1), COMPLEX_OF.get(name, name))


@few
@DATA
def test_singular_values(data):
    x = matrices(data, columns=data.draw(st.integers(0, 4)))
    name = x.dtype.name
    for full in (True, False):
        found = xp.linalg.svd(xp.asarray(x), full_matrices=full)
        assert found._fields == ("U", "S", "Vh")
        u, s, vh = (np.asarray(one) for one in found)
        shapes_of = [one.shape for one in np.linalg.svd(x, full_matrices=full)]
        assert [u.shape, s.shape, vh.shape] == shapes_of
        assert [u.dtype.name, s.dtype.name, vh.dtype.name] == [name, REAL_OF.get(name, name), name]
        k = s.shape[-1]
        rebuilt = (u[..., :k] * s[..., None, :]) @ vh[..., :k, :]
        np.testing.assert_allclose(rebuilt, x, rtol=EPS[name], atol=EPS[name] * 10)
    near(
        xp.linalg.svdvals(xp.asarray(x)),
        np.linalg.svd(x, compute_uv=False),
        REAL_OF.get(name, name),
    )


@few
@DATA
def test_qr(data):
    x = matrices(data, columns=data.draw(st.integers(0, 4)))
    name = x.dtype.name
    for mode in ("reduced", "complete"):
        found = xp.linalg.qr(xp.asarray(x), mode=mode)
        assert found._fields == ("Q", "R")
        q, r = (np.asarray(one) for one in found)
        expected = np.linalg.qr(x, mode=mode)
        assert (q.shape, r.shape) == (expected.Q.shape, expected.R.shape)
        assert {q.dtype.name, r.dtype.name} == {name}
        np.testing.assert_array_equal(r, np.triu(r))
        np.testing.assert_allclose(q @ r, x, rtol=EPS[name], atol=EPS[name] * 10)
    with pytest.raises(ValueError, match="mode"):
        xp.linalg.qr(xp.asarray(x), mode="r")


@few
@DATA
def test_rank_and_pseudo_inverse(data):
    n, m = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    name = data.draw(st.sampled_from(INEXACT))
    rank = data.draw(st.integers(0, min(n, m)))
    stack = data.draw(shapes(max_dims=1, max_side=2))
    x = drawn(data, (*stack, n, rank), name) @ drawn(data, (*stack, rank, m), name)
    singular = np.linalg.svd(x, compute_uv=False)
    assume(rank == 0 or not singular.size or singular[..., rank - 1].min() > 0.05)
    found = xp.linalg.matrix_rank(xp.asarray(x))
    assert found.dtype is xp.int64
    assert (np.asarray(found) == rank).all()
    for rtol in (1e-2, xp.full(stack, 1e-2, dtype=getattr(xp, REAL_OF.get(name, name)))):
        assert (
            np.asarray(xp.linalg.matrix_rank(xp.asarray(x), rtol=1e-2))
            == np.asarray(xp.linalg.matrix_rank(xp.asarray(x), rtol=rtol))
        ).all()
        found = xp.linalg.pinv(xp.asarray(x), rtol=rtol)
        near(found, np.linalg.pinv(x, rcond=1e-2), name)


ORDERS = ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf]


@pytest.mark.parametrize("order", ORDERS)
@few
@DATA
def test_matrix_norms(order, data):
    rows, columns = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    x = matrices(data, rows, columns)
    name = REAL_OF.get(x.dtype.name, x.dtype.name)
    for keepdims in (False, True):
        expected = np.linalg.norm(
            x.astype("complex128"), ord=order, axis=(-2, -1), keepdims=keepdims
        )
        near(xp.linalg.matrix_norm(xp.asarray(x), ord=order, keepdims=keepdims), expected, name)


@pytest.mark.parametrize("order", [0, 1, 2, 3, 0.5, -1, -2, np.inf, -np.inf])
@few
@DATA
def test_vector_norms(order, data):
    name = data.draw(st.sampled_from(INEXACT))
    x = drawn(data, data.draw(shapes(min_dims=1, min_side=1, max_dims=3)), name)
    real = REAL_OF.get(name, name)
    axis = data.draw(
        st.none() | st.integers(-x.ndim, x.ndim - 1) | st.just(tuple(range(x.ndim))) | st.just(())
    )
    keepdims = data.draw(st.booleans())
    size = np.abs(x.astype("complex128"))
    with np.errstate(all="ignore"):
        if order in (np.inf, -np.inf):
            expected = (np.max if order > 0 else np.min)(size, axis=axis, keepdims=keepdims)
        elif order == 0:
            expected = np.sum(size != 0, axis=axis, keepdims=keepdims)
        else:
            expected = np.sum(size**order, axis=axis, keepdims=keepdims) ** (1 / order)
    near(
        xp.linalg.vector_norm(xp.asarray(x), axis=axis, keepdims=keepdims, ord=order),
        expected,
        real,
    )


@few
@DATA
def test_diagonals(data):
    name = data.draw(st.sampled_from(NUMERIC))
    x = data.draw(arrays(name, shapes(min_dims=2), finite=True))
    offset = data.draw(st.integers(-4, 4))
    assume(-x.shape[-2] <= offset <= x.shape[-1])
    agree("linalg.diagonal", x, offset=offset)
    agree("linalg.matrix_transpose", x)
    agree("matrix_transpose", x)
    if name in INTEGERS:
        agree("linalg.trace", x, offset=offset)
        agree("linalg.trace", x, offset=offset, dtype=np.dtype("float64"))


@pytest.mark.parametrize("name", NUMERIC)
@few
@DATA
def test_products(name, data):
    limits = (
        {"finite": True, "high": 16}
        if name in DTYPES["complex"]
        else {"finite": True, "low": -16, "high": 16}
        if name in FLOATS
        else {}
    )
    n, k, m = data.draw(st.tuples(*[st.integers(0, 3)] * 3))
    stack = data.draw(shapes(max_dims=1))
    x1, x2 = (data.draw(arrays(name, s, **limits)) for s in ((*stack, n, k), (k, m)))
    v1, v2 = (data.draw(arrays(name, (k,), **limits)) for _ in range(2))
    cases = [
        ("matmul", x1, x2), ("matmul", x1, v1), ("matmul", v1, x2), ("matmul", v1, v2),
        ("vecdot", x1, v1), ("linalg.outer", v1, v2),
    ]  # fmt: skip
    for function, left, right in cases:
        mine = at(xp, function)(xp.asarray(left), xp.asarray(right))
        with np.errstate(all="ignore"):
            theirs = at(strict, function)(strict.asarray(left), strict.asarray(right))
        alike(mine, theirs, name)
    alike(xp.asarray(x1) @ xp.asarray(x2), strict.asarray(x1) @ strict.asarray(x2), name)
    alike(xp.asarray(x2).__rmatmul__(xp.asarray(x1)), strict.asarray(x1) @ strict.asarray(x2), name)
    for axes in (1, 0, ((x1.ndim - 1,), (0,)), ((-1,), (0,))):
        mine = xp.tensordot(xp.asarray(x1), xp.asarray(x2), axes=axes)
        with np.errstate(all="ignore"):
            alike(mine, strict.tensordot(strict.asarray(x1), strict.asarray(x2), axes=axes), name)


def at(namespace, name):
    for part in name.split("."):
        namespace = getattr(namespace, part)
    return namespace


def alike(mine, theirs, name):
    if name in INTEGERS:
        compare("product", mine, theirs)
        return
    near(mine, np.asarray(theirs), name)


@few
@DATA
def test_vecdot_along_other_axes(data):
    name = data.draw(st.sampled_from(NUMERIC[:8] + INEXACT))
    x = drawn(data, (2, 3, 4), name) if name in INEXACT else data.draw(arrays(name, (2, 3, 4)))
    y = drawn(data, (3, 4), name) if name in INEXACT else data.draw(arrays(name, (3, 4)))
    for axis in (-1, -2):
        mine = xp.vecdot(xp.asarray(x), xp.asarray(y), axis=axis)
        expected = np.sum(np.conj(x) * y, axis=axis, dtype=x.dtype)
        assert mine.shape == expected.shape
        if name in INEXACT:
            near(mine, expected, name)
        else:
            np.testing.assert_array_equal(np.asarray(mine), expected)


@few
@DATA
def test_cross(data):
    name = data.draw(st.sampled_from(NUMERIC))
    limits = (
        {"finite": True, "high": 100}
        if name in DTYPES["complex"]
        else {"finite": True, "low": -100, "high": 100}
        if name in FLOATS
        else {}
    )
    for first, second, axis in (
        ((3,), (3,), -1),
        ((2, 3), (3,), -1),
        ((3, 2), (3, 1), -2),
        ((4, 3, 2), (3, 2), -2),
        ((2, 1, 3), (4, 3), -1),
    ):
        x1, x2 = data.draw(arrays(name, first, **limits)), data.draw(arrays(name, second, **limits))
        mine = xp.linalg.cross(xp.asarray(x1), xp.asarray(x2), axis=axis)
        moved = [np.moveaxis(x, axis, -1) for x in (x1, x2)]
        with np.errstate(all="ignore"):
            expected = np.moveaxis(np.cross(*np.broadcast_arrays(*moved)), -1, axis)
        assert str(mine.dtype).split(".")[-1] == name
        np.testing.assert_allclose(np.asarray(mine), expected, rtol=1e-3, atol=1e-2)
    for bad in ((2,), (4,), (1,)):
        with pytest.raises(ValueError, match="expected 3"):
            xp.linalg.cross(xp.ones(bad), xp.ones(3))


def test_linalg_refuses():
    with pytest.raises(ValueError, match="vectors"):
        xp.linalg.outer(xp.ones((2, 2)), xp.ones(2))
    with pytest.raises(ValueError, match="elements"):
        xp.vecdot(xp.ones(2), xp.ones(3))
    with pytest.raises(ValueError, match="two dimensions"):
        xp.matrix_transpose(xp.ones(2))
    with pytest.raises(RuntimeError):
        xp.matmul(xp.ones((2, 3)), xp.ones((2, 3)))
    with pytest.raises(RuntimeError):
        xp.linalg.inv(xp.zeros((2, 2)))
    with pytest.raises(RuntimeError, match="axes"):
        xp.tensordot(xp.ones(2), xp.ones(2), axes=2)
    with pytest.raises(TypeError):
        xp.matmul(xp.ones((2, 2)), 2)


# Fourier transforms

NORMS = st.sampled_from(["backward", "ortho", "forward"])
SINGLE = {
    "fft": "complex",
    "ifft": "complex",
    "rfft": "float",
    "irfft": "complex",
    "hfft": "complex",
    "ihfft": "float",
}
SEVERAL = {"fftn": "complex", "ifftn": "complex", "rfftn": "float", "irfftn": "complex"}


@pytest.mark.parametrize("function", SINGLE)
@few
@DATA
def test_single_transforms(function, data):
    name = data.draw(st.sampled_from(DTYPES[SINGLE[function]]))
    x = drawn(data, data.draw(shapes(min_dims=1, max_dims=3, min_side=2, max_side=7)), name)
    keywords = {
        "axis": data.draw(st.integers(-x.ndim, x.ndim - 1)),
        "n": data.draw(st.none() | st.integers(2, 9)),
        "norm": data.draw(NORMS),
    }
    expected = np.asarray(getattr(strict.fft, function)(strict.asarray(x), **keywords))
    near(getattr(xp.fft, function)(xp.asarray(x), **keywords), expected, expected.dtype.name)
    with pytest.raises(RuntimeError):
        getattr(xp.fft, function)(xp.asarray(x), norm="none")


@pytest.mark.parametrize("function", SEVERAL)
@few
@DATA
def test_transforms_of_several_axes(function, data):
    name = data.draw(st.sampled_from(DTYPES[SEVERAL[function]]))
    x = drawn(data, data.draw(shapes(min_dims=1, max_dims=3, min_side=2, max_side=5)), name)
    axes = data.draw(
        st.none() | st.lists(st.integers(0, x.ndim - 1), min_size=1, max_size=x.ndim, unique=True)
    )
    s = None if axes is None else data.draw(st.none() | st.just([5] * len(axes)))
    keywords = {"axes": axes, "s": s, "norm": data.draw(NORMS)}
    expected = np.asarray(getattr(strict.fft, function)(strict.asarray(x), **keywords))
    near(getattr(xp.fft, function)(xp.asarray(x), **keywords), expected, expected.dtype.name)


@pytest.mark.parametrize("function", ["fftfreq", "rfftfreq"])
@few
@given(n=st.integers(1, 20), d=st.floats(0.125, 10), name=st.none() | st.sampled_from(FLOATS))
def test_frequencies(function, n, d, name):
    found = getattr(xp.fft, function)(n, d=d, dtype=None if name is None else getattr(xp, name))
    near(found, getattr(np.fft, function)(n, d), name or "float64")
    assert getattr(xp.fft, function)(n, device="cpu").shape == found.shape


@pytest.mark.parametrize("function", ["fftshift", "ifftshift"])
@few
@DATA
def test_shifts(function, data):
    x = data.draw(arrays(data.draw(st.sampled_from(INEXACT)), shapes(min_dims=1)))
    axes = data.draw(st.none() | st.integers(0, x.ndim - 1) | st.just(tuple(range(x.ndim))))
    agree(f"fft.{function}", x, axes=axes)

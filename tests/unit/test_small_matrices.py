"""Small matrices: factors and solutions within the bounds of their methods, and bits that nothing
beside a matrix changes.

The bounds are Higham's (Accuracy and Stability of Numerical Algorithms, 2nd edition): with u half
the spacing of numbers at 1 and g(k) = k u / (1 - k u),

- LU with pivots, theorem 9.3: |P L U - A| <= g(n) |P L| |U|; solutions by it, theorem 9.4:
  |A X - B| <= g(3n) |P L| |U| |X|;
- triangles, theorem 8.5: |T X - B| <= g(n) |T| |X|;
- Cholesky, theorem 10.3: |L Lᵀ - A| <= g(n + 1) |L| |Lᵀ|;
- Householder, section 19.3: a reflection is the sum of at most m products, scaled by a factor that
  comes from such a sum, and subtracted, each twice: it is off by less than (6 m + 20) u times the
  norm of what it is applied to, and k of them by k times that.

What is found in float32 is checked in float64; in float64, the check itself may be off by as much
again as g(n) of the same products, for which all bounds are doubled.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import aten
from aten.linalg import LinAlgError

SIDES = [1, 2, 3, 4, 5, 7, 8, 9, 16, 31, 32, 33]
DTYPES = [aten.float32, aten.float64]


def drawn(*shape: int, dtype: aten.dtype, seed: int = 0) -> aten.Tensor:
    generator = aten.Generator().manual_seed(seed + sum(shape))
    return aten.randn(shape, dtype=dtype, generator=generator)


def positive(count: int, side: int, dtype: aten.dtype) -> aten.Tensor:
    given = drawn(count, side, side, dtype=dtype)
    return given @ given.mT + aten.eye(side, dtype=dtype)


def growth(steps: int, dtype: aten.dtype) -> float:
    """Twice Higham's gamma."""
    unit = aten.finfo(dtype).eps / 2
    return 2 * steps * unit / (1 - steps * unit)


def double(*tensors: aten.Tensor) -> tuple[aten.Tensor, ...]:
    return tuple(one.to(aten.float64) for one in tensors)


def assert_within(found: aten.Tensor, expected: aten.Tensor, bound: aten.Tensor) -> None:
    assert bool(((found - expected).abs() <= bound).all())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("rows", SIDES)
@pytest.mark.parametrize("columns", [1, 4, 32, 33])
def test_lu(rows: int, columns: int, dtype: aten.dtype) -> None:
    a = drawn(5, rows, columns, dtype=dtype)
    lu, pivots, info = aten.linalg.lu_factor_ex(a)
    assert info.tolist() == [0] * 5
    a, p, lower, upper = double(a, *aten.lu_unpack(lu, pivots))
    assert float(lower.abs().max()) <= 1
    bound = growth(min(rows, columns), dtype) * (p @ lower.abs() @ upper.abs())
    assert_within(p @ lower @ upper, a, bound)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("side", SIDES)
def test_solutions_and_inverses(side: int, dtype: aten.dtype) -> None:
    a = drawn(5, side, side, dtype=dtype)
    p, lower, upper = double(*aten.lu_unpack(*aten.linalg.lu_factor(a)))
    sizes = growth(3 * side, dtype) * (p @ lower.abs() @ upper.abs())
    matrices, vectors = drawn(5, side, 3, dtype=dtype), drawn(5, side, dtype=dtype)
    for right, found in (
        (matrices, aten.linalg.solve(a, matrices)),
        (vectors.unsqueeze(-1), aten.linalg.solve(a, vectors).unsqueeze(-1)),
        (aten.eye(side, dtype=dtype).expand(5, side, side), aten.linalg.inv(a)),
    ):
        assert found.shape == right.shape
        assert_within(a.double() @ found.double(), right.double(), sizes @ found.double().abs())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("side", SIDES)
def test_determinants(side: int, dtype: aten.dtype) -> None:
    """They are those of a matrix as close by as its factors: by what each element counts."""
    a = drawn(5, side, side, dtype=dtype)
    p, lower, upper = double(*aten.lu_unpack(*aten.linalg.lu_factor(a)))
    found = aten.linalg.det(a).double()
    sign, logarithm = aten.linalg.slogdet(a)
    changes = growth(side, dtype) * (p @ lower.abs() @ upper.abs())
    factors = aten.linalg.det(p) * upper.diagonal(0, -2, -1).prod(-1)
    assert_within(found, factors, growth(side + 1, dtype) * factors.abs())
    exact = aten.linalg.det(a.double())
    each = (aten.linalg.inv(a.double()).abs().mT * changes).sum((-2, -1))
    assert_within(found, exact, (2 * each + growth(2 * side, dtype)) * exact.abs())
    assert aten.equal(sign.double(), exact.sign())
    unit = growth(2 * side, dtype) + 2 * each + growth(1, dtype) * logarithm.abs().double()
    assert_within(logarithm.double(), exact.abs().log(), unit)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("side", SIDES)
def test_cholesky(side: int, dtype: aten.dtype) -> None:
    a, right = positive(5, side, dtype), drawn(5, side, 3, dtype=dtype)
    for upper in (False, True):
        # Only one triangle is looked at.
        given = a.triu() if upper else a.tril()
        factor = aten.linalg.cholesky(given, upper=upper)
        assert aten.equal(factor, factor.triu() if upper else factor.tril())
        lower = (factor.mT if upper else factor).double()
        sizes = lower.abs() @ lower.abs().mT
        assert_within(lower @ lower.mT, a.double(), growth(side + 1, dtype) * sizes)
        found = aten.cholesky_solve(right, factor, upper=upper).double()
        bound = growth(2 * side, dtype) * (sizes @ found.abs())
        assert_within(lower @ lower.mT @ found, right.double(), bound)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("side", SIDES)
def test_triangles(side: int, dtype: aten.dtype) -> None:
    right = drawn(5, side, 3, dtype=dtype)
    for upper in (False, True):
        for unit in (False, True):
            whole = drawn(5, side, side, dtype=dtype) / side + aten.eye(side, dtype=dtype)
            found = aten.linalg.solve_triangular(whole, right, upper=upper, unitriangular=unit)
            triangle = (whole.triu() if upper else whole.tril()).double()
            if unit:
                triangle.diagonal(0, -2, -1).fill_(1)
            bound = growth(side, dtype) * (triangle.abs() @ found.double().abs())
            assert_within(triangle @ found.double(), right.double(), bound)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("mode", ["reduced", "complete"])
@pytest.mark.parametrize("rows", SIDES)
@pytest.mark.parametrize("columns", [1, 4, 32, 33])
def test_qr(rows: int, columns: int, mode: str, dtype: aten.dtype) -> None:
    a = drawn(5, rows, columns, dtype=dtype)
    a[1] = a[1].triu()
    q, r = aten.linalg.qr(a, mode)
    kept = rows if mode == "complete" else min(rows, columns)
    assert q.shape == (5, rows, kept)
    assert r.shape == (5, kept, columns)
    assert aten.equal(r, r.triu())
    steps = min(rows, columns)
    relative = steps * (6 * rows + 20) * aten.finfo(dtype).eps / 2
    q, r, a = double(q, r, a)
    off = aten.linalg.vector_norm(q @ r - a, dim=-2)
    assert bool((off <= 4 * relative * aten.linalg.vector_norm(a, dim=-2)).all())
    identity = aten.eye(kept, dtype=aten.float64)
    assert float((q.mT @ q - identity).abs().max()) <= 4 * relative
    # Householder's signs, and a triangle as it is.
    below = aten.linalg.vector_norm(a[0, 1:, 0])
    assert float(r[0, 0, 0]) * float(a[0, 0, 0]) < 0 or float(below) == 0
    assert aten.equal(r[1], a[1, :kept])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("side", SIDES)
def test_spectra(side: int, dtype: aten.dtype) -> None:
    """LAPACK's methods find those of a matrix that is off by a modest multiple of n u (LAPACK
    Users' Guide, 4.7 and 4.9): ten, here; twice that for the check."""
    relative = 20 * side * aten.finfo(dtype).eps / 2
    whole = drawn(5, side, side, dtype=dtype)
    symmetric = whole + whole.mT
    for triangle in ("L", "U"):
        given = symmetric.tril() if triangle == "L" else symmetric.triu()
        values, vectors = double(*aten.linalg.eigh(given, triangle))
        norm = values.abs().amax(-1)
        only = aten.linalg.eigvalsh(given, triangle).double()
        assert bool(((only - values).abs().amax(-1) <= relative * norm).all())
        assert bool((values.diff() >= 0).all())
        off = symmetric.double() @ vectors - vectors * values.unsqueeze(-2)
        assert bool((off.abs().amax((-2, -1)) <= relative * norm).all())
        identity = aten.eye(side, dtype=aten.float64)
        assert float((vectors.mT @ vectors - identity).abs().max()) <= relative
    for given in (whole, whole[..., : side // 2 + 1]):
        left, values, right = double(*aten.linalg.svd(given, full_matrices=False))
        norm = values[:, 0]
        only = aten.linalg.svdvals(given).double()
        assert bool(((only - values).abs().amax(-1) <= relative * norm).all())
        off = (left * values.unsqueeze(-2)) @ right - given.double()
        assert bool((off.abs().amax((-2, -1)) <= relative * norm).all())
        whole_left = aten.linalg.svd(given).U.double()
        assert whole_left.shape == (5, side, side)
        identity = aten.eye(side, dtype=aten.float64)
        assert float((whole_left.mT @ whole_left - identity).abs().max()) <= relative


CALLS: dict[str, Callable[[Any], Any]] = {
    "inv": aten.linalg.inv,
    "lu_factor": aten.linalg.lu_factor,
    "slogdet": aten.linalg.slogdet,
    "det": aten.linalg.det,
    "solve": lambda a: aten.linalg.solve(a, a * 2 + 1),
    "cholesky": aten.linalg.cholesky,
    "qr": aten.linalg.qr,
    "eigh": aten.linalg.eigh,
    "eigvalsh": aten.linalg.eigvalsh,
    "svd": aten.linalg.svd,
    "svdvals": aten.linalg.svdvals,
    "lstsq": lambda a: aten.linalg.lstsq(a, a)[::2],
    "triangles": lambda a: aten.linalg.solve_triangular(a, a, upper=True),
    "cholesky_solve": lambda a: aten.cholesky_solve(a, a),
}


def parts_of(found: Any) -> tuple[aten.Tensor, ...]:
    return (found,) if isinstance(found, aten.Tensor) else tuple(found)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("side", [2, 5, 8, 32])
def test_bits_depend_on_the_matrix_alone(side: int, dtype: aten.dtype, name: str) -> None:
    call, batch = CALLS[name], positive(300, side, dtype)
    together = parts_of(call(batch))
    threads = aten.get_num_threads()
    try:
        aten.set_num_threads(1)
        by_one = parts_of(call(batch))
    finally:
        aten.set_num_threads(threads)
    spread = aten.empty(20, 15, side, 2 * side, dtype=dtype)[..., ::2].transpose(0, 1)
    spread.copy_(batch.view(15, 20, side, side))
    elsewhere = [one.flatten(0, 1) for one in parts_of(call(spread))]
    for place, found in enumerate(together):
        assert aten.equal(found, by_one[place])
        assert aten.equal(found, elsewhere[place])
        for index in (0, 7, 299):
            assert aten.equal(parts_of(call(batch[index]))[place], found[index])
        assert aten.equal(parts_of(call(batch[3:6]))[place], found[3:6])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_what_is_not_ordinary_is_said_as_ever(dtype: aten.dtype) -> None:
    singular = aten.eye(3, dtype=dtype).repeat(4, 1, 1)
    singular[2, 1, 1] = 0
    with pytest.raises(LinAlgError, match="batch element 2"):
        aten.linalg.inv(singular)
    with pytest.raises(LinAlgError, match="batch element 2"):
        aten.linalg.solve(singular, singular)
    assert aten.linalg.inv_ex(singular).info.tolist() == [0, 0, 2, 0]
    assert aten.linalg.det(singular).tolist() == [1, 1, 0, 1]
    assert aten.linalg.slogdet(singular).logabsdet.tolist() == [0, 0, -math.inf, 0]
    with pytest.raises(LinAlgError, match="leading minor of order 2"):
        aten.linalg.cholesky(singular)
    for call in (aten.linalg.eigh, aten.linalg.svd):
        with pytest.raises(LinAlgError, match="finite"):
            call(aten.full((2, 2), math.inf, dtype=dtype))
    assert aten.linalg.det(aten.full((2, 2), math.nan, dtype=dtype)).isnan()
    tiny = aten.full((3, 2), 1e-30 if dtype is aten.float32 else 1e-200, dtype=dtype)
    tiny[0, 0] *= 3
    q, r = aten.linalg.qr(tiny)
    eps = aten.finfo(dtype).eps
    assert float((q.mT @ q - aten.eye(2, dtype=dtype)).abs().max()) <= 100 * eps
    assert float((q @ r - tiny).abs().max()) <= 100 * eps * float(tiny.max())
    huge = tiny / tiny.max() * aten.finfo(dtype).max / 4
    assert bool(aten.linalg.qr(huge).R.isfinite().all())


def test_results_lie_column_by_column() -> None:
    a = drawn(2, 3, 3, dtype=aten.float64)
    for found in (aten.linalg.inv(a), aten.linalg.lu_factor(a).LU, aten.linalg.solve(a, a)):
        assert found.stride() == (9, 1, 3)
    assert aten.linalg.qr(drawn(4, 2, dtype=aten.float32)).Q.stride() == (1, 4)
    assert aten.linalg.lu_factor(a).pivots.dtype is aten.int32

"""What defines linear algebra over factorizations and products gives what LAPACK gives; so does
what the factorizations mean on NumPy arrays."""

from __future__ import annotations

import math

import pytest
from definitions import check

import aten

A = aten.ops.aten
BATCHES = [(), (2,), (3, 1), (0,)]
SIDES = [0, 1, 2, 3, 6]
TYPES = [aten.float64, aten.complex128]


@pytest.fixture(autouse=True)
def same_numbers():
    aten.manual_seed(5)


def matrices(batch, rows, columns, dtype):
    return aten.randn(*batch, rows, columns, dtype=dtype)


def positive(batch, side, dtype):
    factor = matrices(batch, side, side, dtype)
    return factor.matmul(factor.mH) + aten.eye(side, dtype=dtype)


def near(left, right):
    return aten.allclose(left.to("cpu"), right.to("cpu"), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("batch", BATCHES, ids=str)
@pytest.mark.parametrize("side", SIDES)
def test_square_systems(side, batch, dtype):
    matrix = positive(batch, side, dtype) + matrices(batch, side, side, dtype)
    check("linalg_lu_factor_ex", matrix)
    check("_linalg_det", matrix)
    check("_linalg_slogdet", matrix)
    check("linalg_inv_ex", matrix)
    factors, pivots, _ = A.linalg_lu_factor_ex(matrix)
    for right in (matrices(batch, side, 2, dtype), matrices((4, *batch), side, 2, dtype)):
        for left in (False, True):
            rhs = right if left else right.mT
            check("_linalg_solve_ex", matrix, rhs, left=left)
            for adjoint in (False, True):
                check("linalg_lu_solve", factors, pivots, rhs, left=left, adjoint=adjoint)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("batch", BATCHES, ids=str)
@pytest.mark.parametrize("upper", [False, True])
def test_triangles(upper, batch, dtype):
    matrix, rhs = positive(batch, 4, dtype), matrices(batch, 4, 3, dtype)
    check("linalg_cholesky_ex", matrix, upper=upper)
    check("cholesky", matrix, upper)
    check("cholesky_solve", rhs, A.linalg_cholesky_ex(matrix, upper=upper)[0], upper)
    for unit in (False, True):
        options = {"upper": upper, "unitriangular": unit}
        check("linalg_solve_triangular", matrix, rhs, **options)
        check("linalg_solve_triangular", matrix, rhs.mT, left=False, **options)
        for turned in (False, True):
            check("triangular_solve", rhs, matrix, upper, turned, unit)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("batch", BATCHES, ids=str)
@pytest.mark.parametrize("sides", [(0, 3), (3, 0), (1, 1), (5, 3), (3, 5), (4, 4)], ids=str)
def test_reflections(sides, batch, dtype):
    matrix = matrices(batch, *sides, dtype)
    check("linalg_lu_factor_ex", matrix)
    check("lu_unpack", *A.linalg_lu_factor_ex(matrix)[:2])
    check("geqrf", matrix)
    for mode in ("reduced", "complete", "r"):
        check("linalg_qr", matrix, mode)
    vectors, factors = A.geqrf(matrix)
    rows, columns = sides
    if columns <= rows:
        check("linalg_householder_product", vectors, factors)
    for transposed in (False, True):
        check("ormqr", vectors, factors, matrices(batch, rows, 2, dtype), True, transposed)
        check("ormqr", vectors, factors, matrices(batch, 2, rows, dtype), False, transposed)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("side", [0, 1, 2, 5, 9])
def test_symmetric_systems(side, hermitian, dtype):
    """Indefinite ones, whose pivots are blocks of one and of two."""
    for batch in BATCHES:
        half = matrices(batch, side, side, dtype)
        matrix = half + (half.mH if hermitian else half.mT)
        # Small diagonals are no pivots.
        matrix = matrix - 0.99 * aten.diag_embed(matrix.diagonal(0, -2, -1))
        check("linalg_ldl_factor_ex", matrix, hermitian=hermitian)
        factors, pivots, _ = A.linalg_ldl_factor_ex(matrix, hermitian=hermitian)
        assert side < 5 or 0 in batch or bool((pivots < 0).any())
        rhs = matrices(batch, side, 3, dtype)
        check("linalg_ldl_solve", factors, pivots, rhs, hermitian=hermitian, tolerance=1e-5)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("batch", BATCHES, ids=str)
def test_spectra(batch, dtype):
    matrix = matrices(batch, 4, 4, dtype)
    there = matrix.to("reference")
    for triangle in ("L", "U"):
        check("_linalg_eigh", matrix, triangle, False)
        values, vectors = A._linalg_eigh(there, triangle)
        one = matrix.tril(-1) if triangle == "L" else matrix.triu(1).mH
        diagonal = aten.diag_embed(aten.diagonal(matrix, 0, -2, -1).real.to(dtype))
        whole = one + one.mH + diagonal
        assert near(whole.matmul(vectors.to("cpu")), (vectors * values.unsqueeze(-2)).to("cpu"))
    values, vectors = A.linalg_eig(there)
    assert near(matrix.to(vectors.dtype).matmul(vectors.to("cpu")), vectors * values.unsqueeze(-2))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("full", [False, True])
def test_singular_values(full, dtype):
    for batch in BATCHES:
        for rows, columns in ((3, 5), (5, 3), (0, 2), (4, 4)):
            matrix = matrices(batch, rows, columns, dtype)
            left, values, right = A._linalg_svd(matrix.to("reference"), full)
            wanted = A._linalg_svd(matrix, full)
            assert near(values, wanted[1])
            least = min(rows, columns)
            left, right = left.narrow(-1, 0, least), right.narrow(-2, 0, least)
            assert near((left * values.unsqueeze(-2)).matmul(right), matrix)
            check("_linalg_svd", matrix, full, places=("meta",))


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize("sides", [(5, 3), (3, 5), (4, 4)], ids=str)
def test_least_squares(sides, driver):
    for batch in ((), (2,)):
        matrix = matrices(batch, *sides, aten.float64)
        rhs = matrices(batch, sides[0], 2, aten.float64)
        check("linalg_lstsq", matrix, rhs, driver=driver)
    if driver != "gels":
        singular = aten.ones(*sides, dtype=aten.float64)
        rhs = matrices((), sides[0], 2, aten.float64)
        check("linalg_lstsq", singular, rhs, driver=driver, places=("reference",))


def test_exponentials_of_a_batch_have_squarings_of_their_own():
    matrix = matrices((4,), 3, 3, aten.float64) * aten.tensor([0.01, 1, 30, 1]).reshape(4, 1, 1)
    matrix[3, 0, 0] = math.inf
    check("linalg_matrix_exp", matrix)
    made = A.linalg_matrix_exp(matrix)
    assert bool(made[3].isnan().all())
    assert near(made[1], A.linalg_matrix_exp(matrix[1]))


def test_what_does_not_converge_is_refused():
    missing = aten.full((2, 2), math.nan, device="reference")
    with pytest.raises(aten.linalg.LinAlgError):
        A.linalg_eig(missing)


def test_singular_matrices_are_reported():
    matrix = aten.zeros(2, 2, device="reference")
    assert A.linalg_lu_factor_ex(matrix)[2].tolist() == 1
    assert A.linalg_cholesky_ex(matrix)[1].tolist() == 1
    assert A.linalg_ldl_factor_ex(matrix)[2].tolist() == 1
    with pytest.raises(aten.linalg.LinAlgError, match="singular"):
        aten.linalg.inv(matrix)
    with pytest.raises(aten.linalg.LinAlgError, match="minor of order 1"):
        aten.linalg.cholesky(matrix)
    for place in ("cpu", "reference"):
        with pytest.raises(aten.linalg.LinAlgError, match=r"cholesky: .* minor of order 1"):
            aten.cholesky(aten.zeros(2, 2, device=place))

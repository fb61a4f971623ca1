"""Linear algebra against torch: batches, layouts, dtypes, broadcasting, errors, metadata."""

from __future__ import annotations

import pytest
from comparison import assert_same, compare, torch, translated

import aten

# torch warns of what it deprecates.
pytestmark = pytest.mark.filterwarnings("ignore")

ELEMENTS = ["float32", "float64", "complex64", "complex128"]
TOLERANCE = {"float32": 2e-3, "complex64": 2e-3, "float64": 1e-9, "complex128": 1e-9}
BATCHES = [(), (2,), (3, 1), (0,)]


def sample(*shape, element="float64", seed=0):
    generator = torch.Generator().manual_seed(seed + sum(shape))
    made = torch.randn(shape, generator=generator, dtype=torch.complex128)
    dtype = getattr(torch, element)
    return (made if dtype.is_complex else made.real * 1.4).to(dtype)


def regular(*shape, element="float64", seed=0):
    """Square matrices far from singular."""
    return sample(*shape, element=element, seed=seed) + 4 * torch.eye(
        shape[-1], dtype=getattr(torch, element)
    )


def positive(*shape, element="float64", seed=0):
    made = regular(*shape, element=element, seed=seed)
    return made @ made.mH


def agree(expression, *operands, **options):
    tolerance = TOLERANCE[str(operands[0].dtype).removeprefix("torch.")]
    compare(expression, *operands, tolerance=tolerance, absolute=tolerance, **options)


def product(*factors):
    made = factors[0]
    for factor in factors[1:]:
        made = made @ factor
    return made


def of_svd(result):
    left, values, right = result
    kept = values.shape[-1]
    return (left[..., :kept] * values.unsqueeze(-2).to(left.dtype)) @ right[..., :kept, :], values


def of_eigen(matrix, values, vectors):
    vectors = vectors.to(values.dtype) if values.is_complex() else vectors
    return matrix.to(vectors.dtype) @ vectors - vectors * values.unsqueeze(-2).to(vectors.dtype)


SQUARE = {
    "det": lambda lib, m: lib.linalg.det(m),
    "slogdet": lambda lib, m: lib.slogdet(m),
    "inv": lambda lib, m: lib.linalg.inv(m),
    "inverse": lambda lib, m: m.inverse(),
    "inv_ex": lambda lib, m: tuple(lib.linalg.inv_ex(m)),
    "matrix_power": lambda lib, m: lib.linalg.matrix_power(m, 3),
    "matrix_power -2": lambda lib, m: lib.matrix_power(m, -2),
    "matrix_power 0": lambda lib, m: m.matrix_power(0),
    "matrix_exp": lambda lib, m: lib.linalg.matrix_exp(m / 4),
    "lu_factor": lambda lib, m: tuple(lib.linalg.lu_factor(m)),
    "lu": lambda lib, m: tuple(lib.linalg.lu(m)),
    "cond": lambda lib, m: lib.linalg.cond(m),
    "cond 1": lambda lib, m: lib.linalg.cond(m, 1),
    "cond fro": lambda lib, m: lib.linalg.cond(m, "fro"),
    "eigvals": lambda lib, m: lib.linalg.eigvals(m).abs().amax(-1),
}
POSITIVE = {
    "cholesky": lambda lib, m: lib.linalg.cholesky(m),
    "cholesky upper": lambda lib, m: lib.linalg.cholesky(m, upper=True),
    "cholesky_inverse": lambda lib, m: lib.cholesky_inverse(lib.linalg.cholesky(m)),
    "cholesky_solve": lambda lib, m: lib.cholesky_solve(m, lib.linalg.cholesky(m)),
    "eigvalsh": lambda lib, m: lib.linalg.eigvalsh(m),
    "eigvalsh U": lambda lib, m: lib.linalg.eigvalsh(m, UPLO="U"),
    "logdet": lambda lib, m: lib.logdet(m),
    "ldl_factor": lambda lib, m: tuple(lib.linalg.ldl_factor(m, hermitian=True)),
}
ANY = {
    "qr": lambda lib, m: tuple(lib.linalg.qr(m)),
    "qr complete": lambda lib, m: product(*lib.linalg.qr(m, mode="complete")),
    "qr r": lambda lib, m: lib.linalg.qr(m, mode="r")[1],
    "geqrf": lambda lib, m: tuple(lib.geqrf(m)),
    "svd": lambda lib, m: of_svd(lib.linalg.svd(m)),
    "svd reduced": lambda lib, m: of_svd(lib.linalg.svd(m, full_matrices=False)),
    "svd old": lambda lib, m: lib.svd(m, some=True)[1],
    "svd none": lambda lib, m: tuple(lib.svd(m, compute_uv=False)),
    "svdvals": lambda lib, m: lib.linalg.svdvals(m),
    "pinv": lambda lib, m: lib.linalg.pinv(m),
    "pinverse": lambda lib, m: m.pinverse(),
    "matrix_rank": lambda lib, m: lib.linalg.matrix_rank(m),
    "matrix_rank 1": lambda lib, m: lib.linalg.matrix_rank(m, atol=1.0),
    "nuclear_norm": lambda lib, m: lib.nuclear_norm(m, dim=(-2, -1)),
    "lu_factor": lambda lib, m: tuple(lib.linalg.lu_factor_ex(m)),
    "lu": lambda lib, m: tuple(lib.linalg.lu(m)),
}


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("batch", BATCHES, ids=str)
@pytest.mark.parametrize("name", SQUARE)
def test_of_square_matrices(name, batch, element):
    agree(SQUARE[name], regular(*batch, 3, 3, element=element), strides=False)


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("batch", BATCHES, ids=str)
@pytest.mark.parametrize("name", POSITIVE)
def test_of_positive_matrices(name, batch, element):
    agree(POSITIVE[name], positive(*batch, 3, 3, element=element), strides=False)


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 3), (2, 3, 4), (2, 9, 3), (3, 9), (2, 0), (0, 2)])
@pytest.mark.parametrize("name", ANY)
def test_of_matrices(name, shape, element):
    agree(ANY[name], sample(*shape, element=element), strides=False)


@pytest.mark.parametrize("element", ELEMENTS)
def test_eigenvectors(element):
    for batch in BATCHES:
        matrix = sample(*batch, 4, 4, element=element)
        agree(lambda lib, m: of_eigen(m, *lib.linalg.eig(m)), matrix, strides=False)
        hermitian = matrix + matrix.mH
        agree(lambda lib, m: of_eigen(m, *lib.linalg.eigh(m)), hermitian, strides=False)


SOLVERS = {
    "solve": lambda lib, a, b: lib.linalg.solve(a, b),
    "triangular": lambda lib, a, b: lib.linalg.solve_triangular(a, b, upper=True),
    "unitriangular": lambda lib, a, b: lib.linalg.solve_triangular(
        a, b, upper=False, unitriangular=True
    ),
    "triangular_solve": lambda lib, a, b: tuple(lib.triangular_solve(b, a, transpose=True)),
    "lu_solve": lambda lib, a, b: lib.linalg.lu_solve(*lib.linalg.lu_factor(a), b),
    "lu_solve adjoint": lambda lib, a, b: lib.linalg.lu_solve(
        *lib.linalg.lu_factor(a), b, adjoint=True
    ),
    "lstsq": lambda lib, a, b: lib.linalg.lstsq(a, b)[0],
    "lstsq gels": lambda lib, a, b: lib.linalg.lstsq(a, b, driver="gels")[0],
    "lstsq gelsd": lambda lib, a, b: tuple(lib.linalg.lstsq(a, b, driver="gelsd")),
    "lstsq gelss": lambda lib, a, b: tuple(lib.linalg.lstsq(a, b, driver="gelss")),
}
FROM_THE_RIGHT = {
    "solve": lambda lib, a, b: lib.linalg.solve(a, b, left=False),
    "triangular": lambda lib, a, b: lib.linalg.solve_triangular(a, b, upper=True, left=False),
    "lu_solve": lambda lib, a, b: lib.linalg.lu_solve(*lib.linalg.lu_factor(a), b, left=False),
    "lu_solve adjoint": lambda lib, a, b: lib.linalg.lu_solve(
        *lib.linalg.lu_factor(a), b, left=False, adjoint=True
    ),
}


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("batches", [((), ()), ((2,), (2,)), ((2, 1), (3,)), ((), (2,))], ids=str)
def test_solutions(batches, element):
    left = regular(*batches[0], 3, 3, element=element)
    for name, expression in SOLVERS.items():
        if name == "lstsq gels" or batches[0] == batches[1] or "lstsq" not in name:
            agree(expression, left, sample(*batches[1], 3, 2, element=element), strides=False)
    for expression in FROM_THE_RIGHT.values():
        agree(expression, left, sample(*batches[1], 2, 3, element=element), strides=False)


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize("shape", [(5, 3), (2, 5, 3), (3, 5), (2, 5, 1)], ids=str)
def test_least_squares(shape, driver, element):
    operands = sample(*shape, element=element), sample(*shape[:-1], 2, element=element)
    agree(
        lambda lib, a, b: tuple(lib.linalg.lstsq(a, b, driver=driver)),
        *operands,
        strides=False,
    )


@pytest.mark.parametrize("element", ELEMENTS)
def test_reflections(element):
    adjoint = {True, False}
    for shape in ((5, 3), (2, 4, 4)):
        matrix = sample(*shape, element=element)
        agree(lambda lib, m: lib.linalg.householder_product(*lib.geqrf(m)), matrix, strides=False)
        for left in (True, False):
            size = (shape[-2], 2) if left else (2, shape[-2])
            other = sample(*shape[:-2], *size, element=element)
            for transpose in adjoint:
                agree(
                    lambda lib, m, c, a=left, t=transpose: lib.ormqr(*lib.geqrf(m), c, a, t),
                    matrix,
                    other,
                    strides=False,
                )


@pytest.mark.parametrize("element", ["float32", "float16", "complex64", "int64"])
@pytest.mark.parametrize("order", ["fro", "nuc", 1, -1, 2, -2, float("inf"), -float("inf"), 3])
def test_matrix_norms(order, element):
    matrix = sample(2, 3, 4, element="complex64" if element == "complex64" else "float64")
    matrix = matrix.to(getattr(torch, element))
    for dim, keepdim in (((-2, -1), False), ((0, 2), True), ((2, 1), False), ((1, 1), True)):
        for name in ("matrix_norm", "norm"):
            compare(
                lambda lib, m, n=name, d=dim, k=keepdim: getattr(lib.linalg, n)(m, order, d, k),
                matrix,
                tolerance=3e-3,
                strides=False,
            )


CALLS = {
    "norm": lambda lib, m: lib.norm(m),
    "norm fro": lambda lib, m: m.norm("fro", dim=[0, 1]),
    "norm nuc": lambda lib, m: m.norm("nuc"),
    "norm inf": lambda lib, m: lib.norm(m, float("inf"), dim=0, keepdim=True),
    "norm other": lambda lib, m: lib.norm(m, "max"),
    "norm dtype": lambda lib, m: lib.norm(
        m, dtype=lib.complex128 if m.is_complex() else lib.float64
    ),
    "linalg.norm": lambda lib, m: lib.linalg.norm(m),
    "linalg.norm of a row": lambda lib, m: lib.linalg.norm(m, 3, dim=1),
    "frobenius_norm": lambda lib, m: lib.frobenius_norm(m, dim=(0, 1), keepdim=True),
    "lu": lambda lib, m: lib.lu(m, get_infos=True),
    "Tensor.lu": lambda lib, m: m.lu(),
    "multi_dot": lambda lib, m: lib.linalg.multi_dot([m, m.t(), m, m[0]]),
    "multi_dot of vectors": lambda lib, m: lib.linalg.multi_dot([m[0], m.t(), m[:, 0]]),
    "multi_dot of one": lambda lib, m: lib.linalg.multi_dot([m]),
    "multi_dot misfit": lambda lib, m: lib.linalg.multi_dot([m, m]),
    "chain_matmul": lambda lib, m: lib.linalg.multi_dot([m, m.t(), m]),
    "vander": lambda lib, m: lib.linalg.vander(m),
    "vander N": lambda lib, m: lib.linalg.vander(m, N=5),
    "vander misfit": lambda lib, m: lib.linalg.vander(m, N=1),
    "vander increasing": lambda lib, m: lib.vander(m[0], increasing=True),
    "vander of matrices": lambda lib, m: lib.vander(m),
    "vecdot": lambda lib, m: lib.linalg.vecdot(m, m, dim=0),
    "cross": lambda lib, m: lib.linalg.cross(m, m[:1].expand(2, 3)),
    "cross of any": lambda lib, m: lib.cross(m, m + 1),
    "cross misfit": lambda lib, m: lib.linalg.cross(m, m, dim=0),
    "diagonal": lambda lib, m: lib.linalg.diagonal(m, offset=1),
    "tensorinv": lambda lib, m: lib.linalg.tensorinv(lib.eye(6).reshape(2, 3, 6) * 2),
    "tensorinv misfit": lambda lib, m: lib.linalg.tensorinv(m, ind=1),
    "tensorsolve": lambda lib, m: lib.linalg.tensorsolve(lib.eye(6).reshape(2, 3, 6) * 2, m),
    "tensorsolve dims": lambda lib, m: lib.linalg.tensorsolve(
        lib.eye(6).reshape(2, 6, 3) * 2, m.t(), dims=(0,)
    ),
    "solve of a matrix not square": lambda lib, m: lib.linalg.solve(m, m),
    "inv of a vector": lambda lib, m: lib.linalg.inv(m[0]),
    "solve of integers": lambda lib, m: lib.linalg.solve(m.int(), m.int()),
    "solve of two dtypes": lambda lib, m: lib.linalg.solve(m[:, :2], m.double()),
    "eigh UPLO": lambda lib, m: lib.linalg.eigh(m[:, :2], UPLO="X"),
    "lu without pivots": lambda lib, m: lib.linalg.lu(m, pivot=False),
    "lstsq driver": lambda lib, m: lib.linalg.lstsq(m, m, driver="gelsx"),
    "svd driver": lambda lib, m: lib.linalg.svd(m, driver="gesvd"),
    "qr mode": lambda lib, m: lib.linalg.qr(m, mode="full"),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("element", ["float32", "complex64"])
def test_calls(name, element):
    compare(
        CALLS[name], sample(2, 3, element=element), tolerance=1e-4, absolute=1e-4, strides=False
    )


FAILURES = {
    "inv": lambda lib, m: lib.linalg.inv(m),
    "solve": lambda lib, m: lib.linalg.solve(m, m),
    "cholesky": lambda lib, m: lib.linalg.cholesky(m - 1),
    "lu_factor": lambda lib, m: lib.linalg.lu_factor(m),
    "matrix_power": lambda lib, m: lib.linalg.matrix_power(m, -1),
    "eigh": lambda lib, m: lib.linalg.eigh(m * float("nan")),
    "svd": lambda lib, m: lib.linalg.svd(m * float("nan")),
}


@pytest.mark.parametrize("name", FAILURES)
def test_what_matrices_do_not_allow(name):
    singular = torch.zeros(2, 3, 3)
    with pytest.raises(RuntimeError) as expected:
        FAILURES[name](torch, singular)
    with pytest.raises(RuntimeError, match="linalg") as given:
        FAILURES[name](aten, translated(singular))
    assert given.type.__name__ == expected.type.__name__.lstrip("_")
    assert issubclass(aten.linalg.LinAlgError, RuntimeError)


def same_metadata(expression, *operands):
    expected = expression(torch, *operands)
    given = expression(aten, *(translated(operand).to("meta") for operand in operands))
    pairs = [(given, expected)]
    if isinstance(expected, tuple):
        pairs = list(zip(given, expected, strict=True))
    for ours, theirs in pairs:
        assert ours.device.type == "meta"
        assert tuple(ours.shape) == tuple(theirs.shape)
        assert ours.dtype.name == str(theirs.dtype).removeprefix("torch.")


@pytest.mark.parametrize("name", [*SQUARE, *ANY])
def test_shapes_on_meta(name):
    same_metadata({**SQUARE, **ANY}[name], regular(2, 3, 3))


@pytest.mark.parametrize("name", SOLVERS)
def test_shapes_of_solutions_on_meta(name):
    same_metadata(SOLVERS[name], regular(4, 3, 3), sample(4, 3, 2))


def test_results_lie_in_memory_as_torch_has_them():
    matrix = regular(2, 3, 3)
    for expression in (
        lambda lib, m: lib.linalg.inv(m),
        lambda lib, m: lib.linalg.solve(m, m),
        lambda lib, m: lib.linalg.cholesky(m @ m.transpose(-2, -1)),
        lambda lib, m: tuple(lib.linalg.lu_factor(m)),
        lambda lib, m: tuple(lib.linalg.qr(m)),
    ):
        assert_same(
            expression(aten, translated(matrix)),
            expression(torch, matrix),
            tolerance=1e-6,
            # Zeros of an identity are the rounding of one library or the other.
            absolute=1e-15,
        )


def test_operands_are_left_alone():
    matrix = regular(2, 3, 3)
    ours = translated(matrix)
    for expression in [*SQUARE.values(), *ANY.values()]:
        expression(aten, ours)
        assert_same(ours, matrix)

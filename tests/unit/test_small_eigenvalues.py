"""Eigenvalues and eigenvectors of small symmetric matrices by kernels of our own.

Householder's reduction and QL iterations are products of orthogonal matrices that are each off by a
few rounding errors, so what is found belongs exactly to a matrix that differs from the given one
by no more than p(n) u of its norm, p a polynomial of low degree, and eigenvectors are as orthogonal
(Parlett, The Symmetric Eigenvalue Problem, section 6.8). In practice p(n) is about n; the tests
take 4 n eps, and for the smallest numbers that there are as many of these.
"""

import os
import subprocess
import sys

import numpy
import pytest

import aten

SIZES = (1, 2, 3, 5, 8, 15, 16, 17, 31, 32)
ELEMENTS = ("float32", "float64")


def drawn(n, seed=0):
    made = numpy.random.default_rng([n, seed]).standard_normal((n, n))
    return made + made.T


def rotated(values):
    """A matrix with these eigenvalues."""
    basis, _ = numpy.linalg.qr(drawn(len(values), 1))
    return (basis * values) @ basis.T


def scaled(n, exponents):
    """Rows and columns that become smaller by many orders of magnitude."""
    factors = 10.0**exponents
    return factors[:, None] * drawn(n, 2) * factors


def chain(n):
    """Wilkinson's matrix, whose largest eigenvalues come in pairs that almost agree."""
    beside = numpy.diag(numpy.ones(n - 1), 1)
    return numpy.diag(numpy.abs(numpy.arange(n) - (n - 1) / 2)) + beside + beside.T


MATRICES = {
    "drawn": drawn,
    "zero": lambda n: numpy.zeros((n, n)),
    "identity": numpy.eye,
    "ones": lambda n: numpy.ones((n, n)),
    "falling": lambda n: rotated(10.0 ** -numpy.linspace(0, 30, n)),
    "rising": lambda n: rotated(10.0 ** -numpy.linspace(30, 0, n)),
    "close": lambda n: rotated(1 + 1e-7 * numpy.arange(n)),
    "pairs": lambda n: rotated(numpy.arange(n) // 2 + 0.0),
    "diagonal": lambda n: numpy.diag(10.0 ** -numpy.linspace(0, 30, n)),
    "falling rows": lambda n: scaled(n, -numpy.linspace(0, 15, n)),
    "rising rows": lambda n: scaled(n, -numpy.linspace(15, 0, n)),
    "chain": chain,
    "tiny": lambda n: 1e-37 * drawn(n),
    "subnormal": lambda n: 1e-42 * drawn(n),
    "huge": lambda n: 1e37 * drawn(n),
}


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("kind", MATRICES)
def test_as_near_as_rounding_allows(kind, element):
    kinds = numpy.finfo(element)
    for n in SIZES:
        matrix = MATRICES[kind](n)
        matrix = ((matrix + matrix.T) / 2).astype(element)
        exact = matrix.astype("float64")
        reference = numpy.linalg.eigvalsh(exact)
        bound = 4 * n * (kinds.eps * numpy.abs(reference).max() + kinds.smallest_subnormal)
        values, vectors = aten.linalg.eigh(aten.from_numpy(matrix))
        alone = aten.linalg.eigvalsh(aten.from_numpy(matrix)).numpy()
        values, vectors = (one.numpy().astype("float64") for one in (values, vectors))
        assert (numpy.diff(values) >= 0).all()
        assert numpy.abs(vectors.T @ vectors - numpy.eye(n)).max() <= 4 * n * kinds.eps
        assert numpy.abs(exact @ vectors - vectors * values).max() <= bound
        assert numpy.abs(values - reference).max() <= bound
        assert numpy.abs(alone - reference).max() <= bound


@pytest.mark.parametrize("element", ELEMENTS)
def test_one_triangle_is_read(element):
    matrix = aten.from_numpy(drawn(9).astype(element))
    lower, upper = aten.tril(matrix) + 7 * aten.triu(matrix, 1), aten.triu(matrix)
    expected = aten.linalg.eigh(matrix)
    for found in (aten.linalg.eigh(lower), aten.linalg.eigh(upper.mT)):
        assert aten.equal(found[0], expected[0])
        assert aten.equal(found[1], expected[1])
    of_upper = aten.linalg.eigh(upper, UPLO="U")
    aten.testing.assert_close(of_upper[0], expected[0])
    assert not aten.allclose(aten.linalg.eigvalsh(upper), expected[0])


@pytest.mark.parametrize("n", [3, 16, 32])
def test_a_matrix_has_its_bits_in_every_batch(n):
    batch = aten.from_numpy(numpy.stack([drawn(n, seed) for seed in range(9)]).astype("float32"))
    values, vectors = aten.linalg.eigh(batch)
    for place in range(9):
        alone = aten.linalg.eigh(batch[place])
        assert aten.equal(alone[0], values[place])
        assert aten.equal(alone[1], vectors[place])


def test_every_width_of_vectors_gives_the_same_bits():
    program = """
import hashlib, aten
aten.manual_seed(1)
found = hashlib.sha256()
for element in (aten.float32, aten.float64):
    for n in (2, 9, 16, 31, 32):
        matrix = aten.randn(n, n, dtype=element)
        for one in aten.linalg.eigh(matrix + matrix.mT):
            found.update(one.contiguous().numpy().tobytes())
print(found.hexdigest())
"""
    results = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "ATEN_VECTOR_BYTES": str(width)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for width in (16, 32, 64)
    }
    assert len(results) == 1


def test_what_is_not_finite_is_refused():
    matrix = aten.eye(4)
    matrix[2, 1] = float("nan")
    with pytest.raises(aten.linalg.LinAlgError):
        aten.linalg.eigh(matrix)

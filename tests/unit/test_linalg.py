"""Linear algebra without torch: the driver, refusals, and results checked by multiplying back."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

import aten
from aten.backends.cpu.kernels.matrix.lapack import run_routine, signs_of_swaps, swapped_order
from aten.backends.cpu.operators.lapack import WORK, call, shared, stack_of


def close(given, expected, tolerance=1e-10):
    return bool((given - expected).abs().max() <= tolerance)


def regular(*shape):
    count = math.prod(shape)
    made = aten.tensor([math.sin(3.7 * place) for place in range(count)], dtype=aten.float64)
    return made.reshape(shape) + 2 * aten.eye(shape[-1], dtype=aten.float64)


def test_a_stack_is_a_copy_column_after_column():
    matrix = aten.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    stack = stack_of(matrix)
    assert stack.tolist() == [[[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]]
    stack[:] = 0
    assert matrix.tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    assert stack_of(matrix, (2, 2)).shape == (4, 3, 2)


def test_the_driver_reports_what_a_routine_refuses():
    aten.linalg.det(aten.eye(2))  # which opens the library
    stack = stack_of(aten.eye(2))
    with pytest.raises(RuntimeError, match="geqrf refuses its argument 4"):
        call("geqrf", 2, 2, stack, 1, aten.zeros(1, 2), WORK)


def test_shared_memory_serves_a_whole_batch():
    memory = shared(3, aten.float64, 5)
    assert memory.shape == (5, 3)
    assert memory.stride(0) == 0


def test_stacks_of_views_of_any_strides():
    base = aten.arange(120.0).reshape(4, 6, 5)
    for given in (base.permute(2, 0, 1), base[::2, 1:, ::3], base.expand(2, 4, 6, 5), base.mT):
        expected = given.reshape(-1, *given.shape[-2:]).transpose(1, 2)
        assert stack_of(given).tolist() == expected.tolist()
        assert stack_of(given).is_contiguous()


def test_the_driver_takes_nothing_that_a_routine_could_run_past():
    info = aten.zeros(2, dtype=aten.int64)
    cases = [
        (aten.zeros(3, 2, 2), 2),
        (aten.zeros(()), 2),
        (aten.zeros(2, 2, device="meta"), 2),
        (2, WORK),
        ("N",) * 32,
        (aten.zeros(2, 2), None),
    ]
    for arguments in cases:
        with pytest.raises(TypeError):
            run_routine(0, arguments, info)
    for wrong in (info.float(), info.expand(2, 2), aten.zeros(4, dtype=aten.int64)[::2]):
        with pytest.raises(TypeError, match="int64"):
            run_routine(0, (aten.zeros(2, 2),), wrong)


def test_rows_that_pivots_swap():
    pivots = aten.tensor([[1, 2, 3], [3, 3, 3], [2, 2, 3]])
    assert signs_of_swaps(pivots).tolist() == [1.0, 1.0, -1.0]
    order = swapped_order(pivots, 3)
    assert order.tolist() == [[0, 1, 2], [2, 0, 1], [1, 0, 2]]
    assert swapped_order(pivots, 2) is None
    assert swapped_order(pivots - 1, 3) is None


@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (2, 2, 1, 1)], ids=str)
def test_factors_multiply_back(shape):
    matrix = regular(*shape)
    p, lower, upper = aten.linalg.lu(matrix)
    assert close(p @ lower @ upper, matrix)
    q, r = aten.linalg.qr(matrix)
    assert close(q @ r, matrix)
    u, s, vh = aten.linalg.svd(matrix)
    assert close((u * s.unsqueeze(-2)) @ vh, matrix)
    values, vectors = aten.linalg.eigh(matrix + matrix.transpose(-2, -1))
    assert close(
        (vectors * values.unsqueeze(-2)) @ vectors.transpose(-2, -1) / 2,
        (matrix + matrix.transpose(-2, -1)) / 2,
    )
    assert close(matrix @ aten.linalg.inv(matrix), aten.eye(shape[-1], dtype=aten.float64))
    positive = matrix @ matrix.transpose(-2, -1)
    factor = aten.linalg.cholesky(positive)
    assert close(factor @ factor.transpose(-2, -1), positive)


def test_a_matrix_of_a_batch_does_not_depend_on_the_others():
    batch = regular(5, 4, 4)
    for function in (
        aten.linalg.inv,
        aten.linalg.svdvals,
        aten.linalg.matrix_exp,
        lambda m: aten.linalg.eig(m)[0],
        lambda m: aten.linalg.lstsq(m, m[..., :2])[0],
    ):
        together = function(batch)
        for place in range(5):
            assert together[place].tolist() == function(batch[place]).tolist()


def test_the_exponential_of_a_nilpotent_matrix_is_exact():
    matrix = aten.tensor([[0.0, 3.0], [0.0, 0.0]])
    assert aten.linalg.matrix_exp(matrix).tolist() == [[1.0, 3.0], [0.0, 1.0]]
    turn = aten.tensor([[0.0, -10.0], [10.0, 0.0]], dtype=aten.float64)
    expected = [[math.cos(10), -math.sin(10)], [math.sin(10), math.cos(10)]]
    assert close(aten.linalg.matrix_exp(turn), aten.tensor(expected, dtype=aten.float64), 1e-12)


@pytest.mark.parametrize(
    "pivots", [[0, 1, 1], [1, 2, 4], [-2, 1, 3], [1, 2, -3], [-1, -2, 3]], ids=str
)
def test_pivots_that_are_of_no_factorization(pivots):
    given = aten.tensor(pivots, dtype=aten.int32)
    with pytest.raises(RuntimeError, match="pivots"):
        aten.linalg.ldl_solve(aten.eye(3), given, aten.eye(3))
    if min(pivots) < 1 or max(pivots) > 3:
        with pytest.raises(RuntimeError, match="pivots"):
            aten.linalg.lu_solve(aten.eye(3), given, aten.eye(3))
        with pytest.raises(RuntimeError, match="pivots"):
            aten.lu_unpack(aten.eye(3), given)


@pytest.mark.parametrize("fill", [math.nan, math.inf])
def test_iterations_that_would_not_end(fill):
    matrix = aten.full((3, 3), fill)
    for function in (aten.linalg.eig, aten.linalg.eigh, aten.linalg.svd, aten.linalg.pinv):
        with pytest.raises(aten.linalg.LinAlgError, match="finite"):
            function(matrix)


def test_metadata_of_matrices_that_no_memory_holds():
    huge = aten.empty(10**6, 10**7, device="meta")
    u, s, vh = aten.linalg.svd(huge, full_matrices=False)
    assert [tuple(one.shape) for one in (u, s, vh)] == [(10**6, 10**6), (10**6,), (10**6, 10**7)]
    square = huge[:, : 10**6]
    assert aten.linalg.solve(square, huge).stride() == (1, 10**6)
    assert aten.linalg.det(square).shape == ()
    with pytest.raises(RuntimeError, match=r"square.*\[1000000, 10000000\]"):
        aten.linalg.inv(huge)


def test_conjugates_that_are_views():
    matrix = regular(3, 3).to(aten.complex128) * (1 + 2j)
    lazy = matrix.conj()
    assert close(aten.linalg.inv(lazy), aten.linalg.inv(lazy.resolve_conj()))
    assert close(aten.einsum("ij,jk", lazy, matrix), lazy.resolve_conj() @ matrix)


def test_einsum_contracts_in_the_order_that_costs_least():
    from aten.ops.linear_algebra.einsum import _cheap_order

    def order(*sizes):
        letters = "abcdefghij"[: len(sizes)]
        terms = [tuple(map(ord, pair)) for pair in pairwise(letters)]
        named = {ord(letter): size for letter, size in zip(letters, sizes, strict=True)}
        return _cheap_order(terms, (ord(letters[0]), ord(letters[-1])), named)

    assert order(2, 3) == []
    assert order(2, 100, 90, 80) == [(0, 1), (0, 1)]
    assert order(1000, 100, 90, 2) == [(1, 2), (0, 1)]
    assert order(10, 30, 5, 60, 2) == [(2, 3), (1, 2), (0, 1)]
    assert order(9, 8, 7, 6, 5, 4, 3, 2, 1)[0] == (6, 7)


def test_multi_dot_multiplies_in_the_order_that_costs_least():
    from aten.ops.linear_algebra.matrix_function import _best_cuts

    cuts = _best_cuts((10, 30, 5, 60))
    assert cuts[0, 3] == 2  # (10×30 · 30×5) · 5×60


@pytest.mark.parametrize("shapes", [((3, 4), (3, 0)), ((4,), (3, 4)), ((3, 4), (3, 5))], ids=str)
def test_distances_of_points_that_differ_in_size(shapes):
    with pytest.raises(RuntimeError, match="cdist"):
        aten.ops.aten._cdist_forward(*map(aten.ones, shapes), 2.0, None)

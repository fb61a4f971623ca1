"""Formulas for factorizations and solutions.

Sources: M. Giles, "An extended collection of matrix derivative results for forward and reverse mode
algorithmic differentiation", 2008; for complex matrices C. Boeddeker et al., "On the computation of
complex-valued gradients", 2017.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.registry import ops


def of_triangular_solution(
    gradient: Tensor, a: Tensor, result: Tensor, upper: bool, unitriangular: bool
) -> tuple[Tensor, Tensor]:
    """Of `prims.solve_triangular`: both operands."""
    to_b = ops.prims.solve_triangular(
        a.mH.resolve_conj().contiguous(), gradient.contiguous(), upper=not upper,
        unitriangular=unitriangular,
    )  # fmt: skip
    to_a = -ops.aten.matmul(to_b, result.mH)
    shift = 1 if unitriangular else 0
    to_a = ops.aten.triu(to_a, shift) if upper else ops.aten.tril(to_a, -shift)
    return to_a, to_b


def _solved(
    matrix: Tensor, right: Tensor, *, upper: bool, left: bool = True, unit: bool = False
) -> Tensor:
    return ops.aten.linalg_solve_triangular(
        matrix, right, upper=upper, left=left, unitriangular=unit
    )


def of_cholesky(gradient: Tensor, factor: Tensor, upper: bool = False) -> Tensor:
    """Of the factor of a Hermitian matrix, symmetrized as the operand is."""
    if upper:
        gradient, factor = gradient.mH, factor.mH
    inner = ops.aten.matmul(factor.mH, gradient)
    lower = ops.aten.tril(inner)
    symmetric = (lower + ops.aten.tril(inner, -1).mH) / 2
    made = _solved(factor.mH, symmetric, upper=True)
    return _solved(factor, made, upper=False, left=False)


def of_reflections(gradient: Tensor, a: Tensor, tau: Tensor) -> tuple[Tensor, Tensor]:
    """Of the first columns of a product of reflections 1 - tau v vᴴ: of their vectors and factors.

    The product is formed once more, one reflection at a time, as its factors need not be unitary.
    """
    rows, columns = a.shape[-2:]
    count = tau.shape[-1]
    unit = ops.aten.eye(rows, dtype=a.dtype, device=a.device)
    lower = ops.aten.tril(a, -1) + unit.narrow(-1, 0, columns)
    vectors = [ops.aten.narrow(lower, -1, place, 1) for place in range(count)]
    factors = [ops.aten.narrow(tau, -1, place, 1).unsqueeze(-1) for place in range(count)]
    made = ops.aten.expand(unit.narrow(-1, 0, columns), a.shape)
    before: list[tuple[Tensor, Tensor]] = []
    for vector, factor in zip(reversed(vectors), reversed(factors), strict=True):
        shadow = ops.aten.matmul(vector.mH, made)
        before.append((made, shadow))
        made = made - factor * ops.aten.matmul(vector, shadow)
    to_vectors, to_factors = [], []
    for vector, factor, (value, shadow) in zip(vectors, factors, reversed(before), strict=True):
        along = ops.aten.matmul(vector.mH, gradient)
        to_factors.append(-ops.aten.matmul(along, shadow.mH))
        to_vector = factor.conj() * ops.aten.matmul(gradient, shadow.mH)
        to_vectors.append(-to_vector - factor * ops.aten.matmul(value, along.mH))
        gradient = gradient - factor.conj() * ops.aten.matmul(vector, along)
    if not count:
        return ops.aten.zeros_like(a), ops.aten.zeros_like(tau)
    to_a = ops.aten.tril(ops.aten.cat(to_vectors, -1), -1)
    if count < columns:
        to_a = ops.aten.constant_pad_nd(to_a, [0, columns - count])
    return to_a, ops.aten.cat(to_factors, -1).squeeze(-2)


def of_compact_lu(gradient: Tensor, compact: Tensor, order: Tensor) -> Tensor:
    """Of both factors in one matrix, whose rows are the operand's in `order`."""
    rows, columns = compact.shape[-2:]
    size = min(rows, columns)
    lower = ops.aten.narrow(compact, -1, 0, size)
    unit = ops.aten.diag_embed(ops.aten.ones_like(ops.aten.diagonal(compact, 0, -2, -1)))
    top = ops.aten.tril(ops.aten.narrow(lower, -2, 0, size), -1) + unit
    upper = ops.aten.narrow(compact, -2, 0, size)
    square = ops.aten.triu(ops.aten.narrow(upper, -1, 0, size))
    to_square = ops.aten.narrow(ops.aten.narrow(gradient, -2, 0, size), -1, 0, size)
    to_lower = ops.aten.matmul(top.mH, ops.aten.tril(to_square, -1))
    to_upper = ops.aten.matmul(ops.aten.triu(to_square), square.mH)
    right = below = None
    if columns > size:
        right = ops.aten.narrow(gradient, -1, size, columns - size)
        to_lower = to_lower - ops.aten.matmul(
            right, ops.aten.narrow(compact, -1, size, columns - size).mH
        )
    if rows > size:
        below = ops.aten.narrow(gradient, -2, size, rows - size)
        to_upper = to_upper - ops.aten.matmul(
            ops.aten.narrow(compact, -2, size, rows - size).mH, below
        )
    inner = ops.aten.tril(to_lower, -1) + ops.aten.triu(to_upper)
    made = _solved(square.mH, inner, upper=False, left=False)
    made = _solved(top.mH, made, upper=True, unit=True)
    if right is not None:
        made = ops.aten.cat([made, _solved(top.mH, right, upper=True, unit=True)], -1)
    if below is not None:
        made = ops.aten.cat([made, _solved(square.mH, below, upper=False, left=False)], -2)
    places = ops.aten.argsort(order, -1).unsqueeze(-1).expand(made.shape)
    return ops.aten.gather(made, -2, places)


def order_of_rows(pivots: Tensor, compact: Tensor) -> Tensor:
    """Which row of the operand each row of the factors is."""
    return ops.prims.order_of_pivots(pivots, compact.shape[-2])


def of_qr(gradients: Sequence[Any], a: Tensor, q: Tensor, r: Tensor, mode: str) -> Tensor:
    """Of both factors. Raises NotImplementedError for modes without a unique one."""
    rows, columns = a.shape[-2:]
    if mode == "r" or (mode == "complete" and rows > columns):
        raise NotImplementedError(
            f"linalg_qr_backward: The QR decomposition is not differentiable when mode='{mode}'"
            + ("" if mode == "r" else " and nrows > ncols")
        )
    to_q, to_r = gradients
    if rows >= columns:
        return _of_square_qr(to_q, to_r, q, r)
    left, right = ops.aten.narrow(a, -1, 0, rows), ops.aten.narrow(a, -1, rows, columns - rows)
    to_right = ops.aten.narrow(to_r, -1, rows, columns - rows)
    to_q = to_q + ops.aten.matmul(right, to_right.mH)
    first = _of_square_qr(
        to_q, ops.aten.narrow(to_r, -1, 0, rows), q, ops.aten.narrow(r, -1, 0, rows)
    )
    assert left is not None
    return ops.aten.cat([first, ops.aten.matmul(q, to_right)], -1)


def _of_square_qr(to_q: Tensor, to_r: Tensor, q: Tensor, r: Tensor) -> Tensor:
    inner = ops.aten.matmul(to_r, r.mH) - ops.aten.matmul(q.mH, to_q)
    # What the strict lower triangle says, the upper one has to say as its adjoint.
    inner = ops.aten.triu(inner)
    symmetric = inner + ops.aten.triu(inner, 1).mH
    if q.is_complex():
        symmetric = inner + ops.aten.triu(inner, 1).mH
        diagonal = ops.aten.diagonal(symmetric, 0, -2, -1)
        symmetric = symmetric - ops.aten.diag_embed(diagonal - ops.aten.real(diagonal))
    made = to_q + ops.aten.matmul(q, symmetric)
    return _solved(r.mH, made, upper=False, left=False)


def _differences(values: Tensor) -> Tensor:
    """values[k] - values[j] in row j, column k, with ones on the diagonal."""
    gaps = values.unsqueeze(-2) - values.unsqueeze(-1)
    ones = ops.aten.ones_like(values)
    return gaps + ops.aten.diag_embed(ones)


def of_svd(gradients: Sequence[Any], u: Tensor, s: Tensor, vh: Tensor) -> Tensor:
    """Of the singular values and vectors, as far as given: they are defined up to a phase only."""
    to_u, to_s, to_vh = gradients
    size = s.shape[-1]
    rows, columns = u.shape[-2], vh.shape[-1]
    u, vh = ops.aten.narrow(u, -1, 0, size), ops.aten.narrow(vh, -2, 0, size)
    inner = ops.aten.zeros_like(ops.aten.matmul(u.mH, u))
    if to_s is not None:
        inner = inner + ops.aten.diag_embed(to_s).to(inner.dtype)
    if to_u is None and to_vh is None:
        return ops.aten.matmul(u, ops.aten.matmul(inner, vh))
    squares = s * s
    gaps = _differences(squares).to(inner.dtype)
    if to_u is not None:
        to_u = ops.aten.narrow(to_u, -1, 0, size)
        product = ops.aten.matmul(u.mH, to_u)
        skew = product - product.mH
        inner = inner + skew / gaps * s.unsqueeze(-2)
        if u.is_complex():
            phase = ops.aten.diagonal(skew, 0, -2, -1) / (2 * s)
            own = ops.aten.diagonal(skew / gaps * s.unsqueeze(-2), 0, -2, -1)
            inner = inner + ops.aten.diag_embed(phase - own)
    if to_vh is not None:
        to_vh = ops.aten.narrow(to_vh, -2, 0, size)
        product = ops.aten.matmul(vh, to_vh.mH)
        skew = product - product.mH
        turned = s.unsqueeze(-1) * (skew / gaps)
        if u.is_complex():
            turned = turned - ops.aten.diag_embed(ops.aten.diagonal(turned, 0, -2, -1))
        inner = inner + turned
    made = ops.aten.matmul(ops.aten.matmul(u, inner), vh)
    if to_u is not None and rows > size:
        scaled_u = to_u / s.unsqueeze(-2)
        outside = scaled_u - ops.aten.matmul(u, ops.aten.matmul(u.mH, scaled_u))
        made = made + ops.aten.matmul(outside, vh)
    if to_vh is not None and columns > size:
        scaled_v = to_vh / s.unsqueeze(-1)
        outside = scaled_v - ops.aten.matmul(ops.aten.matmul(scaled_v, vh.mH), vh)
        made = made + ops.aten.matmul(u, outside)
    return made


def of_eigh(gradients: Sequence[Any], values: Tensor, vectors: Tensor) -> Tensor:
    """Of eigenvalues and eigenvectors of Hermitian matrices."""
    to_values, to_vectors = gradients
    inner = ops.aten.zeros_like(vectors)
    if to_vectors is not None:
        product = ops.aten.matmul(vectors.mH, to_vectors)
        inner = product / _differences(values)
        # The operand is Hermitian, and so is its gradient.
        inner = (inner + inner.mH) / 2
        inner = inner - ops.aten.diag_embed(ops.aten.diagonal(inner, 0, -2, -1))
    if to_values is not None:
        inner = inner + ops.aten.diag_embed(to_values).to(inner.dtype)
    return ops.aten.matmul(vectors, ops.aten.matmul(inner, vectors.mH))


def of_eig(gradients: Sequence[Any], values: Tensor, vectors: Tensor) -> Tensor:
    """Of eigenvalues and eigenvectors of square matrices, which are normalized."""
    to_values, to_vectors = gradients
    inner = ops.aten.zeros_like(vectors)
    if to_vectors is not None:
        product = ops.aten.matmul(vectors.mH, to_vectors)
        length = ops.aten.real(ops.aten.diagonal(product, 0, -2, -1)).unsqueeze(-2)
        inner = product - ops.aten.matmul(vectors.mH, vectors * length)
        inner = inner / _differences(values).conj()
        inner = inner - ops.aten.diag_embed(ops.aten.diagonal(inner, 0, -2, -1))
    if to_values is not None:
        inner = inner + ops.aten.diag_embed(to_values)
    right = ops.aten.matmul(inner, vectors.mH)
    return ops.aten.linalg_solve(vectors.mH, right)


def of_least_squares(
    gradients: Sequence[Any], a: Tensor, b: Tensor, solution: Tensor
) -> tuple[Tensor, Tensor]:
    """Of solutions and sums of squares left over, for matrices that keep their rank.

    What is left over is at right angles to the columns of `a`, so that a change of the solution
    does not change its length.
    """
    to_solution, to_residuals = gradients[:2]
    is_vector = a.dim() - 1 == b.dim()
    right = b.unsqueeze(-1) if is_vector else b
    to_a, to_b = ops.aten.zeros_like(a), ops.aten.zeros_like(right)
    if to_solution is not None:
        inverse = ops.aten.linalg_pinv(a)
        given = to_solution.unsqueeze(-1) if is_vector else to_solution
        to_a = of_pseudoinverse(ops.aten.matmul(given, right.mH), inverse, a)
        to_b = ops.aten.matmul(inverse.mH, given)
    if to_residuals is not None and to_residuals.numel():
        found = solution.unsqueeze(-1) if is_vector else solution
        left_over = (ops.aten.matmul(a, found) - right) * (2 * to_residuals).unsqueeze(-2)
        to_a = to_a + ops.aten.matmul(left_over, found.mH)
        to_b = to_b - left_over
    return to_a, to_b.squeeze(-1) if is_vector else to_b


def of_pseudoinverse(gradient: Tensor, result: Tensor, a: Tensor) -> Tensor:
    """Of the Moore-Penrose inverse, for matrices that keep their rank.

    G. Golub, V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares
    problems whose variables separate", 1973, section 4.
    """
    adjoint = gradient.mH
    if a.shape[-2] <= a.shape[-1]:
        inner = ops.aten.matmul(adjoint, result)
        turned = ops.aten.matmul(inner, result.mH)
        outside = adjoint - ops.aten.matmul(inner, a)
        made = turned - ops.aten.matmul(result, inner).mH
        made = made - ops.aten.matmul(ops.aten.matmul(a, result), turned)
        return made + ops.aten.matmul(ops.aten.matmul(result.mH, result), outside)
    inner = ops.aten.matmul(result, adjoint)
    turned = ops.aten.matmul(result.mH, inner)
    outside = adjoint - ops.aten.matmul(a, inner)
    made = turned - ops.aten.matmul(inner, result).mH
    made = made + ops.aten.matmul(ops.aten.matmul(outside, result), result.mH)
    return made - ops.aten.matmul(ops.aten.matmul(turned, result), a)

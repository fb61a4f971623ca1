"""Functions of matrices: powers, products of many, exponentials, Vandermonde's, tensors'."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import factorial, nan, prod

from aten._core.base.dtypes import DTYPES
from aten._core.tensor.making import has_data
from aten._core.tensor.tensor import Tensor
from aten._core.tensor.tensor_impl import wrap_dimension
from aten.ops.definition import op
from aten.ops.linear_algebra.matrix_checks import require_equal_sides, require_square
from aten.registry import ops


@op
def linalg_matrix_power(self: Tensor, n: int) -> Tensor:
    """The product of n times the matrix; of -n times the inverse where n is negative.

    Raises LinAlgError for the inverse of a singular matrix.
    """
    require_equal_sides("linalg.matrix_power", "A", self)
    if n < 0:
        require_square("linalg.matrix_power", "A", self)
        self, n = ops.aten.linalg_inv(self), -n
    if n == 0:
        identity = ops.aten.eye(self.shape[-1], dtype=self.dtype, device=self.device)
        return ops.aten.copy(self.contiguous(), identity.expand(self.shape))
    result: Tensor | None = None
    square = self
    while True:
        if n % 2:
            result = square if result is None else result.matmul(square)
        n //= 2
        if n == 0:
            assert result is not None
            return result.clone() if result is self else result
        square = square.matmul(square)


@op
def linalg_multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of matrices in the order that multiplies least; the first and the last may be
    vectors."""
    name = "linalg.multi_dot"
    if len(tensors) < 2:
        raise RuntimeError(f"{name}: expected two tensors or more, got {len(tensors)}")
    factors = list(tensors)
    for place, tensor in enumerate(factors):
        ranks = (1, 2) if place in (0, len(factors) - 1) else (2,)
        if tensor.dim() not in ranks:
            raise RuntimeError(f"{name}: tensor {place} has rank {tensor.dim()}")
        if tensor.dtype != factors[0].dtype:
            raise RuntimeError(f"{name}: expected tensors of one dtype, tensor {place} differs")
    has_row, has_column = factors[0].dim() == 1, factors[-1].dim() == 1
    if has_row:
        factors[0] = factors[0].unsqueeze(0)
    if has_column:
        factors[-1] = factors[-1].unsqueeze(-1)
    for place in range(len(factors) - 1):
        if factors[place].shape[1] != factors[place + 1].shape[0]:
            raise RuntimeError(
                f"{name}: shapes {list(factors[place].shape)} and "
                f"{list(factors[place + 1].shape)} do not go together"
            )
    cuts = _best_cuts((*(factor.shape[0] for factor in factors), factors[-1].shape[1]))
    made = _product(factors, cuts, 0, len(factors))
    if has_row:
        made = made.squeeze(0)
    return made.squeeze(-1) if has_column else made


@lru_cache(maxsize=256)
def _best_cuts(sizes: tuple[int, ...]) -> dict[tuple[int, int], int]:
    """Where to cut the factors from `start` to `end` in two so that multiplications are fewest.

    Cormen et al., Introduction to Algorithms: matrix-chain multiplication.
    """
    count = len(sizes) - 1
    cost = {(start, start + 1): 0 for start in range(count)}
    cuts = {}
    for length in range(2, count + 1):
        for start in range(count - length + 1):
            end = start + length
            cost[start, end], cuts[start, end] = min(
                (
                    cost[start, cut] + cost[cut, end] + sizes[start] * sizes[cut] * sizes[end],
                    cut,
                )
                for cut in range(start + 1, end)
            )
    return cuts


def _product(
    factors: list[Tensor], cuts: dict[tuple[int, int], int], start: int, end: int
) -> Tensor:
    if end == start + 1:
        return factors[start]
    cut = cuts[start, end]
    return _product(factors, cuts, start, cut).mm(_product(factors, cuts, cut, end))


@op
def linalg_vander(x: Tensor, *, N: int | None = None) -> Tensor:  # noqa: N803
    """Powers 0 to N - 1 of the elements (*, n): (*, n, N); N is n where it is not given."""
    if N is not None and N <= 1:
        raise RuntimeError(f"linalg.vander: expected N above 1, got {N}")
    elements = x if x.dim() else x.unsqueeze(0)
    return _powers(elements, elements.shape[-1] if N is None else N)


def _powers(elements: Tensor, count: int) -> Tensor:
    """Powers 0 to count - 1 along a new dimension; of integers, as int64."""
    shape = elements.shape
    wide = elements.dtype
    if wide.kind in ("bool", "signed", "unsigned"):
        wide = DTYPES["int64"]
    ones = ops.aten.ones((*shape, min(count, 1)), dtype=wide, device=elements.device)
    repeated = elements.unsqueeze(-1).expand((*shape, max(count - 1, 0)))
    return ops.aten.cat([ones, repeated.cumprod(-1)], -1)


@op
def vander(x: Tensor, count: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of a vector's elements (n): (n, N), the highest first unless `increasing`."""
    if x.dim() != 1:
        raise RuntimeError(f"vander: expected a vector, got a tensor of rank {x.dim()}")
    columns = x.shape[0] if count is None else count
    if columns < 0:
        raise RuntimeError(f"vander: expected N of 0 or more, got {columns}")
    made = _powers(x, columns)
    return made if increasing else ops.aten.flip(made, [-1])


# Up to this 1-norm the [13/13] Padé approximant is exact in float64, and its coefficients.
_LARGEST_NORM = 5.371920351148152
_DEGREE = 13
_COEFFICIENTS = [
    factorial(2 * _DEGREE - degree) // (factorial(degree) * factorial(_DEGREE - degree))
    for degree in range(_DEGREE + 1)
]


@op
def linalg_matrix_exp(self: Tensor) -> Tensor:
    """Σ Aᵏ / k!, by a Padé approximant of A / 2ˢ squared s times, s for each matrix of its own.

    Higham, The Scaling and Squaring Method for the Matrix Exponential Revisited (2005).
    """
    require_equal_sides("linalg.matrix_exp", "A", self)
    if self.dtype.kind not in ("float", "complex"):
        raise RuntimeError(f"linalg.matrix_exp: expected floating or complex A, got {self.dtype}")
    if self.numel() == 0:
        return self.clone()
    # Twice the precision, for what squaring loses of it.
    wide = self.to(DTYPES["complex128" if self.is_complex() else "float64"])
    # How often it is squared changes by steps, and has no derivative.
    norm = wide.detach().abs().sum(-2, True).amax(-1, True)
    is_finite = norm.isfinite()
    squarings = (norm / _LARGEST_NORM).log2().ceil().clamp_min(0).masked_fill(~is_finite, 0)
    made = _approximant(wide.masked_fill(~is_finite, 0) * squarings.neg().exp2())
    for step in range(0 if not has_data(self) else int(squarings.max().item().real)):
        made = ops.aten.where(squarings > step, made.matmul(made), made)
    return made.masked_fill(~is_finite, nan).to(self.dtype).contiguous()


@op
def matrix_exp(self: Tensor) -> Tensor:
    """Another name of `linalg_matrix_exp`."""
    return ops.aten.linalg_matrix_exp.default(self)


def _approximant(scaled: Tensor) -> Tensor:
    """Of the exponentials of matrices that are small enough for it."""
    identity = ops.aten.eye(scaled.shape[-1], dtype=scaled.dtype, device=scaled.device)
    powers = [identity.expand(scaled.shape), scaled.matmul(scaled)]
    powers += [powers[1].matmul(powers[1])]
    powers += [powers[1].matmul(powers[2])]
    even = _even_polynomial(_COEFFICIENTS[0::2], powers)
    odd = scaled.matmul(_even_polynomial(_COEFFICIENTS[1::2], powers))
    return ops.aten.linalg_solve_ex(even - odd, even + odd)[0]


def _even_polynomial(coefficients: Sequence[int], powers: Sequence[Tensor]) -> Tensor:
    """The sum of A² to the power k by coefficient k from 0 to 6, given those up to 3."""
    # In units of the constant one, which keeps all of them within what numbers hold.
    unit = _COEFFICIENTS[0]
    low, high = (
        sum(
            (power * (one / unit) for one, power in zip(part, parts, strict=True)),
            start=powers[0] * 0,
        )
        for part, parts in ((coefficients[:4], powers), (coefficients[4:], powers[1:]))
    )
    return low + powers[3].matmul(high)


@op(row_major_out=True)
def linalg_tensorinv(self: Tensor, ind: int = 2) -> Tensor:
    """The inverse of the matrix of the first `ind` dimensions by the others, in that shape."""
    name = "linalg.tensorinv"
    if ind <= 0:
        raise RuntimeError(f"{name}: expected a positive ind, got {ind}")
    first, second = list(self.shape[:ind]), list(self.shape[ind:])
    if prod(first) != prod(second):
        raise RuntimeError(
            f"{name}: dimensions {first} and {second} of self do not hold as many elements"
        )
    inverse, info = ops.aten.linalg_inv_ex(self.reshape(prod(second), prod(first)))
    if has_data(self) and bool((info != 0).any()):
        raise RuntimeError(f"{name}: self is singular")
    return inverse.reshape(second + first)


@op
def linalg_tensorsolve(self: Tensor, other: Tensor, dims: Sequence[int] | None = None) -> Tensor:
    """X with tensordot(self, X, X.dim()) == other; `dims` of self are moved to the end first."""
    if dims is not None:
        moved = [wrap_dimension(one, self.dim()) for one in dims]
        self = self.movedim(moved, list(range(self.dim() - len(moved), self.dim())))
    shape = list(self.shape[other.dim() :])
    if prod(shape) != other.numel() or prod(self.shape[: other.dim()]) != other.numel():
        raise RuntimeError(
            f"linalg.tensorsolve: self of shape {list(self.shape)} does not go together with "
            f"other of {list(other.shape)}"
        )
    matrix = self.reshape(other.numel(), prod(shape))
    return ops.aten.linalg_solve(matrix, other.reshape(-1)).reshape(shape)


@op
def linalg_diagonal(matrix: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    return matrix.diagonal(offset, dim1, dim2)

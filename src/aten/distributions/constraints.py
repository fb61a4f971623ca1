"""What parameters and values of distributions must fulfil: `positive(x)` says where x does."""

from __future__ import annotations

from collections.abc import Callable

from aten._core.tensor.tensor import Tensor

__all__ = [
    "Constraint",
    "boolean",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "integer_interval",
    "interval",
    "lower_cholesky",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "real",
    "real_vector",
    "simplex",
    "unit_interval",
]

Check = Callable[[Tensor], Tensor]


class Constraint:
    """A condition on elements, or on vectors or matrices of the last `event_dim` dimensions."""

    def __init__(self, name: str, check: Check, event_dim: int = 0, is_discrete: bool = False):
        self.name = name
        self.check = check
        self.event_dim = event_dim
        self.is_discrete = is_discrete

    def __call__(self, value: Tensor) -> Tensor:
        return self.check(value)

    def __repr__(self) -> str:
        return self.name


def _whole(value: Tensor) -> Tensor:
    return value % 1 == 0


def greater_than(lower_bound: float | Tensor) -> Constraint:
    """Above the bound."""
    return Constraint(f"GreaterThan(lower_bound={lower_bound})", lambda x: lower_bound < x)


def greater_than_eq(lower_bound: float | Tensor) -> Constraint:
    """Not below the bound."""
    return Constraint(f"GreaterThanEq(lower_bound={lower_bound})", lambda x: lower_bound <= x)


def interval(lower_bound: float | Tensor, upper_bound: float | Tensor) -> Constraint:
    """Between the bounds, or one of them."""
    name = f"Interval(lower_bound={lower_bound}, upper_bound={upper_bound})"
    return Constraint(name, lambda x: (lower_bound <= x) & (x <= upper_bound))


def half_open_interval(lower_bound: float | Tensor, upper_bound: float | Tensor) -> Constraint:
    """Between the bounds, or the lower one."""
    name = f"HalfOpenInterval(lower_bound={lower_bound}, upper_bound={upper_bound})"
    return Constraint(name, lambda x: (lower_bound <= x) & (x < upper_bound))


def integer_interval(lower_bound: float | Tensor, upper_bound: float | Tensor) -> Constraint:
    """A whole number between the bounds, or one of them."""
    name = f"IntegerInterval(lower_bound={lower_bound}, upper_bound={upper_bound})"
    return Constraint(
        name, lambda x: _whole(x) & (lower_bound <= x) & (x <= upper_bound), is_discrete=True
    )


def multinomial(total_count: int) -> Constraint:
    """Counts that sum to no more than the total."""
    return Constraint(
        f"Multinomial(upper_bound={total_count})",
        lambda x: (x >= 0).all(-1) & (x.sum((-1,)) <= total_count),
        1,
        True,
    )


real = Constraint("Real()", lambda x: x == x)
real_vector = Constraint("RealVector()", lambda x: (x == x).all(-1), 1)
positive = greater_than(0.0)
nonnegative = greater_than_eq(0.0)
unit_interval = interval(0.0, 1.0)
boolean = Constraint("Boolean()", lambda x: (x == 0) | (x == 1), is_discrete=True)
nonnegative_integer = Constraint(
    "IntegerGreaterThan(lower_bound=0)", lambda x: _whole(x) & (x >= 0), is_discrete=True
)
positive_integer = Constraint(
    "IntegerGreaterThan(lower_bound=1)", lambda x: _whole(x) & (x >= 1), is_discrete=True
)
simplex = Constraint("Simplex()", lambda x: (x >= 0).all(-1) & ((x.sum((-1,)) - 1).abs() < 1e-6), 1)
one_hot = Constraint(
    "OneHot()", lambda x: ((x == 0) | (x == 1)).all(-1) & (x.sum((-1,)) == 1), 1, True
)
lower_cholesky = Constraint(
    "LowerCholesky()",
    lambda x: (x.tril() == x).flatten(-2).all(-1) & (x.diagonal(0, -2, -1) > 0).all(-1),
    2,
)
positive_definite = Constraint(
    "PositiveDefinite()",
    lambda x: (x - x.mT).abs().flatten(-2).lt(1e-6).all(-1) & _is_definite(x),
    2,
)


def _is_definite(matrices: Tensor) -> Tensor:
    from aten.registry import ops

    return ops.aten.linalg_cholesky_ex(matrices)[1] == 0

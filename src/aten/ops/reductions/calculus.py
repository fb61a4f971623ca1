"""Derivatives and integrals of sampled functions: gradients, and the trapezoidal rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten._core.tensor.tensor_impl import wrap_dimension
from aten.ops.definition import op
from aten.prims import Number
from aten.registry import ops


@op("gradient.scalarint")
def gradient(
    self: Tensor, *, spacing: Number | None = None, dim: int | None = None, edge_order: int = 1
) -> tuple[Tensor, ...]:
    """The derivative along `dim`, or each dimension, of samples `spacing` apart.

    Central differences; at both ends one-sided ones of order `edge_order`, 1 or 2.
    Raises RuntimeError for other orders, repeated dimensions, and dimensions that are too short.
    """
    dims = _gradient_dims(self, dim)
    return _gradients(self, [1 if spacing is None else spacing] * len(dims), dims, edge_order)


@op("gradient.array")
def gradient_array(self: Tensor, *, dim: Sequence[int], edge_order: int = 1) -> tuple[Tensor, ...]:
    return _gradients(self, [1] * len(dim), dim, edge_order)


@op("gradient.scalararray")
def gradient_scalararray(
    self: Tensor, *, spacing: Number, dim: Sequence[int], edge_order: int = 1
) -> tuple[Tensor, ...]:
    return _gradients(self, [spacing] * len(dim), dim, edge_order)


@op("gradient.scalarrayarray", "gradient.tensorarray")
def gradient_each(
    self: Tensor, *, spacing: Sequence[Any], dim: Sequence[int], edge_order: int = 1
) -> tuple[Tensor, ...]:
    """`spacing` has a number, or the coordinates of the samples, for each of `dim`."""
    return _gradients(self, spacing, dim, edge_order)


@op("gradient.scalarrayint", "gradient.tensorarrayint")
def gradient_each_of_all(
    self: Tensor, *, spacing: Sequence[Any], dim: int | None = None, edge_order: int = 1
) -> tuple[Tensor, ...]:
    return _gradients(self, spacing, _gradient_dims(self, dim), edge_order)


def _gradient_dims(self: Tensor, dim: int | None) -> Sequence[int]:
    return range(self.dim()) if dim is None else (dim,)


def _gradients(
    self: Tensor, spacing: Sequence[Any], dim: Sequence[int], edge_order: int
) -> tuple[Tensor, ...]:
    if self.dtype.name == "uint8":
        raise RuntimeError("gradient: differences of uint8 have no sign")
    if len(spacing) != len(dim):
        raise RuntimeError(f"gradient: {len(dim)} dims need as many spacings, got {len(spacing)}")
    if edge_order not in (1, 2):
        raise RuntimeError(f"gradient: edge_order must be 1 or 2, but is {edge_order}")
    for step in spacing:
        if isinstance(step, Tensor) and step.device != self.device:
            raise RuntimeError(f"gradient: spacing must be on {self.device}, not {step.device}")
    dims = [wrap_dimension(one, self.dim()) for one in dim]
    if len(set(dims)) != len(dims):
        raise RuntimeError(f"gradient: dims must differ, got {list(dim)}")
    for one in dims:
        if self.dim() == 0 or self.size(one) < edge_order + 1:
            raise RuntimeError(
                f"gradient: edge_order {edge_order} needs {edge_order + 1} samples along each dim, "
                f"got shape {list(self.shape)}"
            )
    return tuple(
        _derivative(self, one, step, edge_order) for step, one in zip(spacing, dims, strict=True)
    )


def _derivative(self: Tensor, dim: int, step: Any, edge_order: int) -> Tensor:
    """By the weights of Fornberg, Generation of Finite Difference Formulas (1988)."""
    size = self.size(dim)
    steps = _steps(step, size)

    def at(start: int, length: int = 1) -> Tensor:
        return self.narrow(dim, start % size, length)

    def weighted(weights: Sequence[Any], start: int, length: int = 1) -> Tensor:
        terms = [
            at(start + place, length) * _along(weight, self, dim)
            for place, weight in enumerate(weights)
        ]
        made: Tensor = terms[0] + terms[1] + terms[2]
        return made

    if edge_order == 1:
        first = (at(1) - at(0)) / _along(steps(0), self, dim)
        last = (at(-1) - at(-2)) / _along(steps(size - 2), self, dim)
    elif not isinstance(step, Tensor):
        first = weighted((-1.5, 2.0, -0.5), 0) / step
        last = weighted((0.5, -2.0, 1.5), size - 3) / step
    else:
        first = weighted(_weights_at_start(steps(0), steps(1)), 0)
        near, far = steps(size - 2), steps(size - 3)
        last = weighted([-one for one in _weights_at_start(near, far)[::-1]], size - 3)
    if size == 2:
        return ops.aten.cat((first, last), dim)
    if not isinstance(step, Tensor):
        inner = (at(2, size - 2) - at(0, size - 2)) / step / 2
    else:
        inner = weighted(_inner_weights(steps(0, size - 2), steps(1, size - 2)), 0, size - 2)
    return ops.aten.cat((first, inner, last), dim)


def _steps(step: Any, size: int) -> Any:
    """Distances between samples: number `start`, or `length` of them from there, as 1-d tensor."""
    if not isinstance(step, Tensor):
        return lambda start, length=1: step
    if step.dim() != 1 or step.numel() != size:
        raise RuntimeError(
            f"gradient: {size} samples need coordinates of shape [{size}], got {list(step.shape)}"
        )
    distances = ops.aten.diff(step)
    return lambda start, length=1: distances.narrow(0, start, length)


def _along(value: Any, like: Tensor, dim: int) -> Any:
    """A number as it is; a 1-d tensor laid along `dim` of tensors shaped as `like`."""
    if not isinstance(value, Tensor):
        return value
    return value.reshape([-1 if place == dim else 1 for place in range(like.dim())])


def _weights_at_start(near: Any, far: Any) -> list[Any]:
    """Of three samples for the derivative at the first; `near` and `far` lie between them."""
    both = near + far
    return [-(near + both) / (near * both), both / (near * far), -near / (far * both)]


def _inner_weights(before: Any, after: Any) -> list[Any]:
    """Of three samples for the derivative at the middle one."""
    both = before + after
    return [-after / (before * both), (after - before) / (before * after), before / (after * both)]


@op("trapezoid.dx", "trapz.dx")
def trapezoid_dx(y: Tensor, *, dx: Number = 1, dim: int = -1) -> Tensor:
    """The integral along `dim` by the trapezoidal rule, of samples `dx` apart.

    Raises RuntimeError for bool, IndexError for a dimension out of range.
    """
    dim = _dimension("trapezoid", y, dim)
    if y.size(dim) == 0:
        return y.sum((dim,), dtype=y.dtype)
    ends = y.select(dim, 0) + y.select(dim, -1)
    return (y.sum((dim,)) - ends * 0.5) * dx


@op("trapezoid.x", "trapz.x")
def trapezoid_x(y: Tensor, x: Tensor, *, dim: int = -1) -> Tensor:
    """The integral along `dim` of samples at `x`: coordinates along `dim`, or a tensor like `y`."""
    dim = _dimension("trapezoid", y, dim, x)
    if y.size(dim) == 0:
        return y.sum((dim,), dtype=y.dtype)
    return _areas("trapezoid", y, x, dim).sum((dim,)) / 2.0


@op("cumulative_trapezoid.dx")
def cumulative_trapezoid_dx(y: Tensor, *, dx: Number = 1, dim: int = -1) -> Tensor:
    """The integrals from the first sample to each after it, of samples `dx` apart."""
    dim = _dimension("cumulative_trapezoid", y, dim)
    return ((dx / 2.0) * _sums(y, dim)).cumsum(dim)


@op("cumulative_trapezoid.x")
def cumulative_trapezoid_x(y: Tensor, x: Tensor, *, dim: int = -1) -> Tensor:
    """The integrals from the first sample to each after it, of samples at `x`."""
    dim = _dimension("cumulative_trapezoid", y, dim, x)
    return _areas("cumulative_trapezoid", y, x, dim).cumsum(dim) / 2.0


def _dimension(name: str, y: Tensor, dim: int, x: Tensor | None = None) -> int:
    dim = wrap_dimension(dim, y.dim())
    if y.dim() == 0:
        raise IndexError(f"{name}: dim is {dim}, but y has no dimensions")
    boolean = y.dtype.kind == "bool" or (x is not None and x.dtype.kind == "bool")
    if boolean and (y.size(dim) or name != "trapezoid"):
        raise RuntimeError(f"{name}: bool has no area below it")
    return dim


def _sums(y: Tensor, dim: int) -> Tensor:
    """Neighbours along `dim` added up."""
    count = max(y.size(dim) - 1, 0)
    return y.narrow(dim, min(1, y.size(dim)), count) + y.narrow(dim, 0, count)


def _areas(name: str, y: Tensor, x: Tensor, dim: int) -> Tensor:
    """Twice the areas between neighbours along `dim`."""
    if x.dim() == 1:
        if x.size(0) != y.size(dim):
            raise RuntimeError(
                f"{name}: {y.size(dim)} samples along dim {dim} need as many x, got {x.size(0)}"
            )
        x = _along(x, y, dim)
    elif x.dim() < y.dim():
        x = x.reshape((*[1] * (y.dim() - x.dim()), *x.shape))
    count = max(x.size(dim) - 1, 0)
    widths = x.narrow(dim, min(1, x.size(dim)), count) - x.narrow(dim, 0, count)
    return widths * _sums(y, dim)

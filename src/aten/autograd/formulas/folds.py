"""Formulas for sums, extremes, norms, scans and what is made of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from aten._core.base.dtypes import DTYPES
from aten._core.base.keys import gradient_modes
from aten._core.tensor.tensor import Tensor
from aten._core.tensor.tensor_impl import wrap_dimension
from aten.autograd.formulas.common import Dims, Maybe, count, dims_of, inverted, kept, spread
from aten.registry import ops


def finite(value: Tensor) -> Tensor:
    """`value`, with zero for infinities."""
    return ops.aten.where(ops.aten.isinf(value), 0, value)


def _degrees(self: Tensor, dim: Dims, correction: Any) -> float:
    """What a variance divides by: zero for no degree of freedom."""
    lost = 1 if correction is None else correction
    return max(0.0, count(self.shape, dim) - lost)


def _quotient(value: Tensor, divisor: float) -> Tensor:
    return value / divisor if divisor else value * math.nan


def slope_of_variance(
    gradient: Tensor, self: Tensor, dim: Dims, correction: Any, keepdim: bool
) -> Tensor:
    """2 · (x - mean) / degrees of freedom."""
    freedom = _degrees(self, dim, correction)
    dims = dims_of(dim, self.dim())
    centred = self - ops.aten.mean.dim(self, dims, True)
    return _quotient(kept(gradient, self.dim(), dim, keepdim) * 2, freedom) * centred


def slope_of_deviation(
    gradient: Tensor, result: Tensor, self: Tensor, dim: Dims, correction: Any, keepdim: bool
) -> Tensor:
    """The variance's, over twice the deviation; zero where that is zero."""
    to_variance = gradient / (result * 2)
    to_variance = ops.aten.masked_fill(to_variance, result == 0, 0)
    return slope_of_variance(to_variance, self, dim, correction, keepdim)


def slope_of_variance_and_mean(
    gradients: Sequence[Tensor], self: Tensor, dim: Dims, correction: Any, keepdim: bool
) -> Tensor:
    """For both results at once."""
    first = slope_of_variance(gradients[0], self, dim, correction, keepdim)
    return first + spread(gradients[1], self.shape, dim, keepdim) / count(self.shape, dim)


def slope_of_deviation_and_mean(
    gradients: Sequence[Tensor],
    result: Tensor,
    self: Tensor,
    dim: Dims,
    correction: Any,
    keepdim: bool,
) -> Tensor:
    """For both results at once."""
    first = slope_of_deviation(gradients[0], result, self, dim, correction, keepdim)
    return first + spread(gradients[1], self.shape, dim, keepdim) / count(self.shape, dim)


def slope_of_product(gradient: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """The product of all others, right for zeros, too."""
    if self.dim() == 0:
        return gradient
    others = _product_of_others(self.reshape(-1), 0).reshape(self.shape)
    return gradient * others.conj()


def slope_of_product_along(
    gradient: Tensor, self: Tensor, result: Tensor, dim: int, keepdim: bool
) -> Tensor:
    """The product of all others along `dim`."""
    if self.dim() == 0:
        return gradient
    dim = wrap_dimension(dim, self.dim())
    return kept(gradient, self.dim(), dim, keepdim) * _product_of_others(self, dim).conj()


def _product_of_others(self: Tensor, dim: int) -> Tensor:
    """Products of what comes before and of what comes after each element."""
    if self.numel() == 0:
        return self
    length = self.shape[dim]
    ones = ops.aten.ones_like(ops.aten.narrow(self, dim, 0, 1))
    before = ops.aten.cat([ones, ops.aten.narrow(self, dim, 0, length - 1)], dim)
    after = ops.aten.cat([ops.aten.narrow(self, dim, 1, length - 1), ones], dim)
    after = ops.aten.flip(ops.aten.cumprod(ops.aten.flip(after, [dim]), dim), [dim])
    return ops.aten.cumprod(before, dim) * after


def product_of_folded(gradient: Tensor, a: Tensor, dims: Dims) -> Tensor:
    """Of `prims.prod`: the product of all others."""
    dims = dims_of(dims, a.dim())
    kept_dims = [dim for dim in range(a.dim()) if dim not in dims]
    order = [*kept_dims, *dims]
    rows = a.permute(order).reshape([*(a.shape[dim] for dim in kept_dims), -1])
    others = _product_of_others(rows, len(kept_dims)).reshape([a.shape[dim] for dim in order])
    return kept(gradient, a.dim(), dims) * inverted(others, order).conj()


def to_extremes(
    gradient: Tensor, self: Tensor, result: Tensor, dim: Dims = None, keepdim: bool = False
) -> Tensor:
    """The gradient, shared evenly by all elements that are the result."""
    result = kept(result, self.dim(), dim, keepdim)
    mask = (self == result) | (ops.aten.isnan(self) & ops.aten.isnan(result))
    equal = ops.aten.sum.dim_IntList(mask, dims_of(dim, self.dim()), True)
    return mask * (kept(gradient, self.dim(), dim, keepdim) / equal)


def to_both_extremes(
    gradients: Sequence[Tensor],
    self: Tensor,
    smallest: Tensor,
    largest: Tensor,
    dim: int | None,
    keepdim: bool,
) -> Tensor:
    """For the smallest and the largest at once."""
    first = to_extremes(gradients[0], self, smallest, dim, keepdim)
    return first + to_extremes(gradients[1], self, largest, dim, keepdim)


def to_places(
    gradient: Tensor, sizes: Sequence[int], dim: int, places: Tensor, keepdim: bool
) -> Tensor:
    """Zeros with the gradient at the places along `dim` that it is for."""
    room = ops.aten.new_zeros(gradient, sizes)
    if not sizes:
        return gradient
    if not keepdim:
        gradient, places = gradient.unsqueeze(dim), places.unsqueeze(dim)
    return ops.aten.scatter(room, dim, places, gradient)


def to_repeated_places(gradient: Tensor, sizes: Sequence[int], dim: int, places: Tensor) -> Tensor:
    """The same, with the sum of what is for one place."""
    if not sizes:
        return gradient
    return ops.aten.scatter_add(ops.aten.new_zeros(gradient, sizes), dim, places, gradient)


def slope_of_norm(
    gradient: Tensor,
    self: Tensor,
    result: Tensor,
    p: Any,
    dim: Dims = None,
    keepdim: bool = False,
) -> Tensor:
    """Of a vector norm: zero where the norm is zero."""
    order = 2.0 if p is None else float(p)
    gradient, norm = (kept(one, self.dim(), dim, keepdim) for one in (gradient, result))
    if order == 0:
        return ops.aten.zeros_like(self)
    if order == 1:
        return ops.aten.sgn(self) * gradient
    if order == 2:
        return gradient * ops.aten.masked_fill(self / norm, norm == 0, 0)
    if math.isinf(order):
        size = ops.aten.abs(self)
        mask = (size == norm) | (ops.aten.isnan(size) & ops.aten.isnan(norm))
        equal = ops.aten.sum.dim_IntList(mask, dims_of(dim, self.dim()), True)
        return ops.aten.sgn(self) * (gradient / equal * mask)
    size = ops.aten.abs(self)
    if order < 2:
        powers = ops.aten.sgn(self) * ops.aten.masked_fill(size ** (order - 1), size == 0, 0)
    else:
        powers = self * size ** (order - 2)
    none = norm == 0
    safe = ops.aten.masked_fill(norm, none, 1)
    return powers * ops.aten.masked_fill(gradient / safe ** (order - 1), none, 0)


def reversed_sums(gradient: Tensor, dim: int) -> Tensor:
    """At each place the sum of it and all that follow."""
    if gradient.dim() == 0:
        return gradient
    return ops.aten.flip(ops.aten.cumsum(ops.aten.flip(gradient, [dim]), dim), [dim])


def slope_of_running_product(gradient: Tensor, self: Tensor, result: Tensor, dim: int) -> Tensor:
    """Without zeros, sums of gradient · result over the element; with them, product by product."""
    if self.dim() == 0 or self.numel() == 0:
        return gradient
    if not bool(ops.aten.any(self == 0)):
        return reversed_sums(gradient * result.conj(), dim) / self.conj()
    length = self.shape[dim]
    pieces = []
    for place in range(length):
        before = ops.aten.prod(ops.aten.narrow(self, dim, 0, place), dim, True)
        after = ops.aten.narrow(self, dim, place + 1, length - place - 1)
        ones = ops.aten.ones_like(before)
        products = ops.aten.cumprod(ops.aten.cat([ones, after], dim), dim) * before
        partial = ops.aten.narrow(gradient, dim, place, length - place) * products.conj()
        pieces.append(ops.aten.sum(partial, dim, True))
    return ops.aten.cat(pieces, dim)


def slope_of_logcumsumexp(gradient: Tensor, self: Tensor, result: Tensor, dim: int) -> Tensor:
    """At place i the sum over j ≥ i of gradient[j] · exp(self[i] - result[j]), a sum that fades.

    Linear in the gradient, and without large numbers: results only grow. In double precision:
    where results are large, they are not known well enough in another.
    """
    if self.dim() == 0 or self.numel() == 0:
        return gradient
    wide = DTYPES["complex128" if self.is_complex() else "float64"]
    if self.dtype is not wide:
        self = self.to(wide)
        result = ops.aten.logcumsumexp(self, dim)
    length = self.shape[dim]
    earlier = ops.aten.narrow(result, dim, 0, length - 1)
    later = ops.aten.narrow(result, dim, 1, length - 1)
    fading = ops.aten.exp(ops.aten.where(earlier == later, 0, earlier - later)).conj()
    made = _fading_sums(gradient.to(wide), fading, dim) * ops.aten.exp(self - result).conj()
    return made.to(gradient.dtype)


def _fading_sums(value: Tensor, fading: Tensor, dim: int) -> Tensor:
    """s[i] = value[i] + fading[i] · s[i + 1], of 1, 2, 4, … elements.

    W. Hillis, G. Steele, "Data parallel algorithms", 1986.
    """
    length, step = value.shape[dim], 1
    while step < length:
        left = length - step
        added = fading * ops.aten.narrow(value, dim, step, left)
        head = ops.aten.narrow(value, dim, 0, left) + added
        value = ops.aten.cat([head, ops.aten.narrow(value, dim, left, step)], dim)
        # `fading` goes over `step` places, and has no element for those that have fewer behind.
        further = max(left - step, 0)
        fading = ops.aten.narrow(fading, dim, 0, further) * ops.aten.narrow(
            fading, dim, min(step, left), further
        )
        step *= 2
    return value


def slope_of_target(
    gradient: Tensor, self: Tensor, target: Tensor, weight: Maybe, reduction: int
) -> Tensor:
    """Of binary cross entropy, for its target."""
    slope = ops.aten.clamp(ops.aten.log1p(-self), -100) - ops.aten.clamp(ops.aten.log(self), -100)
    slope = gradient * (slope if weight is None else slope * weight)
    return slope / self.numel() if reduction == 1 else slope


def of_group_norm(
    given: Sequence[Any],
    input: Tensor,
    mean: Tensor,
    rstd: Tensor,
    weight: Maybe,
    sizes: tuple[int, int, int, int],
    needed: tuple[bool, bool, bool],
) -> Any:
    """Of group norm's operands, for all three results."""
    count_, channels, inner, groups = sizes
    made: list[Any] = [None, None, None]
    if given[0] is not None:
        made = list(
            ops.aten.native_group_norm_backward(
                given[0].contiguous(), input.contiguous(), mean, rstd, weight, *sizes, needed
            )
        )
    if needed[0] and (given[1] is not None or given[2] is not None):
        rows = input.reshape(count_, groups, channels // groups * inner)
        number = rows.shape[-1]
        extra = ops.aten.zeros_like(rows)
        if given[1] is not None:
            extra = extra + given[1].unsqueeze(-1) / number
        if given[2] is not None:
            cube = (rstd * rstd * rstd * given[2]).unsqueeze(-1)
            extra = extra - (rows - mean.unsqueeze(-1)) * cube / number
        extra = extra.reshape(input.shape)
        made[0] = extra if made[0] is None else made[0] + extra
    return made


def of_layer_norm(
    gradient: Tensor,
    input: Tensor,
    normalized_shape: Sequence[int],
    mean: Tensor,
    rstd: Tensor,
    weight: Maybe,
    bias: Maybe,
    eps: float,
    needed: tuple[bool, bool, bool],
) -> Any:
    """Of layer norm's operands; what is recorded knows that mean and deviation are the input's."""
    if _is_recorded(input):
        dims = list(range(-len(normalized_shape), 0))
        mean = ops.aten.mean.dim(input, dims, True)
        rstd = _reciprocal_deviation(input, dims, eps, keepdim=True)
    return ops.aten.native_layer_norm_backward(
        gradient, input, normalized_shape, mean, rstd, weight, bias, needed
    )


def of_batch_norm(
    gradient: Tensor,
    input: Tensor,
    weight: Maybe,
    running_mean: Maybe,
    running_var: Maybe,
    mean: Tensor,
    rstd: Tensor,
    training: bool,
    eps: float,
    needed: tuple[bool, bool, bool],
) -> Any:
    """Of batch norm's operands, as `of_layer_norm`."""
    if training and _is_recorded(input):
        dims = [dim for dim in range(input.dim()) if dim != 1]
        mean = ops.aten.mean.dim(input, dims)
        rstd = _reciprocal_deviation(input, dims, eps)
    return ops.aten.native_batch_norm_backward(
        gradient, input, weight, running_mean, running_var, mean, rstd, training, eps, needed
    )


def _is_recorded(tensor: Tensor) -> bool:
    return tensor.requires_grad and gradient_modes()[0]


def _reciprocal_deviation(
    input: Tensor, dims: list[int], eps: float, keepdim: bool = False
) -> Tensor:
    variance = ops.aten.var.correction(input, dims, correction=0, keepdim=keepdim)
    return ops.aten.rsqrt(variance + eps)

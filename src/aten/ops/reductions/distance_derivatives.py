"""Derivatives of distances, and the product of three tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence

from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op


def _slope(difference: Tensor, gradient: Tensor, distance: Tensor, p: float) -> Tensor:
    """The gradient of a p-norm of differences, with respect to each of them."""
    if p == 0:
        return difference * 0
    sign = difference.sign()
    if p == 1:
        return gradient * sign
    if p == math.inf:
        return gradient * sign * (difference.abs() == distance)
    share = difference.abs().pow(p - 1) if p != 2 else difference.abs()
    whole = gradient * sign * share / distance.pow(p - 1)
    # At distance zero, and, for small p, where a coordinate does not differ.
    apart = (distance != 0) & ((difference != 0) | (p >= 1))
    return whole.where(apart, 0.0)


@op
def _cdist_backward(grad: Tensor, x1: Tensor, x2: Tensor, p: float, cdist: Tensor) -> Tensor:
    """The gradient of the first operand of `_cdist_forward`, whose result is `cdist`."""
    if x1.size(-1) != x2.size(-1):
        raise RuntimeError(
            f"_cdist_backward: points of {x1.size(-1)} and {x2.size(-1)} coordinates"
        )
    difference = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    slopes = _slope(difference, grad.unsqueeze(-1), cdist.unsqueeze(-1), p)
    return slopes.sum([-2]).contiguous()


@op
def _pdist_backward(grad: Tensor, self: Tensor, p: float, pdist: Tensor) -> Tensor:
    """The gradient of `_pdist_forward`, whose result is `pdist`."""
    count = self.size(0)
    if pdist.numel() == 0:
        return self * 0
    first, second = self.new_ones((count, count)).triu(1).nonzero().unbind(1)
    difference = self[first] - self[second]
    slopes = _slope(difference, grad.unsqueeze(1), pdist.unsqueeze(1), p)
    zeros = self.new_zeros(self.shape)
    return zeros.index_add_(0, first, slopes).index_add_(0, second, slopes, alpha=-1)


@op
def _trilinear(
    i1: Tensor,
    i2: Tensor,
    i3: Tensor,
    expand1: Sequence[int],
    expand2: Sequence[int],
    expand3: Sequence[int],
    sumdim: Sequence[int],
    unroll_dim: int = 1,
) -> Tensor:
    """The product of three tensors, widened by dimensions of size 1, summed over `sumdim`."""
    rank = i1.dim() + len(expand1)
    if not 0 <= unroll_dim < rank:
        raise RuntimeError(f"_trilinear: unroll_dim must be from 0 to {rank - 1}, not {unroll_dim}")
    for dim in sorted(expand1):
        i1 = i1.unsqueeze(dim)
    for dim in sorted(expand2):
        i2 = i2.unsqueeze(dim)
    for dim in sorted(expand3):
        i3 = i3.unsqueeze(dim)
    product = i1 * i2 * i3
    return product.sum(list(sumdim)) if sumdim else product

"""Covariances and correlations; means without NaN; traces."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from aten._core.base.dtypes import dtype
from aten._core.tensor.making import has_data
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.requirements import refusal
from aten.registry import ops

_INTEGERS = ("signed", "unsigned")


@op
def nanmean(
    self: Tensor,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: dtype | None = None,
) -> Tensor:
    """The mean of what is not NaN. Raises RuntimeError for bool, integers and complex numbers."""
    if self.dtype.kind not in ("float", "complex"):
        raise RuntimeError(f"nanmean: self must be floating or complex, but is {self.dtype}")
    count = (self == self).sum(dim, keepdim)
    return ops.aten.nansum(self, dim, keepdim, dtype=dtype) / count


@op
def trace(self: Tensor) -> Tensor:
    """The sum of a matrix's diagonal. Raises RuntimeError for tensors of other dimensions."""
    if self.dtype.kind == "bool":
        raise refusal("trace", self.dtype)
    if self.dim() != 2:
        raise RuntimeError(f"trace: self must have 2 dimensions, but has {self.dim()}")
    return self.diagonal().sum()


@op
def cov(
    self: Tensor,
    *,
    correction: int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    """The covariances of the rows, which are variables; columns are observations.

    `fweights` says how often each was made, `aweights` what it counts for. Raises RuntimeError for
    more than two dimensions, bool, and weights that do not fit.
    """
    if self.dim() > 2:
        raise RuntimeError(f"cov: self must have at most 2 dimensions, but has {self.dim()}")
    if self.dtype.kind == "bool":
        raise RuntimeError("cov: bool has no covariance")
    values = self if self.dim() == 2 else self.reshape((1, -1))
    count = values.size(1)
    _check_weights(count, fweights, aweights)
    weights = _product(fweights, aweights)
    total: Any = count if weights is None else weights.sum()
    if weights is not None and count and not total.is_nonzero():
        raise RuntimeError("cov: the weights must not sum to zero")
    weighted = values if weights is None else values * weights
    average = weighted.sum((1,)) / total
    if weights is None or aweights is None:
        freedom = total - correction
    else:
        freedom = total - correction * (weights * aweights).sum() / total
    if not isinstance(freedom, Tensor):
        freedom = ops.aten.scalar_tensor(freedom, device=self.device)
    if has_data(self) and bool((freedom <= 0).item()):
        warnings.warn("cov(): degrees of freedom is <= 0", UserWarning, stacklevel=2)
        freedom = ops.aten.zeros_like(freedom)
    centred = values - average.unsqueeze(1)
    right = centred if weights is None else centred * weights
    turned = ops.aten.conj(right.t()) if right.dtype.is_complex else right.t()
    made: Tensor = ops.aten.mm(centred, turned)
    return made.div(freedom).squeeze()


def _product(left: Tensor | None, right: Tensor | None) -> Tensor | None:
    if left is None or right is None:
        return right if left is None else left
    return left * right


def _check_weights(count: int, fweights: Tensor | None, aweights: Tensor | None) -> None:
    for name, weights, kinds in (
        ("fweights", fweights, _INTEGERS),
        ("aweights", aweights, ("float",)),
    ):
        if weights is None:
            continue
        if weights.dim() > 1:
            raise RuntimeError(f"cov: {name} must have one dimension, but has {weights.dim()}")
        if weights.dtype.kind not in kinds:
            raise RuntimeError(f"cov: {name} must not be of type {weights.dtype}")
        if weights.numel() != count:
            raise RuntimeError(f"cov: {count} observations need as many {name}: {weights.numel()}")
        if has_data(weights) and count and bool((weights < 0).any().item()):
            raise RuntimeError(f"cov: {name} must not be negative")


@op
def corrcoef(self: Tensor) -> Tensor:
    """The correlation coefficients of the rows, within [-1, 1]."""
    if self.dim() > 2:
        raise RuntimeError(f"corrcoef: self must have at most 2 dimensions, but has {self.dim()}")
    made: Tensor = ops.aten.cov.default(self)
    if made.dim() == 0:
        return made.div(made)
    variances = made.diagonal()
    if made.dtype.is_complex:
        variances = ops.aten.real(variances)
    deviations = variances.sqrt()
    made = made / deviations.reshape((-1, 1)) / deviations.reshape((1, -1))
    if not made.dtype.is_complex:
        return made.clamp(-1, 1)
    parts = (ops.aten.real(made).clamp(-1, 1), ops.aten.imag(made).clamp(-1, 1))
    return ops.aten.complex(*parts)

"""Medians, modes and quantiles."""

from __future__ import annotations

import math

from aten._core.base.dtypes import DTYPES, dtype
from aten._core.tensor.making import has_data
from aten._core.tensor.tensor import Tensor
from aten._core.tensor.tensor_impl import wrap_dimension
from aten.ops.definition import op
from aten.ops.indexing.scatter import at_least_vector
from aten.ops.requirements import refusal
from aten.ops.sorting.sorting import (
    differs_from_last,
    require_length,
    require_ranks,
    without_dimension,
)
from aten.registry import ops

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


@op("median.dim")
def median_dim(self: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The lower median along `dim`, NaN where an element is, and where it stands."""
    dim = require_length("median", self, dim)
    require_ranks("median", self)
    rows = at_least_vector(self)
    middle, last = (rows.size(dim) - 1) // 2, rows.size(dim) - 1
    values, indices = ops.prims.sort(rows, dim, False, True)
    if not self.is_floating_point():
        chosen = values.narrow(dim, middle, 1), indices.narrow(dim, middle, 1)
        return without_dimension(self, dim, keepdim, *chosen)
    # The first NaN stands behind all numbers.
    missing = _missing_along(rows, dim)
    rank = ops.aten.where(missing > 0, last + 1 - missing, middle)
    return _of_rank(self, dim, keepdim, values, indices, rank)


@op("nanmedian.dim")
def nanmedian_dim(self: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The lower median along `dim` of what is not NaN, and where it stands."""
    dim = require_length("nanmedian", self, dim)
    require_ranks("median", self)
    if not self.is_floating_point():
        return ops.aten.median.dim(self, dim, keepdim)
    rows = at_least_vector(self)
    values, indices = ops.prims.sort(rows, dim, False, True)
    numbers = rows.size(dim) - _missing_along(rows, dim)
    rank = ops.aten.floor_divide(numbers - 1, 2).clamp_min(0)
    return _of_rank(self, dim, keepdim, values, indices, rank)


def _missing_along(rows: Tensor, dim: int) -> Tensor:
    """How many NaNs there are along `dim`, which stays as one of size 1."""
    return rows.isnan().sum((dim,), True)


def _of_rank(
    self: Tensor, dim: int, keepdim: bool, values: Tensor, indices: Tensor, rank: Tensor
) -> tuple[Tensor, Tensor]:
    chosen = ops.prims.gather(values, rank, dim), ops.prims.gather(indices, rank, dim)
    return without_dimension(self, dim, keepdim, *chosen)


@op
def median(self: Tensor) -> Tensor:
    """The lower median of all elements, NaN where one is or there are none."""
    if self.numel() == 0:
        return self.new_full((), _missing(self.dtype))
    return ops.aten.median.dim(self.reshape((-1,)), 0)[0]


@op
def nanmedian(self: Tensor) -> Tensor:
    """The lower median of the elements that are not NaN."""
    if self.numel() == 0:
        return self.new_full((), _missing(self.dtype))
    return ops.aten.nanmedian.dim(self.reshape((-1,)), 0)[0]


def _missing(element: dtype) -> float:
    """NaN, or what processors make of it in converting it to an integer type."""
    if element.kind in ("float", "complex", "bool"):
        return math.nan
    return -(1 << (8 * element.itemsize - 1)) if element.itemsize >= 4 else 0


def check_mode(self: Tensor, dim: int) -> int:
    """The dimension from the front. Raises for elements and dimensions that `mode` refuses."""
    if self.dtype.is_complex or self.dtype.name in ("uint16", "uint32", "uint64"):
        raise refusal("mode_cpu", self.dtype)
    return require_length("mode", self, dim)


@op
def mode(self: Tensor, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The most frequent element along `dim`, the least of several, and where it stands last."""
    dim = check_mode(self, dim)
    rows = at_least_vector(self)
    values, indices = ops.prims.sort(rows, dim, False, True)
    length = rows.size(dim)
    begins = differs_from_last(values, dim)
    places = ops.aten.arange(length, device=self.device)
    sizes = [1] * rows.dim()
    sizes[dim] = length
    places = places.reshape(sizes)
    # How many there were of each up to its place: a run is as long as its last element says.
    begins = ops.aten.cummax(ops.aten.where(begins, places, 0), dim)[0]
    longest = (places - begins).argmax(dim, True)
    return _of_rank(self, dim, keepdim, values, indices, longest)


@op
def quantile(
    self: Tensor,
    q: Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """The quantiles `q`, in [0, 1], along `dim`: NaN where an element is; q's dimension is first.

    Raises RuntimeError for empty tensors, other types than float32 and float64, a `q` of two
    dimensions or out of range, and unknown interpolations.
    """
    return _quantiles("quantile", self, q, dim, keepdim, interpolation, ignore_nan=False)


@op
def nanquantile(
    self: Tensor,
    q: Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """The quantiles `q` of the elements that are not NaN; NaN where all are."""
    return _quantiles("nanquantile", self, q, dim, keepdim, interpolation, ignore_nan=True)


@op("quantile.scalar")
def quantile_scalar(
    self: Tensor,
    q: float,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    made = _one("quantile", self, q)
    return ops.aten.quantile.default(self, made, dim, keepdim, interpolation=interpolation)


@op("nanquantile.scalar")
def nanquantile_scalar(
    self: Tensor,
    q: float,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    made = _one("nanquantile", self, q)
    return ops.aten.nanquantile.default(self, made, dim, keepdim, interpolation=interpolation)


def _one(name: str, self: Tensor, q: float) -> Tensor:
    if not 0 <= q <= 1:
        raise RuntimeError(f"{name}: q must be within [0, 1], but is {q}")
    return self.new_full((), q)


def _quantiles(
    name: str,
    self: Tensor,
    q: Tensor,
    dim: int | None,
    keepdim: bool,
    interpolation: str,
    *,
    ignore_nan: bool,
) -> Tensor:
    _check_quantiles(name, self, q, interpolation)
    place = 0 if dim is None else wrap_dimension(dim, self.dim())
    rows = self.reshape((-1,)) if dim is None or self.dim() == 0 else self.movedim(place, -1)
    if rows.size(-1) == 0:
        raise RuntimeError(f"{name}: dim {dim} of a tensor of shape {list(self.shape)} is empty")
    ordered = ops.aten.sort(rows, -1)[0]
    if ignore_nan:
        last = (rows == rows).sum((-1,), True) - 1
    else:
        last = ops.aten.full_like(rows.narrow(-1, 0, 1), rows.size(-1) - 1, dtype=DTYPES["int64"])
    found = _interpolated(ordered, q.reshape((-1,)), last, interpolation)
    if not ignore_nan:
        missing = (rows != rows).any(-1, True)
        found = found.masked_fill(missing, math.nan)
    # (rest..., q) becomes (q, rest...), the folded dimension among the rest where it is kept.
    found = found.movedim(-1, 0)
    if keepdim:
        sizes = [1 if dim is None or one == place else size for one, size in enumerate(self.shape)]
        found = found.reshape((q.numel(), *sizes))
    elif dim is None or self.dim() == 0:
        found = found.reshape((q.numel(),))
    return found if q.dim() else found.squeeze(0)


def _interpolated(ordered: Tensor, q: Tensor, last: Tensor, interpolation: str) -> Tensor:
    """Between the neighbours of rank q * last in rows that are sorted: (..., q)."""
    ranks = (q * last).clamp_min(0)
    if interpolation == "lower":
        ranks = ranks.floor()
    elif interpolation == "higher":
        ranks = ranks.ceil()
    elif interpolation == "nearest":
        ranks = ranks.round()
    below = ranks.to(DTYPES["int64"])
    low = ops.aten.gather(ordered, -1, below)
    if interpolation not in ("linear", "midpoint"):
        return low
    weight = ranks - below
    if interpolation == "midpoint":
        weight = ops.aten.full_like(weight, 0.5)
    high = ops.aten.gather(ordered, -1, ranks.ceil().to(DTYPES["int64"]))
    return ops.aten.lerp(low, high, weight)


def _check_quantiles(name: str, self: Tensor, q: Tensor, interpolation: str) -> None:
    if self.numel() == 0:
        raise RuntimeError(f"{name}: self has no elements, its shape is {list(self.shape)}")
    if q.dim() > 1:
        raise RuntimeError(f"{name}: q must be a number or have one dimension, has {q.dim()}")
    if self.dtype.name not in ("float32", "float64"):
        raise RuntimeError(f"{name}: self must be of float32 or float64, but is {self.dtype}")
    if q.dtype is not self.dtype:
        raise RuntimeError(f"{name}: q must be of self's type {self.dtype}, but is {q.dtype}")
    if q.device != self.device:
        raise RuntimeError(f"{name}: q must be on self's device {self.device}, not {q.device}")
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            f"{name}: interpolation must be one of {', '.join(_INTERPOLATIONS)}, "
            f"but is {interpolation!r}"
        )
    if has_data(q) and not bool(((q >= 0) & (q <= 1)).all().item()):
        raise RuntimeError(f"{name}: the values of q must be within [0, 1]")

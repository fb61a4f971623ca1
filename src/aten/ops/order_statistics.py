"""Medians, modes and quantiles."""

from __future__ import annotations

import math

from aten._core.dtypes import DTYPES, dtype
from aten._core.tensor import Tensor, wrap_dimension
from aten.ops.definition import op
from aten.ops.requirements import refusal
from aten.ops.sorting import chosen_along, require_length, require_ranks
from aten.registry import ops

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


@op("median.dim")
def median_dim(self: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The lower median along `dim`, NaN where an element is, and where it stands."""
    dim = require_length("median", self, dim)
    require_ranks("median", self)
    return chosen_along(self, dim, keepdim, "median")


@op("nanmedian.dim")
def nanmedian_dim(self: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The lower median along `dim` of what is not NaN, and where it stands."""
    dim = require_length("nanmedian", self, dim)
    require_ranks("median", self)
    return chosen_along(self, dim, keepdim, "median of numbers")


@op
def median(self: Tensor) -> Tensor:
    """The lower median of all elements, NaN where one is or there are none."""
    return _of_all(self, "median")


@op
def nanmedian(self: Tensor) -> Tensor:
    """The lower median of the elements that are not NaN."""
    return _of_all(self, "median of numbers")


def _of_all(self: Tensor, way: str) -> Tensor:
    if self.numel() == 0:
        return self.new_full((), _missing(self.dtype))
    require_ranks("median", self)
    return chosen_along(self.reshape((-1,)), 0, False, way)[0]


def _missing(element: dtype) -> float:
    """NaN, or what processors make of it in converting it to an integer type."""
    if element.kind in ("float", "complex", "bool"):
        return math.nan
    return -(1 << (8 * element.itemsize - 1)) if element.itemsize >= 4 else 0


@op
def mode(self: Tensor, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The most frequent element along `dim`, the least of several, and where it stands last."""
    if self.dtype.is_complex or self.dtype.name in ("uint16", "uint32", "uint64"):
        raise refusal("mode_cpu", self.dtype)
    return chosen_along(self, require_length("mode", self, dim), keepdim, "mode")


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
    return ops.aten.quantile.default(self, made, dim, keepdim, interpolation=interpolation)  # type: ignore[no-any-return]


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
    return ops.aten.nanquantile.default(self, made, dim, keepdim, interpolation=interpolation)  # type: ignore[no-any-return]


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
        return low  # type: ignore[no-any-return]
    weight = ranks - below
    if interpolation == "midpoint":
        weight = ops.aten.full_like(weight, 0.5)
    high = ops.aten.gather(ordered, -1, ranks.ceil().to(DTYPES["int64"]))
    return ops.aten.lerp(low, high, weight)  # type: ignore[no-any-return]


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
    if not q.is_meta and not bool(((q >= 0) & (q <= 1)).all().item()):
        raise RuntimeError(f"{name}: the values of q must be within [0, 1]")

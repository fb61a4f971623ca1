"""Folds over dimensions: sums, extremes, tests, moments, norms."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Mapping

from aten._core.base.dtypes import DTYPES, dtype
from aten.ops.definition import converted, normalized_dims, op
from aten.ops.folding import Dims, extent, fold, fold_size, kept_dims, spread
from aten.ops.requirements import refusal, require_real
from aten.prims import Value
from aten.prims import elementwise as p


@op
def sum(self: Value, dim: Dims = None, keepdim: bool = False) -> Value:
    return fold("sum", self, dim, keepdim)


@op
def prod(self: Value, dim: Dims = None, keepdim: bool = False) -> Value:
    return fold("prod", self, dim, keepdim)


@op
def nansum(
    self: Value, dim: Dims = None, keepdim: bool = False, *, types: Mapping[str, dtype]
) -> Value:
    """The sum of what is not NaN. Integers have no NaN, and none comes of floating numbers."""
    if self.dtype.is_complex:
        raise RuntimeError(f"nansum: self must be real, but is of type {self.dtype}")
    if not self.dtype.is_floating_point:
        if types["self"].is_floating_point:
            raise refusal("nansum_cpu", self.dtype)
        return fold("sum", self, dim, keepdim)
    return fold("sum", p.where(self == self, self, 0), dim, keepdim)


@op
def mean(self: Value, dim: Dims = None, keepdim: bool = False) -> Value:
    _require_floating("mean", self)
    return _shaped(fold("sum", self, dim) / extent(self, dim), self, dim, keepdim)


@op
def amax(self: Value, dim: Dims = (), keepdim: bool = False) -> Value:
    require_real("amax", self)
    _require_elements("amax", self, dim)
    return fold("amax", self, dim, keepdim)


@op
def amin(self: Value, dim: Dims = (), keepdim: bool = False) -> Value:
    require_real("amin", self)
    _require_elements("amin", self, dim)
    return fold("amin", self, dim, keepdim)


@op
def max(self: Value) -> Value:
    require_real("max", self)
    _require_elements("max", self, None)
    return fold("amax", self, None)


@op
def min(self: Value) -> Value:
    require_real("min", self)
    _require_elements("min", self, None)
    return fold("amin", self, None)


@op("max.dim")
def max_dim(self: Value, dim: int, keepdim: bool = False) -> tuple[Value, Value]:
    return _extreme_along("max", self, dim, keepdim)


@op("min.dim")
def min_dim(self: Value, dim: int, keepdim: bool = False) -> tuple[Value, Value]:
    return _extreme_along("min", self, dim, keepdim)


@op
def aminmax(self: Value, *, dim: int | None = None, keepdim: bool = False) -> tuple[Value, Value]:
    """The least and the greatest element."""
    _require_elements("aminmax", self, dim)
    require_real("aminmax_cpu", self)
    return fold("amin", self, dim, keepdim), fold("amax", self, dim, keepdim)


@op
def hash_tensor(self: Value, dim: Dims = (), *, keepdim: bool = False, mode: int = 0) -> Value:
    """All elements' bits, floating-point ones as float64, folded by exclusive or (mode 0)."""
    if mode != 0:
        raise RuntimeError(f"hash_tensor: mode must be 0, but is {mode}")
    if self.dtype.is_complex or self.dtype.name in ("uint16", "uint32", "uint64"):
        raise refusal("xor_sum_cpu", self.dtype)
    _require_elements("hash_tensor", self, dim)
    if self.dtype.is_floating_point:
        bits = p.bitcast(converted(self, DTYPES["float64"]), dtype=DTYPES["uint64"])
    else:
        bits = p.bitcast(converted(self, DTYPES["int64"]), dtype=DTYPES["uint64"])
    return fold("xor", bits, dim, keepdim)


@op
def argmax(self: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    return _index_of_extreme("argmax", self, dim, keepdim)


@op
def argmin(self: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    return _index_of_extreme("argmin", self, dim, keepdim)


@op
def any(self: Value, dim: Dims = None, keepdim: bool = False) -> Value:
    return fold("amax", _truth(self), dim, keepdim)


@op
def all(self: Value, dim: Dims = None, keepdim: bool = False) -> Value:
    return fold("amin", _truth(self), dim, keepdim)


@op
def count_nonzero(self: Value, dim: Dims = None) -> Value:
    return fold("sum", converted(_truth(self), DTYPES["int64"]), dim)


@op
def var(
    self: Value,
    dim: Dims = None,
    unbiased: bool = True,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Value:
    return _moments(self, dim, unbiased, keepdim, correction, "var")[0]


@op
def std(
    self: Value,
    dim: Dims = None,
    unbiased: bool = True,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Value:
    return p.sqrt(_moments(self, dim, unbiased, keepdim, correction, "std")[0])


@op
def var_mean(
    self: Value,
    dim: Dims = None,
    unbiased: bool = True,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> tuple[Value, Value]:
    return _moments(self, dim, unbiased, keepdim, correction, "var_mean")


@op
def std_mean(
    self: Value,
    dim: Dims = None,
    unbiased: bool = True,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> tuple[Value, Value]:
    variance, average = _moments(self, dim, unbiased, keepdim, correction, "std_mean")
    return p.sqrt(variance), average


@op
def linalg_vector_norm(
    self: Value, ord: float = 2, dim: Dims = None, keepdim: bool = False
) -> Value:
    _require_floating("linalg.vector_norm", self)
    if fold_size(self, dim) == 0 and (ord == math.inf or ord < 0):
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {ord} norm on an empty tensor because the "
            "operation does not have an identity"
        )
    return vector_norm(self, float(ord), dim, keepdim)


@op
def linalg__powsum(self: Value, ord: float = 2, dim: Dims = None, keepdim: bool = False) -> Value:
    """The sum of |x|^ord: the vector norm to the power of its order."""
    if not (self.dtype.is_floating_point or self.dtype.is_complex):
        raise refusal("powsum_cpu", self.dtype)
    return _power_sum(p.abs(self), float(ord), dim, keepdim)


@op
def norm(self: Value, p: float | None = 2, dim: Dims = None, keepdim: bool = False) -> Value:
    _require_floating("norm", self)
    return vector_norm(self, 2.0 if p is None else float(p), dim, keepdim)


@op
def logsumexp(self: Value, dim: Dims, keepdim: bool = False) -> Value:
    if fold_size(self, dim) == 0:
        return p.log(fold("sum", self, dim, keepdim))
    largest = fold("amax", p.real(self) if self.dtype.is_complex else self, dim)
    # An infinite maximum must not turn into inf - inf.
    shift = converted(p.where(p.abs(largest) == math.inf, 0.0, largest), self.dtype)
    total = fold("sum", p.exp(self - spread(shift, self, dim)), dim)
    return _shaped(p.log(total) + shift, self, dim, keepdim)


def _truth(value: Value) -> Value:
    return converted(value, DTYPES["bool"])


def _extreme_along(name: str, value: Value, dim: int, keepdim: bool) -> tuple[Value, Value]:
    if len(value.shape) and value.shape[normalized_dims(dim, len(value.shape))[0]] == 0:
        raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")
    found = value
    if value.dtype.name == "bool":
        found = converted(value, DTYPES["uint8"])
    return fold(f"a{name}", value, dim, keepdim), _index_of_extreme(
        f"arg{name}", found, dim, keepdim
    )


def _index_of_extreme(name: str, value: Value, dim: int | None, keepdim: bool) -> Value:
    if value.dtype.name == "bool":
        raise RuntimeError(f"{name}(): does not support bool input")
    _require_elements(name, value, dim)
    if value.dtype.is_complex:
        raise RuntimeError(f'"{name}_cpu" not implemented for {value.dtype.scalar_type_name!r}')
    if not normalized_dims(dim, len(value.shape)):
        return value.interpreter.constant(0, DTYPES["int64"])
    return fold(name, value, dim, keepdim)


def _require_floating(name: str, value: Value) -> None:
    if value.dtype.kind not in ("float", "complex"):
        raise RuntimeError(
            f"{name}(): could not infer output dtype. Input dtype must be either a floating point "
            f"or complex dtype. Got: {value.dtype.scalar_type_name}"
        )


def _require_elements(name: str, value: Value, dim: Dims) -> None:
    for axis in normalized_dims(dim, len(value.shape)):
        if value.shape[axis] == 0:
            if dim is None or dim == ():
                # torch's exception types differ here, for no reason one could name.
                kind = IndexError if name.startswith("arg") else RuntimeError
                raise kind(
                    f"{name}(): Expected reduction dim to be specified for input.numel() == 0. "
                    "Specify the reduction dim with the 'dim' argument."
                )
            raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")


def _moments(
    value: Value,
    dim: Dims,
    unbiased: bool,
    keepdim: bool,
    correction: float | None,
    name: str,
) -> tuple[Value, Value]:
    """Variance and mean, by two passes over the row while it is in cache."""
    if value.dtype.kind not in ("float", "complex"):
        raise RuntimeError(f"{name} only support floating point and complex dtypes")
    if correction is None:
        correction = 1 if unbiased else 0
    count = extent(value, dim, value.dtype.to_real())
    average = fold("sum", value, dim) / converted(count, value.dtype)
    centred = value - spread(average, value, dim)
    parts = (p.real(centred), p.imag(centred)) if value.dtype.is_complex else (centred,)
    squares = fold("sum", functools.reduce(operator.add, (one * one for one in parts)), dim)
    freedom = p.maximum(count - float(correction), 0.0)
    return _shaped(squares / freedom, value, dim, keepdim), _shaped(average, value, dim, keepdim)


def _shaped(result: Value, value: Value, dim: Dims, keepdim: bool) -> Value:
    """A dropped fold with its dimensions back at size one, if they are kept."""
    dims = normalized_dims(dim, len(value.shape))
    return kept_dims(result, value.shape, dims) if keepdim and dims else result


def vector_norm(value: Value, order: float, dim: Dims, keepdim: bool) -> Value:
    size = p.abs(value)
    if order == math.inf:
        return fold("amax" if fold_size(value, dim) else "sum", size, dim, keepdim)
    if order == -math.inf:
        return fold("amin", size, dim, keepdim)
    if order == 0:
        return fold("sum", converted(size != 0, size.dtype), dim, keepdim)
    total = _power_sum(size, order, dim, keepdim)
    if order == 1:
        return total
    return p.sqrt(total) if order == 2 else p.pow(total, 1.0 / order)


def _power_sum(size: Value, order: float, dim: Dims, keepdim: bool) -> Value:
    power = size if order == 1 else size * size if order == 2 else p.pow(size, order)
    return fold("sum", power, dim, keepdim)

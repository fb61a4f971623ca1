"""Primitives of torch's that are no primitives here: operators of ours, under their names.

What lowers programs to torch's primitives finds all of them in `aten.ops.prims`. They need no
kernel of a device: each is a call of one operator, or of a few.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten import registry
from aten._core.base.device import MEMORY_FORMATS
from aten._core.base.dtypes import dtype
from aten._core.base.keys import DispatchKey
from aten._core.tensor.tensor import Tensor
from aten.registry import ops

_ROWS = MEMORY_FORMATS["contiguous_format"]
_UNARY = {
    "bessel_i0": "special_i0",
    "bessel_i0e": "special_i0e",
    "bessel_i1": "special_i1",
    "bessel_i1e": "special_i1e",
    "bessel_j0": "special_bessel_j0",
    "bessel_j1": "special_bessel_j1",
    "conj_physical": "conj_physical",
    "erf_inv": "erfinv",
    "erfcx": "special_erfcx",
    "isfinite": "isfinite",
    "ndtri": "special_ndtri",
    "reciprocal": "reciprocal",
    "sign": "sign",
    "signbit": "signbit",
    "spherical_bessel_j0": "special_spherical_bessel_j0",
}
_BINARY = {
    "fmax": "fmax",
    "fmin": "fmin",
    "gcd": "gcd",
    "hypot": "hypot",
    "igamma": "igamma",
    "igammac": "igammac",
    "nextafter": "nextafter",
    "remainder": "remainder.Tensor",
    "zeta": "special_zeta",
}
_OPTIONS = "*, ScalarType dtype, Device device, bool requires_grad"


def _cbrt(self: Tensor) -> Tensor:
    """The real cube root."""
    return ops.aten.copysign.Tensor(self.abs().pow(1 / 3), self)


def _joined_shape(a: Tensor, start: int, end: int) -> list[int]:
    count = 1
    for dim in range(start, end + 1):
        count *= a.shape[dim]
    return [*a.shape[:start], count, *a.shape[end + 1 :]]


def _collapse(a: Tensor, start: int, end: int) -> Tensor:
    """Dimensions from `start` to `end` as one, in memory of its own."""
    return a.clone(memory_format=_ROWS).view(_joined_shape(a, start, end))


def _collapse_view(a: Tensor, start: int, end: int) -> Tensor:
    """Dimensions from `start` to `end` as one. Raises RuntimeError where no view shows that."""
    return a.view(_joined_shape(a, start, end))


def _split_dim(a: Tensor, dim: int, outer_length: int) -> Tensor:
    """A dimension as two, of which the first has `outer_length`."""
    if outer_length <= 0 or a.shape[dim] % outer_length:
        raise RuntimeError(
            f"prims.split_dim: {outer_length} does not divide {a.shape[dim]}, dimension {dim}"
        )
    inner = a.shape[dim] // outer_length
    return a.view((*a.shape[:dim], outer_length, inner, *a.shape[dim + 1 :]))


def _copy_strided(a: Tensor, stride: Sequence[int]) -> Tensor:
    made: Tensor = ops.aten.empty_strided(a.shape, stride, dtype=a.dtype, device=a.device)
    return made.copy_(a)


def _limit(name: str) -> Callable[[dtype], Any]:
    def value(dtype: dtype) -> Any:
        """The greatest, or the least, number of a dtype; of floating-point ones an infinity."""
        if dtype.kind == "bool":
            return name == "max"
        if dtype.is_floating_point:
            return float("inf") if name == "max" else float("-inf")
        if dtype.is_complex:
            raise ValueError(f"prims.{name}imum_value: complex numbers have no order: {dtype}")
        bits = 8 * dtype.itemsize - (dtype.kind == "signed")
        if name == "max":
            return (1 << bits) - 1
        return -(1 << bits) if dtype.kind == "signed" else 0

    return value


def _var(
    inp: Tensor,
    dims: Sequence[int] | None,
    correction: float | None = 1,
    *,
    output_dtype: dtype | None = None,
) -> Tensor:
    made: Tensor = ops.aten.var.correction(inp, dims, correction=correction)
    return made if output_dtype is None else made.to(output_dtype)


def _made(factory: str) -> Callable[..., Tensor]:
    """A factory that is told whether gradients are wanted: here none are."""

    def make(*arguments: Any, dtype: dtype, device: Any, requires_grad: bool) -> Tensor:
        operator = registry.operator(f"aten::{factory}")
        return operator(*arguments, dtype=dtype, device=device)  # type: ignore[no-any-return]

    return make


def _xor_sum(
    inp: Tensor, dims: Sequence[int] | None, *, output_dtype: dtype | None = None
) -> Tensor:
    return ops.prims.xor(inp, dims)  # type: ignore[no-any-return]


# Schema and function of each that is more than another operator's name.
_OTHERS: dict[str, Callable[..., Any]] = {
    "as_strided(Tensor(a) a, SymInt[] size, SymInt[] stride, SymInt storage_offset) -> Tensor(a)": (
        lambda a, size, stride, storage_offset: ops.aten.as_strided(a, size, stride, storage_offset)
    ),
    "as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, "
    "SymInt storage_offset) -> Tensor": (
        lambda self, src, size, stride, storage_offset: ops.aten.as_strided_scatter(
            self, src, size, stride, storage_offset
        )
    ),
    "cbrt(Tensor self) -> Tensor": _cbrt,
    "clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor": (
        lambda self, *, memory_format=None: self.clone(memory_format=memory_format)
    ),
    "collapse(Tensor a, int start, int end) -> Tensor": _collapse,
    "collapse_view(Tensor(a) a, int start, int end) -> Tensor(a)": _collapse_view,
    "conj(Tensor(a) a) -> Tensor(a)": lambda a: a.conj(),
    "copy_strided(Tensor a, SymInt[] stride) -> Tensor": _copy_strided,
    "device_put(Tensor a, Device device, bool non_blocking=False) -> Tensor": (
        lambda a, device, non_blocking=False: a.to(device, non_blocking=non_blocking)
    ),
    f"empty(SymInt[] shape, {_OPTIONS}) -> Tensor": _made("empty.memory_format"),
    f"empty_permuted(SymInt[] shape, int[] physical_layout, {_OPTIONS}) -> Tensor": _made(
        "empty_permuted"
    ),
    f"empty_strided(SymInt[] shape, SymInt[] strides, {_OPTIONS}) -> Tensor": _made(
        "empty_strided"
    ),
    "fill(Tensor self, Scalar value) -> Tensor": (
        lambda self, value: ops.aten.fill.Scalar(self, value)
    ),
    "frexp(Tensor self) -> (Tensor mantissa, Tensor exponent)": (
        lambda self: tuple(ops.aten.frexp.Tensor(self))
    ),
    f"full(SymInt[] shape, Scalar fill_value, {_OPTIONS}) -> Tensor": _made("full"),
    f"full_like(Tensor a, Scalar fill_value, {_OPTIONS}) -> Tensor": _made("full_like"),
    "item(Tensor a) -> Scalar": lambda a: a.item(),
    "maximum_value(ScalarType dtype) -> Scalar": _limit("max"),
    "minimum_value(ScalarType dtype) -> Scalar": _limit("min"),
    "reshape(Tensor a, SymInt[] shape) -> Tensor": (
        lambda a, shape: a.clone(memory_format=_ROWS).view(shape)
    ),
    "resize(Tensor(a!) a, SymInt[] shape) -> Tensor(a!)": (
        lambda a, shape: ops.aten.resize_(a, shape)
    ),
    "split_dim(Tensor(a) a, int dim, SymInt outer_length) -> Tensor(a)": _split_dim,
    "squeeze(Tensor(a) a, int[] dimensions) -> Tensor(a)": (
        lambda a, dimensions: ops.aten.squeeze.dims(a, dimensions)
    ),
    "transpose(Tensor(a) a, int[] permutation) -> Tensor(a)": (
        lambda a, permutation: ops.aten.permute(a, permutation)
    ),
    "var(Tensor inp, int[]? dims, float? correction=1, *, ScalarType? output_dtype=None) "
    "-> Tensor": _var,
    "view_of(Tensor(a) a) -> Tensor(a)": lambda a: ops.aten.alias(a),
    "view_of_dtype(Tensor(a) a, ScalarType dtype) -> Tensor(a)": (
        lambda a, dtype: ops.aten.view.dtype(a, dtype)
    ),
    "xor_sum(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor": _xor_sum,
}


def load() -> None:
    """Define those that nothing else has defined."""
    for name, target in _UNARY.items():
        _define(f"{name}(Tensor self) -> Tensor", _call_of(target))
    for name, target in _BINARY.items():
        _define(f"{name}(Tensor self, Tensor other) -> Tensor", _call_of(target))
    for schema, function in _OTHERS.items():
        _define(schema, function)


def _call_of(target: str) -> Callable[..., Any]:
    def call(*operands: Tensor) -> Any:
        return registry.operator(f"aten::{target}")(*operands)

    return call


def _define(schema: str, function: Callable[..., Any]) -> None:
    op = registry.define("prims", schema, kind="prim of operators")
    key = DispatchKey.__members__["CompositeImplicitAutograd"]
    op.register(key, function, "aten/backends/standard_prims.py")

"""Complex numbers from and to their parts, element by element."""

from __future__ import annotations

import math
from collections.abc import Mapping

from aten._core.base.dtypes import DTYPES, dtype, get_default_dtype
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import converted, op, operation_type
from aten.ops.requirements import refusal
from aten.ops.value_checks import complex_result
from aten.prims import Value
from aten.prims import elementwise as p
from aten.registry import ops


@op
def conj_physical(self: Tensor) -> Tensor:
    """The conjugate, in memory of its own; a real tensor itself."""
    return ops.aten._conj_physical(self) if self.dtype.is_complex else self


@op("_conj_physical")
def conjugate(self: Value) -> Value:
    return p.complex(p.real(self), -p.imag(self)) if self.dtype.is_complex else self


@op
def isreal(self: Value) -> Value:
    """Whether the imaginary part is zero."""
    if not self.dtype.is_complex:
        return converted(self, DTYPES["bool"]) | True
    return p.imag(self) == 0


@op
def angle(self: Value) -> Value:
    """The direction from zero, in radians: of real numbers 0, pi or NaN."""
    if self.dtype.is_complex:
        return p.atan2(p.imag(self), p.real(self))
    element = self.dtype if self.dtype.is_floating_point else get_default_dtype()
    value = converted(self, operation_type(element))
    direction = p.where(value < 0, math.pi, p.where(value != value, value, 0))
    return converted(direction, element)


def _require_parts(types: Mapping[str, dtype]) -> None:
    """Both of one of the types that complex numbers are made of."""
    first, second = types.values()
    if not (first.is_floating_point and second.is_floating_point) or "bfloat16" in (
        first.name,
        second.name,
    ):
        raise RuntimeError(
            f"expected two tensors of type Half, Float or Double, but got "
            f"{first.scalar_type_name} and {second.scalar_type_name}"
        )
    if first is not second:
        raise RuntimeError(
            f"expected both parts to have one type, but got {first.scalar_type_name} and "
            f"{second.scalar_type_name}"
        )


@op("complex", check=complex_result)
def complex_from_parts(real: Value, imag: Value, types: Mapping[str, dtype]) -> Value:
    _require_parts(types)
    return p.complex(real, imag)


@op
def polar(abs: Value, angle: Value, types: Mapping[str, dtype]) -> Value:
    """From the distance to zero and the direction in radians."""
    _require_parts(types)
    if abs.dtype.itemsize == 2:
        raise refusal("polar_cpu", abs.dtype)
    return p.complex(abs * p.cos(angle), abs * p.sin(angle))

"""What operators refuse for the values they are given, looked at before each call.

The functions get the arguments they name, tensors and numbers, and raise torch's exceptions.
"""

from __future__ import annotations

from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.moving.iterator import contains_zero
from aten.prims import Number


def zero_divisor(other: Tensor | Number) -> None:
    """Integers have no quotient by zero."""
    if contains_zero(other) if isinstance(other, Tensor) else other == 0:
        raise RuntimeError("ZeroDivisionError")


def negative_power(exponent: Tensor | Number) -> None:
    """A number as exponent of integers must not be negative; tensors may hold what they like."""
    if isinstance(exponent, int) and exponent < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")


def scalar_fill(self: Tensor, value: Tensor) -> None:
    """A value in a tensor that masked elements get: one number, not complex for real elements."""
    if value.dtype.is_complex and not self.dtype.is_complex:
        raise RuntimeError(f"masked_fill: a complex value does not fit {self.dtype.name}")
    if value.dim() != 0:
        raise RuntimeError(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{value.dim()} dimension(s)."
        )


def scalar_tensor(value: Tensor) -> None:
    """What a tensor is filled with has no dimensions."""
    if value.ndim != 0:
        raise RuntimeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} "
            f"dimensions."
        )


def zero_alpha(alpha: Number) -> None:
    """celu divides by alpha."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")


def negative_lambda(self: Tensor, lambd: float) -> None:
    """softshrink moves elements towards zero; other types than floating it refuses anyway."""
    if self.is_floating_point() and not lambd >= 0:
        raise RuntimeError(f"softshrink: lambd must be at least 0, but got {lambd}")


_C_NAMES = {
    "uint8": "uint8_t",
    "int8": "int8_t",
    "int16": "int16_t",
    "int32": "int",
    "int64": "int64_t",
    "float16": "at::Half",
    "float32": "float",
}


def fits(self: Tensor, value: Tensor | Number) -> None:
    """A number written into a tensor must be one that its dtype can hold."""
    element = self.dtype
    if isinstance(value, Tensor):
        value = value.item()
    if element.kind == "bool" or element.is_complex:
        return
    if isinstance(value, complex):
        representable = value.imag == 0
    elif element.is_floating_point:
        representable = True
    else:
        signed = element.kind == "signed"
        limit = 1 << (8 * element.itemsize - signed)
        # Negative integers wrap around in unsigned types, as C's do, by less than one turn.
        representable = -limit - signed < value < limit
        if isinstance(value, float):
            representable = -limit * signed <= value <= limit - 1
    if not representable:
        name = _C_NAMES.get(element.name, element.name)
        raise RuntimeError(f"value cannot be converted to type {name} without overflow")


def complex_result(real: Tensor, out: Tensor | None = None) -> None:
    """Parts are put together in a tensor of just their complex type."""
    if real.dtype.name not in ("float16", "float32", "float64"):
        return  # refused by the operator
    expected = real.dtype.to_complex()
    if out is not None and out.dtype is not expected:
        raise RuntimeError(
            f"expected out to have scalar type {expected.scalar_type_name}, but got "
            f"{out.dtype.scalar_type_name}"
        )

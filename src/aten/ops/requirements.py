"""What operators refuse, in torch's words and with its exception types.

`kernel` is the name that torch's message has for the operator's kernel; users search for it.
"""

from __future__ import annotations

from collections.abc import Mapping

from aten._core.base.dtypes import dtype
from aten.prims import Value


def refusal(kernel: str, element: dtype) -> NotImplementedError:
    """The error for an element type that `kernel` is not there for."""
    return NotImplementedError(f'"{kernel}" not implemented for {element.scalar_type_name!r}')


_RARE_KINDS = frozenset({"float8", "quantized", "bits", "packed"})
_RARE_TYPES = frozenset({"uint16", "uint32", "uint64"})


def require_ordinary(kernel: str, element: dtype) -> None:
    """Refuse the element types that few operators are there for."""
    if element.kind in _RARE_KINDS or element.name in _RARE_TYPES:
        raise refusal(kernel, element)


def require_floating(kernel: str, value: Value) -> None:
    """Refuse bool, integers and complex numbers."""
    if not value.dtype.is_floating_point:
        raise refusal(kernel, value.dtype)


def require_inexact(kernel: str, value: Value) -> None:
    """Refuse bool and integers."""
    if value.dtype.kind not in ("float", "complex"):
        raise refusal(kernel, value.dtype)


def require_real(kernel: str, value: Value) -> None:
    """Refuse complex numbers."""
    if value.dtype.is_complex:
        raise refusal(kernel, value.dtype)


def require_number(kernel: str, value: Value) -> None:
    """Refuse bool and complex numbers."""
    if value.dtype.kind in ("bool", "complex"):
        raise refusal(kernel, value.dtype)


def require_bits(kernel: str, value: Value, *, boolean: bool = True) -> None:
    """Refuse floating and complex numbers; bool too, where it is not `boolean`."""
    if value.dtype.kind in ("float", "complex") or (not boolean and value.dtype.kind == "bool"):
        raise refusal(kernel, value.dtype)


def refuse_complex(message: str, value: Value) -> None:
    """NotImplementedError with `message` for complex numbers."""
    if value.dtype.is_complex:
        raise NotImplementedError(message)


def require_alpha(types: Mapping[str, dtype], result: dtype) -> None:
    """Refuse an alpha of a higher category than the result's. Raises RuntimeError."""
    alpha = types.get("alpha")
    if alpha is None:
        return
    if alpha.kind == "bool" and result.kind != "bool":
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if alpha.kind == "float" and result.kind not in ("float", "complex"):
        raise RuntimeError(
            "For integral input tensors, argument alpha must not be a floating point number."
        )
    if alpha.is_complex and not result.is_complex:
        raise RuntimeError(
            "For non-complex input tensors, argument alpha must not be a complex number."
        )

"""Questions about tensors and other objects; arithmetic of sizes that may be symbols elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from aten._core.memory.storage import Storage
from aten._core.tensor.tensor import Tensor

__all__ = [
    "get_device",
    "is_complex",
    "is_conj",
    "is_distributed",
    "is_floating_point",
    "is_inference",
    "is_neg",
    "is_same_size",
    "is_signed",
    "is_storage",
    "is_vulkan_available",
    "sym_float",
    "sym_int",
    "sym_ite",
    "sym_max",
    "sym_min",
    "sym_not",
    "sym_sqrt",
    "sym_sum",
    "thread_safe_generator",
    "typename",
]


def _tensor(function: str, value: Any, position: int = 1, name: str = "input") -> Tensor:
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{function}(): argument '{name}' (position {position}) must be Tensor, not "
            f"{type(value).__name__}"
        )
    return value


def is_floating_point(input: Tensor) -> bool:
    """Whether the elements are floating point numbers. Raises TypeError for what is no tensor.

    Example:

        >>> aten.is_floating_point(aten.ones(2))
        True
    """
    return _tensor("is_floating_point", input).is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Whether the elements are complex. Raises TypeError for what is no tensor.

    Example:

        >>> aten.is_complex(aten.ones(2))
        False
    """
    return _tensor("is_complex", input).is_complex()


def is_signed(input: Tensor) -> bool:
    """Whether the elements have a sign. Raises TypeError for what is no tensor.

    Example:

        >>> aten.is_signed(aten.ones(2))
        True
    """
    return _tensor("is_signed", input).is_signed()


def is_conj(input: Tensor) -> bool:
    """Whether it reads as the conjugate of its memory. Raises TypeError for what is no tensor.

    Example:

        >>> aten.is_conj(aten.ones(2))
        False
    """
    return _tensor("is_conj", input).is_conj()


def is_neg(input: Tensor) -> bool:
    """Whether it reads as the negative of its memory. Raises TypeError for what is no tensor.

    Example:

        >>> aten.is_neg(aten.ones(2))
        False
    """
    return _tensor("is_neg", input).is_neg()


def is_inference(input: Tensor) -> bool:
    """Whether it was made within `inference_mode`, or is a view of such a tensor.

    Outside of that mode it is not written to, not saved for the way back, and requires no gradient.
    Raises TypeError for what is no tensor.

    Example:

        >>> aten.is_inference(aten.ones(2))
        False
    """
    return _tensor("is_inference", input).is_inference()


def is_distributed(input: Tensor) -> bool:
    """Whether it lies on several machines: never. Raises TypeError for what is no tensor.

    Example:

        >>> aten.is_distributed(aten.ones(2))
        False
    """
    _tensor("is_distributed", input)
    return False


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether the shapes are equal. Raises TypeError for what is no tensor.

    Example:

        >>> aten.is_same_size(aten.ones(2), aten.zeros(3))
        False
    """
    left, right = _tensor("is_same_size", input), _tensor("is_same_size", other, 2, "other")
    return left.shape == right.shape


def is_storage(obj: Any) -> bool:
    """Whether `obj` is a storage.

    Example:

        >>> aten.is_storage(aten.ones(2).untyped_storage())
        True
    """
    return isinstance(obj, Storage)


def is_vulkan_available() -> bool:
    """No.

    Example:

        >>> aten.is_vulkan_available()
        False
    """
    return False


def get_device(input: Tensor) -> int:
    """The index of the tensor's device, -1 on the CPU. Raises TypeError for what is no tensor.

    Example:

        >>> aten.get_device(aten.ones(2))
        -1
    """
    place = _tensor("get_device", input).device
    if place.type in ("cpu", "meta"):
        return -1
    return place.index or 0


def thread_safe_generator() -> None:
    """The generator of a loader's worker thread: there are none.

    Example:

        >>> aten.thread_safe_generator() is None
        True
    """


def typename(obj: Any, /) -> str:
    """The name of an object's type with its module; of a tensor, `aten.FloatTensor` or so.

    Example:

        >>> aten.typename(aten.ones(2))
        'aten.FloatTensor'
    """
    if isinstance(obj, Tensor):
        return str(obj.type())
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", "") or ""
    return named.__qualname__ if module in ("", "builtins") else f"{module}.{named.__qualname__}"


# Sizes are plain numbers here.


def sym_int(a: Any) -> int:
    """`a` towards zero.

    Example:

        >>> aten.sym_int(2.7)
        2
    """
    whole: int = math.trunc(a)
    return whole


def sym_float(a: Any) -> float:
    """`a` as float.

    Example:

        >>> aten.sym_float(2)
        2.0
    """
    return float(a)


def sym_not(a: Any) -> bool:
    """Whether `a` does not hold.

    Example:

        >>> aten.sym_not(True)
        False
    """
    return not a


def sym_max(a: Any, b: Any) -> Any:
    """The greater; a float where one of them is.

    Example:

        >>> aten.sym_max(2, 3.0)
        3.0
    """
    return float(max(a, b)) if isinstance(a, float) or isinstance(b, float) else max(a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The lesser; a float where one of them is.

    Example:

        >>> aten.sym_min(2, 3)
        2
    """
    return float(min(a, b)) if isinstance(a, float) or isinstance(b, float) else min(a, b)


def sym_sum(args: Sequence[Any]) -> Any:
    """All of them together.

    Example:

        >>> aten.sym_sum([1, 2, 3])
        6
    """
    return sum(args)


def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """`t` if `b`, else `f`. Raises TypeError where `b` is no bool, or t and f differ in type.

    Example:

        >>> aten.sym_ite(True, 1, 2)
        1
    """
    if not isinstance(b, bool) or type(t) is not type(f):
        raise TypeError(
            f"sym_ite: expected a bool and two values of one type, got {b!r}, {t!r}, {f!r}"
        )
    return t if b else f


def sym_sqrt(a: Any) -> float:
    """The square root. Raises ValueError for negative numbers.

    Example:

        >>> aten.sym_sqrt(9)
        3.0
    """
    return math.sqrt(a)

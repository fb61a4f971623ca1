"""Automatic conversion to half types: regions, and the kernels that convert operands in them.

Conversion is a dispatch key that a region includes: calls outside of regions, and of operators that
are in no list, pay nothing.
"""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Self

from aten._core.base.device import device
from aten._core.base.dtypes import DTYPES, dtype
from aten._core.base.keys import (
    DispatchKey,
    DispatchKeySet,
    IncludeDispatchKeyGuard,
)
from aten._core.dispatch.python_kernel import PythonKernel, register_kernel
from aten.autograd import casting
from aten.registry import operator

__all__ = [
    "autocast",
    "autocast_decrement_nesting",
    "autocast_increment_nesting",
    "clear_autocast_cache",
    "get_autocast_cpu_dtype",
    "get_autocast_dtype",
    "get_autocast_gpu_dtype",
    "is_autocast_available",
    "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled",
    "is_autocast_enabled",
    "set_autocast_cache_enabled",
    "set_autocast_cpu_dtype",
    "set_autocast_cpu_enabled",
    "set_autocast_dtype",
    "set_autocast_enabled",
    "set_autocast_gpu_dtype",
]

_KEY = DispatchKey.__members__["AutocastCPU"]
_KEYS = DispatchKeySet(_KEY)


class _State(threading.local):
    def __init__(self) -> None:
        self.enabled: set[str] = set()
        self.dtypes: dict[str, dtype] = {}
        self.nesting = 0
        self.guard: IncludeDispatchKeyGuard | None = None


_state = _State()


def _settle() -> None:
    on = "cpu" in _state.enabled
    if on and _state.guard is None:
        _install()
        _state.guard = IncludeDispatchKeyGuard(_KEYS)
        _state.guard.__enter__()
    elif not on and _state.guard is not None:
        guard, _state.guard = _state.guard, None
        guard.__exit__(None, None, None)


# Kernels


def _lowest() -> dtype:
    return get_autocast_dtype("cpu")


@functools.cache
def _install() -> None:
    """Registers the kernels; once, when a region is first entered."""
    from aten.amp import autocast_operators as lists

    makers: list[tuple[Sequence[str], Callable[[], PythonKernel]]] = [
        (lists.LOWER, lambda: casting.conversion(_lowest)),
        (lists.FLOAT32, lambda: casting.conversion(lambda: DTYPES["float32"])),
        (lists.PROMOTED, lambda: casting.promotion(_lowest)),
    ]
    for names, make in makers:
        for name in names:
            registrations = operator(name).registrations
            register_kernel(registrations, _KEY, make(), "aten/amp/autocasting.py")


# Settings


def _kind(device_type: Any) -> str:
    if not isinstance(device_type, str):
        raise ValueError(
            f"autocast: device_type must be a string, not {type(device_type).__name__}"
        )
    return device(device_type).type


def is_autocast_available(device_type: str) -> bool:
    """Whether operators of a device type are converted: on the CPU.

    Raises RuntimeError for what names no device.

    Example:

        >>> aten.is_autocast_available("cpu")
        True
    """
    return device(device_type).type == "cpu"


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether the thread is in a region of a device type; without one, of GPUs.

    Example:

        >>> with aten.autocast("cpu"):
        ...     aten.is_autocast_enabled("cpu")
        True
    """
    return ("cuda" if device_type is None else _kind(device_type)) in _state.enabled


def is_autocast_cpu_enabled() -> bool:
    """Whether the thread is in a region of the CPU.

    Example:

        >>> aten.is_autocast_cpu_enabled()
        False
    """
    return "cpu" in _state.enabled


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Begins or ends conversion for a device type, outside of any region.

    Example:

        >>> aten.set_autocast_enabled("cpu", False)
    """
    if enabled is None:
        device_type, enabled = "cuda", device_type
    kind = _kind(device_type)
    if enabled:
        _state.enabled.add(kind)
    else:
        _state.enabled.discard(kind)
    _settle()


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """`set_autocast_enabled("cpu", enabled)`.

    Example:

        >>> aten.set_autocast_cpu_enabled(False)
    """
    set_autocast_enabled("cpu", enabled)


def get_autocast_dtype(device_type: str) -> dtype:
    """What operators are converted to: bfloat16 on the CPU, float16 elsewhere, unless it was set.

    Example:

        >>> aten.get_autocast_dtype("cpu")
        aten.bfloat16
    """
    kind = device(device_type).type
    return _state.dtypes.get(kind, DTYPES["bfloat16" if kind == "cpu" else "float16"])


def set_autocast_dtype(device_type: str, dtype: dtype) -> None:
    """Says what `get_autocast_dtype` answers, for this thread.

    Example:

        >>> aten.set_autocast_dtype("cpu", aten.bfloat16)
    """
    _state.dtypes[_kind(device_type)] = dtype


def get_autocast_cpu_dtype() -> dtype:
    """`get_autocast_dtype("cpu")`.

    Example:

        >>> aten.get_autocast_cpu_dtype()
        aten.bfloat16
    """
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: dtype) -> None:
    """`set_autocast_dtype("cpu", dtype)`.

    Example:

        >>> aten.set_autocast_cpu_dtype(aten.bfloat16)
    """
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> dtype:
    """`get_autocast_dtype("cuda")`.

    Example:

        >>> aten.get_autocast_gpu_dtype()
        aten.float16
    """
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: dtype) -> None:
    """`set_autocast_dtype("cuda", dtype)`.

    Example:

        >>> aten.set_autocast_gpu_dtype(aten.float16)
    """
    set_autocast_dtype("cuda", dtype)


def is_autocast_cache_enabled() -> bool:
    """Whether parameters are converted once in a region.

    Example:

        >>> aten.is_autocast_cache_enabled()
        True
    """
    return casting.cache.enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Says what `is_autocast_cache_enabled` answers, for this thread.

    Example:

        >>> aten.set_autocast_cache_enabled(True)
    """
    casting.cache.enabled = bool(enabled)


def clear_autocast_cache() -> None:
    """Forgets what parameters were converted to.

    Example:

        >>> aten.clear_autocast_cache()
    """
    casting.cache.kept.clear()


def autocast_increment_nesting() -> int:
    """How many regions the thread is in, after one more.

    Example:

        >>> aten.autocast_increment_nesting()
        1
        >>> aten.autocast_decrement_nesting()
        0
    """
    _state.nesting += 1
    return _state.nesting


def autocast_decrement_nesting() -> int:
    """How many regions the thread is in, after one less.

    Example:

        >>> aten.autocast_increment_nesting(), aten.autocast_decrement_nesting()
        (1, 0)
    """
    _state.nesting -= 1
    return _state.nesting


class autocast:  # noqa: N801 (torch's name)
    """A region in which products compute in a half type, and what loses too much there in float32.

    A context, or a decorator. The lists of operators are torch's (`autocast_operators.py`). Other
    device types than the CPU convert nothing. Warns, and converts nothing, where `dtype` is neither
    bfloat16 nor float16.

    Raises ValueError where `device_type` is no string, RuntimeError where it names no device.

    Example:

        >>> with aten.autocast("cpu", dtype=aten.bfloat16):
        ...     y = aten.ones(2, 2) @ aten.ones(2, 2)
        >>> y.dtype
        aten.bfloat16
    """

    def __init__(
        self,
        device_type: str,
        dtype: dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        self.device = _kind(device_type)
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        if enabled and self.device == "cpu" and self.fast_dtype not in casting.HALVES:
            warnings.warn(
                f"autocast: operators on the CPU compute in bfloat16 or float16, not "
                f"{self.fast_dtype}: nothing is converted",
                UserWarning,
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled
        self._cache_enabled = (
            is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        )
        self._before: list[tuple[bool, Any, bool]] = []

    def __enter__(self) -> Self:
        kind = self.device
        self._before.append(
            (kind in _state.enabled, get_autocast_dtype(kind), casting.cache.enabled)
        )
        set_autocast_dtype(kind, self.fast_dtype)
        set_autocast_enabled(kind, self._enabled)
        casting.cache.enabled = self._cache_enabled
        autocast_increment_nesting()
        return self

    def __exit__(self, *exc_info: object) -> None:
        enabled, element, caches = self._before.pop()
        if autocast_decrement_nesting() == 0:
            clear_autocast_cache()
        set_autocast_enabled(self.device, enabled)
        set_autocast_dtype(self.device, element)
        casting.cache.enabled = caches

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return run


def custom_fwd(
    fwd: Callable[..., Any] | None = None,
    *,
    device_type: str,
    cast_inputs: dtype | None = None,
) -> Any:
    """Decorates the `forward` of an autograd Function: its backward runs as it did.

    With `cast_inputs`, floating-point tensors are converted to that in a region, and the function
    runs outside of it.
    """
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def run(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        ctx._dtype = get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = is_autocast_enabled(device_type)
        if cast_inputs is None or not ctx._fwd_used_autocast:
            return fwd(ctx, *args, **kwargs)
        ctx._fwd_used_autocast = False
        with autocast(device_type, enabled=False):
            given = [casting.converted(one, lambda _: cast_inputs) for one in args]
            return fwd(ctx, *given, **kwargs)

    return run


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Any:
    """Decorates the `backward` of an autograd Function: it runs in a region where `forward` did."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def run(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(ctx, *args, **kwargs)

    return run

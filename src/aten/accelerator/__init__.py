"""The accelerator of this machine: there is none that operators run on."""

from __future__ import annotations

from typing import Any, NoReturn

from aten._core.base.device import device

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "empty_cache",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
]


def is_available() -> bool:
    """No."""
    return False


def device_count() -> int:
    """0."""
    return 0


def current_accelerator(check_available: bool = False) -> device | None:
    """None."""
    return None


def empty_cache() -> None:
    """Nothing: there is no memory of an accelerator."""


def _zero(device_index: Any = None, /) -> int:
    """0 bytes."""
    return 0


memory_allocated = memory_reserved = max_memory_allocated = max_memory_reserved = _zero


def _refuse(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises RuntimeError: it needs an accelerator."""
    raise RuntimeError("Cannot access accelerator device when none is available.")


current_device_idx = current_device_index = current_stream = _refuse
set_device_idx = set_device_index = set_stream = synchronize = _refuse

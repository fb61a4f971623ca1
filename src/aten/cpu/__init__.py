"""The processor as a device: there is one, and it is done with a call when the call returns."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

__all__ = [
    "current_device",
    "device_count",
    "is_available",
    "is_initialized",
    "set_device",
    "stream",
    "synchronize",
]


def is_available() -> bool:
    """Yes."""
    return True


def is_initialized() -> bool:
    """Yes."""
    return True


def device_count() -> int:
    """1."""
    return 1


def current_device() -> str:
    """The only one's name."""
    return "cpu"


def set_device(device: Any) -> None:
    """Nothing: there is only one."""


def synchronize(device: Any = None) -> None:
    """Nothing: a call has done its work when it returns."""


def stream(stream: Any) -> Any:
    """A context that changes nothing."""
    return nullcontext()

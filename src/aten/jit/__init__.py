"""What programs ask TorchScript, which is not there yet: nothing is being scripted or traced."""

from __future__ import annotations

from typing import Any, Final

from aten.refusals import refuse

__all__ = ["Final", "export", "ignore", "is_scripting", "is_tracing", "unused"]


def is_scripting() -> bool:
    """No."""
    return False


def is_tracing() -> bool:
    """No."""
    return False


def unused(fn: Any) -> Any:
    """The function as it is."""
    return fn


def export(fn: Any) -> Any:
    """The function as it is."""
    return fn


def ignore(drop: Any = False, **options: Any) -> Any:
    """The function as it is; without one, a decorator that leaves functions as they are."""
    return drop if callable(drop) else unused


def __getattr__(name: str) -> Any:
    refuse(__name__, name)

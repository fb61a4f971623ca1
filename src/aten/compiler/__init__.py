"""What programs ask a compiler that is not there yet: nothing is being compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten.refusals import refuse

__all__ = ["allow_in_graph", "disable", "is_compiling", "is_dynamo_compiling", "is_exporting"]


def is_compiling() -> bool:
    """No."""
    return False


def is_dynamo_compiling() -> bool:
    """No."""
    return False


def is_exporting() -> bool:
    """No."""
    return False


def disable(fn: Callable[..., Any] | None = None, recursive: bool = True, **options: Any) -> Any:
    """The function as it is; without one, a decorator that leaves functions as they are."""
    return fn if fn is not None else _as_it_is


def allow_in_graph(fn: Any) -> Any:
    """The function as it is."""
    return fn


def _as_it_is(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def __getattr__(name: str) -> Any:
    refuse(__name__, name)

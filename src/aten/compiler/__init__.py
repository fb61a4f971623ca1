"""Programs compiled as a whole: `aten.compile`, and what programs ask a compiler.

What `aten.compile` gives captures what a function calls, as a functional graph (`capture`), joins
operators into groups that one kernel computes (`partition`, `values`, `fusing`), and replays the
graph (`programs`). `functions` decides which of the captured programs serves a call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any

from aten.refusals import refuse

__all__ = [
    "allow_in_graph",
    "compile",
    "disable",
    "explain",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
]
# Imported when first asked for: programs ask whether something is being compiled much more often.
_OF_FUNCTIONS = frozenset({"compile", "explain", "reset"})


class _State(threading.local):
    capturing = False


state = _State()


def is_compiling() -> bool:
    """Whether this thread captures a function for `aten.compile`."""
    return state.capturing


def is_dynamo_compiling() -> bool:
    """Whether this thread captures a function for `aten.compile`."""
    return state.capturing


def is_exporting() -> bool:
    """No."""
    return False


def list_backends() -> list[str]:
    """The backends that `aten.compile` takes by name."""
    return ["aten", "eager"]


def disable(fn: Callable[..., Any] | None = None, recursive: bool = True, **options: Any) -> Any:
    """The function as it is; without one, a decorator that leaves functions as they are."""
    return fn if fn is not None else _as_it_is


def allow_in_graph(fn: Any) -> Any:
    """The function as it is."""
    return fn


def _as_it_is(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def __getattr__(name: str) -> Any:
    if name in _OF_FUNCTIONS:
        return getattr(import_module("aten.compiler.functions"), name)
    return refuse(__name__, name)

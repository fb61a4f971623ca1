"""Programs compiled as a whole: `aten.compile`, and what programs ask a compiler.

What `aten.compile` gives captures what a function calls, as a functional graph (`capture`),
rewrites it (`rewrites`), joins operators into groups that one kernel computes (`partition`,
`values`, `fusing`, all of it in `programs`), and replays the graph (`ready`). `functions` decides
which program serves a call, and `making` makes one; `tuning` finds in which of two ways something
is computed; `files` has programs on their way to other processes; `entrance` has what is called.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from types import MethodType

from aten.names.refusals import refuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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
_OF_ENTRANCE = frozenset({"compile", "explain", "reset"})


class UnsupportedCaptureError(RuntimeError):
    """The function does more than a graph can say: it runs eagerly."""


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
    """The function, which is in no compiled program: what calls it runs eagerly. Without one, a
    decorator that makes functions such ones."""
    if fn is None:
        return disable
    if isinstance(fn, type):
        # What is made of a class stays of it: calls of its objects are marked.
        kind: Any = fn
        kind.__call__ = disable(kind.__call__)
        return kind
    if isinstance(getattr(fn, "forward", None), MethodType):
        fn.forward = disable(fn.forward)  # type: ignore[attr-defined]
        return fn
    name = getattr(fn, "__qualname__", type(fn).__name__)

    @wraps(fn)
    def apart(*args: Any, **kwargs: Any) -> Any:
        if state.capturing:
            raise UnsupportedCaptureError(f"{name} is not to be compiled")
        return fn(*args, **kwargs)

    return apart


def allow_in_graph(fn: Any) -> Any:
    """The function as it is."""
    return fn


def __getattr__(name: str) -> Any:
    if name == "ahead":
        return import_module("aten.compiler.ahead")
    if name in _OF_ENTRANCE:
        return getattr(import_module("aten.compiler.entrance"), name)
    return refuse(__name__, name)

"""What functions say of themselves to scripting, and what they ask."""

from __future__ import annotations

from typing import Any

from aten.graph.higher_order import capturing

_MARK = "__aten_jit__"


def is_scripting() -> bool:
    """False; in a scripted function it is True.

    Example:

        >>> aten.jit.is_scripting()
        False
        >>> def scripted():
        ...     return aten.jit.is_scripting()
    """
    return False


def is_tracing() -> bool:
    """Whether a function is being traced or exported on this thread.

    Example:

        >>> traced = aten.jit.trace(lambda x: x * 2 if aten.jit.is_tracing() else x, aten.ones(1),
        ...     check_trace=False)
        >>> aten.jit.is_tracing(), traced(aten.ones(1))
        (False, tensor([2.]))
    """
    return capturing() is not None


def mark(function: Any, kind: str) -> Any:
    """The function, marked."""
    setattr(function, _MARK, kind)
    return function


def mark_of(function: Any) -> str | None:
    """What a function is marked with."""
    found = getattr(function, _MARK, None)
    return found if isinstance(found, str) else None


def source_function(scripted: Any) -> Any:
    """The Python function that a scripted one was made of; None for other things."""
    return vars(scripted).get("__wrapped__") if hasattr(scripted, "__dict__") else None

"""Calls in forms of long ago: who can read them. Asked by `explain.py`, where no schema fits."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from aten._core.dispatch.dispatcher import OpOverload

    Arguments = tuple[Sequence[Any], dict[str, Any]]
    Reader = Callable[
        [str, tuple[OpOverload, ...], Sequence[Any], dict[str, Any]], Arguments | None
    ]

_reader: Reader | None = None


def install_reader(read: Reader) -> None:
    """Let `read` find the arguments that a call means; it gives None where there are none."""
    global _reader
    _reader = read


def read(
    name: str, candidates: tuple[OpOverload, ...], args: Sequence[Any], kwargs: dict[str, Any]
) -> Arguments | None:
    """Arguments that a candidate's schema takes, or None."""
    return None if _reader is None else _reader(name, candidates, args, kwargs)

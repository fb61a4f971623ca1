"""Blocks of the user's own in a profile."""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import Any

from aten._core.dispatch.recording import Block, open_block


class record_function(ContextDecorator):  # noqa: N801 (torch's name)
    """Names a block of code, or every call of a function, in the profiles it is part of.

    A context manager and a decorator. The block belongs to the thread that enters it. Without an
    active profile nothing is recorded.

    Args:
        name: what events show.
        args: a text kept with the event, shown in traces.

    Raises:
        TypeError: the name is not a str.

    Example:

        >>> with aten.profiler.profile() as prof:
        ...     with aten.profiler.record_function("one"):
        ...         sum = aten.ones(2) + 1
        >>> [event.name for event in prof.events()]
        ['one', 'aten::ones', 'aten::add']
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        if not isinstance(name, str):
            raise TypeError(
                f"record_function: argument 'name' must be str, not {type(name).__name__}"
            )
        self.name = name
        self.args = args
        self._open: list[Block | None] = []

    def _recreate_cm(self) -> record_function:
        # Calls of a decorated function may be in several threads at once.
        return type(self)(self.name, self.args)

    def __enter__(self) -> record_function:
        self._open.append(open_block(self.name, self.args))
        return self

    def __exit__(self, *error: Any) -> None:
        block = self._open.pop()
        if block is not None:
            block.close()

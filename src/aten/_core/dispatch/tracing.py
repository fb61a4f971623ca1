"""The dispatch trace: one line for each key a call goes through, while `trace_dispatch` is active.

    aten::add.Tensor  AutogradCPU  fallthrough  (skipped by default)
    aten::add.Tensor  CPU  Python function my_add  my_ops.py:12  (direct)

Lines of calls made by a kernel are indented by two blanks under the kernel's own line.
"""

from __future__ import annotations

import sys
from _thread import _local

from aten._core.base.keys import change_tracing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from aten._core.base.keys import DispatchKey
    from aten._core.dispatch.dispatcher import Kernel, OpOverload

    class Writable(Protocol):
        def write(self, text: str, /) -> object: ...


class _ThreadTrace(_local):
    """Where this thread's lines go, innermost trace last, and how deep the call now is."""

    def __init__(self) -> None:
        self.sinks: list[Writable | list[str] | None] = []
        self.depth = 0


_thread = _ThreadTrace()


class trace_dispatch:  # noqa: N801 (used like a function)
    """Prints the path of every call in the `with` block: operator, key, kernel, place and reason.

    `to` is a list to append lines to or a file to write them to; by default standard error. Only
    calls of the thread that entered the block are traced.
    """

    def __init__(self, to: Writable | list[str] | None = None) -> None:
        self.to = to

    def __enter__(self) -> Writable | list[str] | None:
        _thread.sinks.append(self.to)
        change_tracing(1)
        return self.to

    def __exit__(self, *exc_info: object) -> None:
        change_tracing(-1)
        _thread.sinks.pop()


def record(op: OpOverload, key: DispatchKey, kernel: Kernel | None, reason: str) -> None:
    """Adds the line of one key of one call."""
    parts = [op.qualified_name, key.name]
    if kernel is None:
        parts.append("no kernel")
    else:
        parts += [kernel.describe(), kernel.provenance or ""]
    text = "  ".join(part for part in [*parts, f"({reason})"] if part)
    _write("  " * _thread.depth + text)


def nest(change: int) -> None:
    _thread.depth += change


def _write(line: str) -> None:
    sink = _thread.sinks[-1] if _thread.sinks else None
    if isinstance(sink, list):
        sink.append(line)
        return
    (sys.stderr if sink is None else sink).write(line + "\n")

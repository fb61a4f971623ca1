"""Python's collector of cycles rests where much is made that stays.

It looks at all objects again and again while graphs, programs and plans grow, and finds nothing:
that took up to a third of a large program's start.
"""

from __future__ import annotations

import gc
import os
import threading

from aten._core.threads import forks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType


class Resting:
    """A context in which the collector rests: it goes on when the last of all threads leaves."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        forks.hold(self._lock)
        self._count = 0
        self._collects = False
        # How often this thread is within.
        self._own = threading.local()

    def __enter__(self) -> None:
        with self._lock:
            if self._count == 0:
                self._collects = gc.isenabled()
                gc.disable()
            self._count += 1
        self._own.count = self._counted() + 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._own.count = self._counted() - 1
        with self._lock:
            self._count -= 1
            if self._count == 0 and self._collects:
                gc.enable()

    def leave_others(self) -> None:
        """In the child of a fork, where no other thread is left that would leave."""
        if self._count and not self._counted() and self._collects:
            gc.enable()
        self._count = self._counted()

    def _counted(self) -> int:
        count: int = getattr(self._own, "count", 0)
        return count


# The one of the process: the collector is one for all threads, too.
resting = Resting()
os.register_at_fork(after_in_child=resting.leave_others)

"""Forks beside other threads: a child waits for nobody who is not there.

A lock that another thread holds when the process forks stays locked in the child for ever, and what
that thread was importing stays half imported. So `os.fork` waits for both: it takes the locks named
here, which their holders give back soon, and gives them back on both sides.
"""

from __future__ import annotations

import os
import sys
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class ReentrantLock(Protocol):
        """What `threading.RLock` gives. The thread that forks may hold it already."""

        def acquire(self, blocking: bool = True) -> bool: ...

        def release(self) -> None: ...


# What kernels and operators import when they are first needed.
_PACKAGES = sys.stdlib_module_names | {"aten", "llvmlite", "ml_dtypes", "numpy"}
# Seconds to wait for imports at most: a thread that imports may be waiting for the one that forks.
_PATIENCE = 10.0
_PAUSE = 0.0005


_locks: list[ReentrantLock] = []
# One thread forks at a time, and has taken these.
_forking = threading.RLock()
_taken: list[ReentrantLock] = []


def hold(lock: ReentrantLock) -> None:
    """Let forks wait until no other thread holds `lock`."""
    if lock not in _locks:
        _locks.append(lock)


def _is_importing() -> bool:
    """Whether another thread is at one of the modules that kernels need."""
    locks = getattr(sys.modules["_frozen_importlib"], "_module_locks", {})
    own = threading.get_ident()
    for name, reference in list(locks.items()):
        if name.partition(".")[0] in _PACKAGES:
            lock = reference()
            if lock is not None and getattr(lock, "owner", own) not in (None, own):
                return True
    return False


def _acquire_all() -> None:
    """Take every lock, and wait with none in hand: holders may be waiting for each other's."""
    first = 0
    while True:
        # Other threads may add locks meanwhile.
        order = _locks[first:] + _locks[:first]
        for place, lock in enumerate(order):
            if not lock.acquire(blocking=place == 0):
                first = (first + place) % len(order)
                break
            _taken.append(lock)
        else:
            return
        _release_all()


def _release_all() -> None:
    while _taken:
        _taken.pop().release()


def _before() -> None:
    _forking.acquire()
    end = time.monotonic() + _PATIENCE
    _acquire_all()
    while len(sys._current_frames()) > 1 and _is_importing() and time.monotonic() < end:
        # Whoever imports may need one of the locks to come to an end.
        _release_all()
        time.sleep(_PAUSE)
        _acquire_all()


def _after() -> None:
    _release_all()
    _forking.release()


os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)

"""Streams of devices: what is asked of one is done in order, what is asked of two need not be.

What a stream is, a device says (`DeviceBackend.new_stream`); each thread has a current one for each
device, and kernels and launches get that.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol


class Streaming(Protocol):
    """What of a device streams need: its name, and the stream that is there without being asked."""

    name: str

    def default_stream(self, index: int) -> Any:
        """The stream that is current until another one is."""
        ...


class _Current(threading.local):
    def __init__(self) -> None:
        self.of: dict[tuple[str, int], Any] = {}


_current = _Current()


def current_stream(backend: Streaming, index: int = 0) -> Any:
    """The stream that this thread's calls on device `index` go to.

    >>> class Device(backends.DeviceBackend):
    ...     name = "npu"
    >>> backends.current_stream(Device()) is None
    True
    """
    found = _current.of.get((backend.name, index))
    return backend.default_stream(index) if found is None else found


@contextmanager
def use_stream(backend: Streaming, stream: Any, index: int = 0) -> Iterator[Any]:
    """Let this thread's calls on device `index` go to `stream`, and to the one before after it.

    >>> class Device(backends.DeviceBackend):
    ...     name = "npu"
    >>> with backends.use_stream(Device(), "second"):
    ...     backends.current_stream(Device())
    'second'
    """
    key = (backend.name, index)
    before = _current.of.get(key)
    _current.of[key] = stream
    try:
        yield stream
    finally:
        if before is None:
            _current.of.pop(key, None)
        else:
            _current.of[key] = before

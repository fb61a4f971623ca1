"""Which kernels attention may use: there is one, so the choice is kept and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(IntEnum):
    """The kernels torch has, by torch's numbers."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(
    backends: SDPBackend | Sequence[SDPBackend], set_priority: bool = False
) -> Iterator[None]:
    """A block that asks for some of the kernels. Raises TypeError for what names none."""
    listed = [backends] if isinstance(backends, SDPBackend) else list(backends)
    if not listed or not all(isinstance(one, SDPBackend) for one in listed):
        raise TypeError(f"sdpa_kernel(): expected SDPBackend or a list of them, got {backends!r}")
    yield

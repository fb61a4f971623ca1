"""cuDNN's settings, kept for programs that set them: it is not there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

enabled = True
benchmark = False
benchmark_limit = 10
deterministic = False
allow_tf32 = True
fp32_precision = "none"


def is_available() -> bool:
    """No."""
    return False


def version() -> None:
    """None: it is not there."""


def is_acceptable(tensor: Any) -> bool:
    """Whether it would take the tensor: never."""
    return False


@contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
) -> Iterator[None]:
    """Settings for the time of a block."""
    inside = dict(locals())
    outside = {name: globals()[name] for name in inside}
    globals().update(inside)
    try:
        yield
    finally:
        globals().update(outside)

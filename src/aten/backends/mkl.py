"""Intel's MKL: not there; products are multiplied by kernels of our own."""

from __future__ import annotations

from typing import Any, Self

VERBOSE_OFF = 0
VERBOSE_ON = 1


def is_available() -> bool:
    """No."""
    return False


class verbose:  # noqa: N801
    """A context that says nothing."""

    def __init__(self, enable: int) -> None:
        self.enable = enable

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: Any) -> None:
        return None

"""OpenMP: not there; threads are the library's own."""

from __future__ import annotations


def is_available() -> bool:
    """No."""
    return False

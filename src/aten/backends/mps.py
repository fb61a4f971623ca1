"""Apple's GPUs: not there."""

from __future__ import annotations


def is_available() -> bool:
    """No."""
    return False


def is_built() -> bool:
    """No."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """No."""
    return False

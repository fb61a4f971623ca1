"""opt_einsum: not there; `einsum` finds the order of its products itself."""

from __future__ import annotations

enabled = True
strategy = "auto"


def is_available() -> bool:
    """No."""
    return False


def get_opt_einsum() -> None:
    """None: it is not there."""

"""oneDNN: not there; its settings are kept for programs that set them."""

from __future__ import annotations

enabled = True
deterministic = False
allow_tf32 = True
fp32_precision = "none"


def is_available() -> bool:
    """No."""
    return False


def is_acl_available() -> bool:
    """No."""
    return False

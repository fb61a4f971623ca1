"""What was built: the version, and what it was not built with."""

from __future__ import annotations

from aten import __version__

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]

debug = False
cuda = None
hip = None
rocm = None
xpu = None
git_version = "Unknown"

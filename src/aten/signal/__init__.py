"""Signal processing: `windows`."""

from aten.signal import windows

__all__ = ["windows"]

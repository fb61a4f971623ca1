"""How many processors this process may use."""

from __future__ import annotations

import os
from pathlib import Path

from aten import config


def available_processors() -> int:
    """The configured number, else the least of affinity and the control group's quota."""
    chosen = config.NUM_THREADS.get()
    if chosen:
        return chosen
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    quota = _quota(Path("/sys/fs/cgroup/cpu.max"))
    return max(1, min(count or 1, quota or 1 << 30))


def _quota(path: Path) -> int:
    """Whole processors' worth of CPU time that the control group grants; 0 for no bound."""
    try:
        limit, period = path.read_text().split()
    except (OSError, ValueError):
        return 0
    if limit == "max":
        return 0
    return max(1, int(limit) // int(period))

"""How many processors this process may use."""

from __future__ import annotations

import os
from pathlib import Path

from aten import config

_GROUPS = Path("/sys/fs/cgroup")
_MEMBERSHIP = Path("/proc/self/cgroup")


def available_processors() -> int:
    """The configured number, else the least of affinity and the control groups' quotas."""
    chosen = config.NUM_THREADS.get()
    if chosen:
        return chosen
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(count or 1, quota(_GROUPS, _MEMBERSHIP) or 1 << 30))


def quota(groups: Path, membership: Path) -> int:
    """Whole processors' worth of time that the control groups grant; 0 for no bound.

    `groups` is where they are mounted, `membership` the file that names the process's own, one
    `number:controllers:path` to a line. A group is bound by those it lies in, too. Both versions
    of the interface are read; in a container the path may be the host's, and only `groups` there.
    """
    quotas = [_unified(groups), _legacy(groups / "cpu")]
    for line in _read(membership).splitlines():
        _, controllers, path = line.split(":", 2)
        inner = Path(path.lstrip("/"))
        for part in (inner, *inner.parents):
            if not controllers:
                quotas.append(_unified(groups / part))
            elif "cpu" in controllers.split(","):
                quotas.append(_legacy(groups / "cpu" / part))
    return min(filter(None, quotas), default=0)


def _unified(folder: Path) -> int:
    limit, _, period = _read(folder / "cpu.max").partition(" ")
    return _whole(limit, period)


def _legacy(folder: Path) -> int:
    return _whole(_read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us"))


def _whole(limit: str, period: str) -> int:
    """At least one processor where there is a bound; "max" and "-1" say that there is none."""
    if not limit.strip().isdecimal() or not period.strip().isdecimal() or int(period) == 0:
        return 0
    return max(1, int(limit) // int(period))


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""

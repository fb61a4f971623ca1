"""How many processors this process may use."""

from __future__ import annotations

import os
import posixpath

from aten import config

_GROUPS = "/sys/fs/cgroup"
_MEMBERSHIP = "/proc/self/cgroup"


def available_processors() -> int:
    """The configured number, else the least of affinity and the control groups' quotas."""
    chosen = config.NUM_THREADS.get()
    if chosen:
        return chosen
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(count or 1, quota(_GROUPS, _MEMBERSHIP) or 1 << 30))


def quota(groups: str | os.PathLike[str], membership: str | os.PathLike[str]) -> int:
    """Whole processors' worth of time that the control groups grant; 0 for no bound.

    `groups` is where they are mounted, `membership` the file that names the process's own, one
    `number:controllers:path` to a line. A group is bound by those it lies in, too. Both versions
    of the interface are read; in a container the path may be the host's, and only `groups` there.
    """
    join = posixpath.join
    quotas = [_unified(os.fspath(groups)), _legacy(join(groups, "cpu"))]
    for line in _read(membership).splitlines():
        _, controllers, path = line.split(":", 2)
        names = path.strip("/").split("/")
        for depth in range(len(names) + 1):
            part = "/".join(names[:depth])
            if not controllers:
                quotas.append(_unified(join(groups, part)))
            elif "cpu" in controllers.split(","):
                quotas.append(_legacy(join(groups, "cpu", part)))
    return min(filter(None, quotas), default=0)


def _unified(folder: str) -> int:
    limit, _, period = _read(posixpath.join(folder, "cpu.max")).partition(" ")
    return _whole(limit, period)


def _legacy(folder: str) -> int:
    limit, period = (posixpath.join(folder, f"cpu.cfs_{one}_us") for one in ("quota", "period"))
    return _whole(_read(limit), _read(period))


def _whole(limit: str, period: str) -> int:
    """At least one processor where there is a bound; "max" and "-1" say that there is none."""
    if not limit.strip().isdecimal() or not period.strip().isdecimal() or int(period) == 0:
        return 0
    return max(1, int(limit) // int(period))


def _read(path: str | os.PathLike[str]) -> str:
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""

"""How much memory the machine, or the control group the process is in, has left.

Sources: proc(5), "/proc/meminfo"; Linux kernel documentation, "Control Group v2", memory, and
"Memory Resource Controller" for version 1. Where a file is missing or says something else, it sets
no bound.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

# What is said of memory without a bound.
UNBOUNDED = 1 << 62
# The part of all memory that is left to others.
_RESERVED_PART = 16

_KIBIBYTE = 1024
_ROOT = Path("/sys/fs/cgroup")
# Per version: the folder below the root, the files with bound and use, and what is said in
# memory.stat of pages that the kernel takes back at need.
_VERSIONS = (
    ("", "memory.max", "memory.current", "inactive_file"),
    ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def available_bytes() -> int:
    """Bytes that can be had without swapping and within every bound; `UNBOUNDED` if unknown."""
    least = _entry("/proc/meminfo", "MemAvailable:", _KIBIBYTE)
    for folder, bound, use, reclaimable in _groups():
        limit, used = _number(folder / bound), _number(folder / use)
        if limit < UNBOUNDED and used < UNBOUNDED:
            freed = _entry(str(folder / "memory.stat"), reclaimable, 1)
            least = min(least, limit - used + (freed if freed < UNBOUNDED else 0))
    return max(least, 0)


@cache
def reserve_bytes() -> int:
    """Bytes to leave to others."""
    total = _entry("/proc/meminfo", "MemTotal:", _KIBIBYTE)
    for folder, bound, _, _ in _groups():
        total = min(total, _number(folder / bound))
    return total // _RESERVED_PART if total < UNBOUNDED else 0


@cache
def _groups() -> tuple[tuple[Path, str, str, str], ...]:
    """The folders of the control groups that bound this process, with the names of their files."""
    found = []
    for line in _text("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        folder, bound, use, reclaimable = _VERSIONS[1 if controllers else 0]
        # In a container the path may be one that only the host sees.
        for place in (_ROOT / folder / path.lstrip("/"), _ROOT / folder):
            if (place / bound).exists():
                found.append((place, bound, use, reclaimable))
                break
    return tuple(found)


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _number(path: Path) -> int:
    text = _text(str(path)).strip()
    return int(text) if text.isdecimal() else UNBOUNDED


def _entry(path: str, name: str, unit: int) -> int:
    for line in _text(path).splitlines():
        words = line.split()
        if len(words) > 1 and words[0] == name and words[1].isdecimal():
            return int(words[1]) * unit
    return UNBOUNDED

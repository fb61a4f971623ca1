# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""How much memory the machine, or the control group the process is in, has left.

The allocator asks in the middle of calls of operators, whose operands nobody may change meanwhile:
so no Python code runs here, and the interpreter lock is kept.

Sources: proc(5), "/proc/meminfo"; Linux kernel documentation, "Control Group v2", memory, and
"Memory Resource Controller" for version 1. Where a file is missing or says something else, it sets
no bound.
"""

from libc.stdint cimport int64_t
from libc.stdio cimport FILE, fclose, fgets, fopen
from libc.stdlib cimport strtoll
from libc.string cimport strlen, strncmp

import os

cdef enum:
    # The part of all memory that is left to others.
    RESERVED_PART = 16
    KIBIBYTE = 1024
    LONGEST_LINE = 256
    MOST_GROUPS = 8

cdef struct Group:
    # The files that say what bounds it, what it uses, and what the kernel takes back at need.
    const char* bound
    const char* use
    const char* statistics
    const char* reclaimable

# What is said of memory without a bound.
cdef int64_t _UNBOUNDED = <int64_t>1 << 62
UNBOUNDED = _UNBOUNDED

# Per version: the folder below the root, the files with bound and use, and what is said in
# memory.stat of pages that the kernel takes back at need.
_VERSIONS = (
    ("", "memory.max", "memory.current", "inactive_file"),
    ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)

cdef list _names = []       # keeps the bytes that the groups point to
cdef bytes _information = b""
cdef Group _groups[MOST_GROUPS]
cdef int _group_count = 0
cdef int64_t _reserve = 0


def look_at(str memory_information not None, str own_groups not None, str root not None):
    """Read from now on these files in the places of /proc/meminfo and /proc/self/cgroup, and the
    control groups below `root`."""
    global _information, _group_count, _reserve
    _names.clear()
    _information = os.fsencode(memory_information)
    _group_count = 0
    for folder, bound, use, reclaimable in _folders(own_groups, root)[:MOST_GROUPS]:
        files = [os.path.join(folder, name) for name in (bound, use, "memory.stat")]
        _names.append([os.fsencode(name) for name in (*files, reclaimable)])
        _groups[_group_count].bound = _names[_group_count][0]
        _groups[_group_count].use = _names[_group_count][1]
        _groups[_group_count].statistics = _names[_group_count][2]
        _groups[_group_count].reclaimable = _names[_group_count][3]
        _group_count += 1
    _reserve = _part_of_all()


def _folders(str own_groups, str root):
    """The folders of the groups that bound this process, with the names of their files."""
    found = []
    try:
        with open(own_groups, encoding="utf-8", errors="replace") as lines:
            groups = [line.rstrip("\n").split(":", 2) for line in lines]
    except OSError:
        return found
    for _, controllers, path in [group for group in groups if len(group) == 3]:
        if controllers and "memory" not in controllers.split(","):
            continue
        folder, bound, use, reclaimable = _VERSIONS[1 if controllers else 0]
        # In a container the path may be one that only the host sees.
        for below in (path.lstrip("/"), ""):
            place = os.path.join(root, folder, below)
            if os.path.exists(os.path.join(place, bound)):
                found.append((place, bound, use, reclaimable))
                break
    return found


cdef int64_t _positive(const char* text) noexcept:
    """The number a text begins with; `UNBOUNDED` where it begins with anything else."""
    cdef char* end = NULL
    cdef int64_t value = strtoll(text, &end, 10)
    return value if end != text and value >= 0 else _UNBOUNDED


cdef int64_t _number_in(const char* path) noexcept:
    """The number that is all there is in a file."""
    cdef char line[LONGEST_LINE]
    cdef FILE* file = fopen(path, "re")
    cdef int64_t value = _UNBOUNDED
    if file == NULL:
        return value
    if fgets(line, LONGEST_LINE, file) != NULL:
        value = _positive(line)
    fclose(file)
    return value


cdef int64_t _entry_in(const char* path, const char* name, int64_t unit) noexcept:
    """The number behind `name`, at the beginning of a line."""
    cdef char line[LONGEST_LINE]
    cdef FILE* file = fopen(path, "re")
    cdef size_t length = strlen(name)
    cdef int64_t value = _UNBOUNDED
    if file == NULL:
        return value
    while fgets(line, LONGEST_LINE, file) != NULL:
        if strncmp(line, name, length) == 0 and line[length] in (c" ", c"\t"):
            value = _positive(line + length)
            break
    fclose(file)
    return value * unit if value < _UNBOUNDED // unit else _UNBOUNDED


cdef int64_t bytes_available() noexcept:
    cdef int64_t least = _entry_in(_information, b"MemAvailable:", KIBIBYTE), bound, used, freed
    cdef Group* group
    cdef int place
    for place in range(_group_count):
        group = &_groups[place]
        bound, used = _number_in(group.bound), _number_in(group.use)
        if bound < _UNBOUNDED and used < _UNBOUNDED:
            freed = _entry_in(group.statistics, group.reclaimable, 1)
            least = min(least, bound - used + (freed if freed < _UNBOUNDED else 0))
    return max(least, 0)


cdef int64_t _part_of_all() noexcept:
    cdef int64_t total = _entry_in(_information, b"MemTotal:", KIBIBYTE)
    cdef int place
    for place in range(_group_count):
        total = min(total, _number_in(_groups[place].bound))
    return total // RESERVED_PART if total < _UNBOUNDED else 0


cdef int64_t bytes_reserved() noexcept:
    return _reserve


def available_bytes():
    """Bytes that can be had without swapping and within every bound; `UNBOUNDED` if unknown."""
    return bytes_available()


def reserve_bytes():
    """Bytes to leave to others."""
    return bytes_reserved()


look_at("/proc/meminfo", "/proc/self/cgroup", "/sys/fs/cgroup")

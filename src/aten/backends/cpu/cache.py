"""The folder of files that later processes begin with: compiled objects, and captured programs.

Files are written under another name and moved into place, so that processes may share the folder; a
file that does not carry its own checksum is dropped and made anew. The folder is bounded: past the
bound, the files used longest ago go. A folder that cannot be written to is as good as none.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
import time
from contextlib import suppress

from aten import config

_MAGIC = b"ATENOBJ1"
_HASH_BYTES = 32
# What is kept, by the endings of files' names.
_KEPT = frozenset({".o", ".program"})
# Seconds after which a file not moved into place yet was left behind by a process that died.
_ABANDONED = 3600
# One write in this many, as the name decides, looks whether the folder has outgrown its bound.
_WRITES_PER_TRIM = 64


def directory() -> str | None:
    """Where files are kept; None where the cache is switched off."""
    chosen = config.CACHE_DIR.get()
    return None if chosen == "off" else chosen


def read(name: str, most: int) -> bytes | None:
    """What `write` put into a file of this name; None where there is none, where it is damaged, and
    where it is longer than `most` bytes."""
    folder = directory()
    if folder is None:
        return None
    path = os.path.join(folder, name)
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode) or status.st_size > most:
            return None
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        return None
    begin = len(_MAGIC) + _HASH_BYTES
    found = content[begin:]
    if content[: len(_MAGIC)] != _MAGIC or _hash(found) != content[len(_MAGIC) : begin]:
        _remove(path)
        return None
    with suppress(OSError):
        os.utime(path)
    return found


def write(name: str, content: bytes) -> None:
    """Keep a file. Its name begins with hexadecimal digits, which decide when the folder is
    trimmed."""
    folder = directory()
    if folder is None:
        return
    path = os.path.join(folder, name)
    temporary = f"{path}.{os.getpid()}.{threading.get_ident()}.tmp"
    try:
        os.makedirs(folder, exist_ok=True)
        with open(temporary, "wb") as file:
            file.write(_MAGIC + _hash(content) + content)
        os.replace(temporary, path)
    except OSError:
        _remove(temporary)
        return
    if int(name[:8], 16) % _WRITES_PER_TRIM == 0:
        trim(folder)


def trim(folder: str) -> None:
    """Remove the files used longest ago beyond the bound, and what dead processes left."""
    files = []
    for entry in list(os.scandir(folder)):
        try:
            status = entry.stat()
        except OSError:
            continue
        ending = os.path.splitext(entry.name)[1]
        if ending in _KEPT:
            files.append((status.st_mtime, status.st_size, entry.path))
        elif ending == ".tmp" and time.time() - status.st_mtime > _ABANDONED:
            _remove(entry.path)
    total = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total <= config.CACHE_LIMIT.get():
            return
        _remove(path)
        total -= size


def _hash(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)

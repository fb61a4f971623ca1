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
from pathlib import Path

from aten import config

_MAGIC = b"ATENOBJ1"
_HASH_BYTES = 32
# What is kept, by the endings of files' names.
_KEPT = frozenset({".o", ".program"})
# Seconds after which a file not moved into place yet was left behind by a process that died.
_ABANDONED = 3600
# One write in this many, as the name decides, looks whether the folder has outgrown its bound.
_WRITES_PER_TRIM = 64


def directory() -> Path | None:
    """Where files are kept; None where the cache is switched off."""
    chosen = config.CACHE_DIR.get()
    return None if chosen == "off" else Path(chosen)


def read(name: str, most: int) -> bytes | None:
    """What `write` put into a file of this name; None where there is none, where it is damaged, and
    where it is longer than `most` bytes."""
    folder = directory()
    if folder is None:
        return None
    path = folder / name
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > most:
            return None
        content = path.read_bytes()
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
    temporary = folder / f"{name}.{os.getpid()}.{threading.get_ident()}.tmp"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(_MAGIC + _hash(content) + content)
        os.replace(temporary, folder / name)
    except OSError:
        _remove(temporary)
        return
    if int(name[:8], 16) % _WRITES_PER_TRIM == 0:
        trim(folder)


def trim(folder: Path) -> None:
    """Remove the files used longest ago beyond the bound, and what dead processes left."""
    files = []
    for path in folder.iterdir():
        try:
            status = path.stat()
        except OSError:
            continue
        if path.suffix in _KEPT:
            files.append((status.st_mtime, status.st_size, path))
        elif path.suffix == ".tmp" and time.time() - status.st_mtime > _ABANDONED:
            _remove(path)
    total = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total <= config.CACHE_LIMIT.get():
            return
        _remove(path)
        total -= size


def _hash(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()

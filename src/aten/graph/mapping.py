"""Files as memory: mapped, or read."""

from __future__ import annotations

import mmap
import os

from aten.graph.errors import ArchiveError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO


def map_file(path: str) -> memoryview:
    """The file's bytes, mapped copy-on-write. Raises OSError, or ArchiveError for no bytes.

    While they are in use nobody may make the file shorter: the system ends a process that reads
    where a mapped file is no more (SIGBUS).
    """
    with open(path, "rb") as file:
        _size(file, path)
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))


def read_file(path: str) -> memoryview:
    """The file's bytes in memory of this process, which nobody else changes.

    Raises OSError, or ArchiveError for no bytes and for a file that is cut short meanwhile.
    """
    with open(path, "rb") as file:
        size = _size(file, path)
        buffer = memoryview(mmap.mmap(-1, size))
        position = 0
        while position < size:
            count = file.readinto(buffer[position:])
            if not count:
                raise ArchiveError(f"{path}: the file was cut short while it was read")
            position += count
    return buffer


def _size(file: IO[bytes], path: str) -> int:
    size = os.fstat(file.fileno()).st_size
    if not size:
        raise ArchiveError(f"{path}: the file is empty")
    return size

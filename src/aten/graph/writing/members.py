"""Zip archives of stored members whose bytes are aligned, so that readers may map them."""

from __future__ import annotations

import contextlib
import os
import secrets
import struct
import zipfile
from collections.abc import Callable
from typing import IO

_ALIGNMENT = 64  # bytes, as torch has it
_PADDING = struct.Struct("<2sH")
_LOCAL_HEADER = 30  # bytes, before the name
_ZIP64_EXTRA = 20
_ZIP64_FROM = 1 << 31


def write_member(archive: zipfile.ZipFile, name: str, data: bytes | memoryview) -> None:
    """One more member, whose bytes begin at a multiple of the alignment."""
    info = zipfile.ZipInfo(name)
    info.file_size = len(data)
    wide = len(data) >= _ZIP64_FROM
    assert archive.fp is not None
    encoded = len(info.filename.encode())
    start = archive.fp.tell() + _LOCAL_HEADER + encoded + wide * _ZIP64_EXTRA
    count = -(start + _PADDING.size) % _ALIGNMENT
    info.extra = _PADDING.pack(b"FB", count) + bytes(count)
    with archive.open(info, "w", force_zip64=wide) as target:
        target.write(data)


def replace_file(path: str | os.PathLike[str], write: Callable[[IO[bytes]], None]) -> None:
    """Let a file hold what `write` writes, once all of it is written.

    A file of this name is replaced, so that what was mapped from it stays what it is; where writing
    fails it is as it was. Raises OSError, and what `write` raises.
    """
    target = os.path.abspath(os.fspath(path))
    temporary = f"{target}.{secrets.token_hex(8)}"
    try:
        with open(temporary, "xb") as file:
            write(file)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise

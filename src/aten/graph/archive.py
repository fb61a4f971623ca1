"""Zip archives as `torch.export.save` writes them: stored members, mapped and never unpickled.

A `.pt2` file is a zip whose members are stored, not compressed, so a weight is a byte range of
the file. The file is mapped copy-on-write: a weight costs no memory until it is read, and writing
to one never reaches the file. The central directory is parsed here, and not by `zipfile`, because
every range is checked against the file and its neighbours before anything looks at the bytes.

Format: PKWARE APPNOTE.TXT 6.3.10, sections 4.3.7 (local header), 4.3.12 (central directory),
4.3.14 to 4.3.16 (end records, zip64) and 4.5.3 (zip64 extra field).
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterable
from itertools import pairwise
from typing import IO, NamedTuple

from aten._core.threads.parallel import get_num_threads
from aten.graph.errors import ArchiveError
from aten.graph.mapping import map_file, on_threads, pieces, read_file

_LOCAL_HEADER = struct.Struct("<4s5H3I2H")
_CENTRAL_HEADER = struct.Struct("<4s6H3I5H2I")
_END_RECORD = struct.Struct("<4s4H2IH")
_END_RECORD_64 = struct.Struct("<4sQ2H2I4Q")
_END_LOCATOR_64 = struct.Struct("<4sIQI")

_LOCAL_MAGIC = b"PK\x03\x04"
_CENTRAL_MAGIC = b"PK\x01\x02"
_END_MAGIC = b"PK\x05\x06"
_END_MAGIC_64 = b"PK\x06\x06"
_LOCATOR_MAGIC_64 = b"PK\x06\x07"

_ENCRYPTED = 1
_STORED = 0
_ZIP64_EXTRA = 1
_MARKER_16 = 0xFFFF
_MARKER_32 = 0xFFFFFFFF
_LONGEST_COMMENT = 0xFFFF
# Bytes of members that are worth a thread.
_WORTH_A_THREAD = 1 << 23


class Member(NamedTuple):
    """A stored member: its place in the file, in bytes, and the CRC-32 of its contents."""

    name: str
    header: int  # where its local header starts, and with it the range that is its own
    offset: int
    length: int
    crc: int


class Archive:
    """The members of a zip file by name, over one mapping of the file.

    Args:
        file: a path, a binary file object, which is read to its end, or the bytes.

    Raises:
        OSError: the file cannot be opened.
        ArchiveError: it is no zip, is cut short or damaged, or has compressed or encrypted members.
    """

    def __init__(
        self, file: str | os.PathLike[str] | IO[bytes] | memoryview, mmap: bool = True
    ) -> None:
        if isinstance(file, memoryview):
            self.name, self.buffer = "<memory>", file
        elif isinstance(file, (str, os.PathLike)):
            self.name = os.fspath(file)
            self.buffer = map_file(self.name) if mmap else read_file(self.name)
        else:
            self.name = str(getattr(file, "name", "<stream>"))
            self.buffer = memoryview(bytearray(file.read()))
        if not len(self.buffer):
            raise ArchiveError(f"{self.name}: the file is empty")
        self.members = _Directory(self.name, self.buffer).read()

    def __contains__(self, name: str) -> bool:
        return name in self.members

    def find(self, name: str) -> Member:
        """The member of that name, or an ArchiveError that says it is missing."""
        member = self.members.get(name)
        if member is None:
            raise ArchiveError(f"{self.name}: the archive has no member {name!r}")
        return member

    def view(self, name: str) -> memoryview:
        """The member's bytes, not copied. Writable; writes stay in this process."""
        member = self.find(name)
        return self.buffer[member.offset : member.offset + member.length]

    def read(self, name: str) -> bytes:
        """A copy of the member's bytes, checked against its CRC-32."""
        self.verify(name)
        return bytes(self.view(name))

    def verify(self, name: str) -> None:
        """Raises ArchiveError unless the member's bytes have the CRC-32 the directory records."""
        member = self.find(name)
        found = 0
        for piece in pieces(self.buffer, member.offset, member.length):
            found = zlib.crc32(piece, found)
        if found != member.crc:
            raise ArchiveError(
                f"{self.name}: member {name!r} is damaged: its CRC-32 does not match"
            )

    def verify_all(self, names: Iterable[str]) -> None:
        """`verify` for those of these members that there are, large ones on all threads.

        Raises ArchiveError for one that is damaged, and what reading one raises.
        """
        waiting = [name for name in dict.fromkeys(names) if name in self.members]
        bytes_of_all = sum(self.members[name].length for name in waiting)
        count = min(get_num_threads(), len(waiting), bytes_of_all // _WORTH_A_THREAD)
        waiting.sort(key=lambda name: self.members[name].length)

        def work() -> None:
            # A list gives each of its members to one thread.
            while waiting:
                try:
                    name = waiting.pop()
                except IndexError:
                    return
                try:
                    self.verify(name)
                except Exception:
                    waiting.clear()
                    raise

        on_threads(work, count)


class _Directory:
    """Reads the central directory of one file and checks every range it names."""

    def __init__(self, name: str, buffer: memoryview) -> None:
        self.name = name
        self.buffer = buffer

    def error(self, reason: str) -> ArchiveError:
        return ArchiveError(f"{self.name}: {reason}")

    def read(self) -> dict[str, Member]:
        count, size, start, limit = self.find_directory()
        if start + size > limit:
            raise self.error(
                "the zip directory lies outside the file; the file is cut short or damaged"
            )
        members: dict[str, Member] = {}
        position, end = start, start + size
        for _ in range(count):
            member, position = self.read_entry(position, end, start)
            if member.name in members:
                raise self.error(f"two members are named {member.name!r}")
            members[member.name] = member
        if position != end:
            raise self.error("the zip directory is longer than its entries; the file is damaged")
        self.check_disjoint(members)
        return members

    def find_directory(self) -> tuple[int, int, int, int]:
        """Number of entries, size and start of the directory, and where it must have ended."""
        position = self.find_end_record()
        (_, disk, first_disk, disk_count, count, size, start, _) = _END_RECORD.unpack_from(
            self.buffer, position
        )
        wide = _MARKER_16 in (disk_count, count) or _MARKER_32 in (size, start)
        locator = position - _END_LOCATOR_64.size
        has_locator = locator >= 0 and self.buffer[locator : locator + 4] == _LOCATOR_MAGIC_64
        if wide and has_locator:
            return self.read_end_record_64(locator)
        if disk or first_disk or disk_count != count:
            raise self.error("the zip archive is split over several files")
        return count, size, start, position

    def find_end_record(self) -> int:
        if bytes(self.buffer[:2]) != b"PK":
            raise self.error("not a zip archive, as torch.export.save and torch.save write them")
        floor = max(0, len(self.buffer) - _LONGEST_COMMENT - _END_RECORD.size)
        tail = bytes(self.buffer[floor:])
        position = tail.rfind(_END_MAGIC)
        while position >= 0:
            comment = len(tail) - position - _END_RECORD.size
            if comment >= 0 and comment == _END_RECORD.unpack_from(tail, position)[-1]:
                return floor + position
            position = tail.rfind(_END_MAGIC, 0, position)
        raise self.error("the end of the zip archive is missing; the file is cut short")

    def read_end_record_64(self, locator: int) -> tuple[int, int, int, int]:
        (_, disk, position, disks) = _END_LOCATOR_64.unpack_from(self.buffer, locator)
        if disk or disks > 1:
            raise self.error("the zip archive is split over several files")
        if position + _END_RECORD_64.size > locator:
            raise self.error("the zip64 end record lies outside the file; the file is damaged")
        record = _END_RECORD_64.unpack_from(self.buffer, position)
        if record[0] != _END_MAGIC_64:
            raise self.error("the zip64 end record is missing; the file is damaged")
        count, size, start = record[7:]
        return count, size, start, position

    def read_entry(self, position: int, end: int, data_end: int) -> tuple[Member, int]:
        """The member whose directory entry is at `position`, and the position after that entry."""
        if position + _CENTRAL_HEADER.size > end:
            raise self.error("the zip directory is cut short")
        header = _CENTRAL_HEADER.unpack_from(self.buffer, position)
        magic, _, _, flags, method, _, _, crc, packed, length = header[:10]
        name_length, extra_length, comment_length, _, _, _, local = header[10:]
        if magic != _CENTRAL_MAGIC:
            raise self.error("the zip directory is damaged")
        name_start = position + _CENTRAL_HEADER.size
        extra_start = name_start + name_length
        next_position = extra_start + extra_length + comment_length
        if next_position > end:
            raise self.error("the zip directory is cut short")
        name = self.member_name(bytes(self.buffer[name_start:extra_start]))
        extra = bytes(self.buffer[extra_start : extra_start + extra_length])
        length, packed, local = self.widen(name, extra, (length, packed, local))
        if flags & _ENCRYPTED:
            raise self.error(f"member {name!r} is encrypted")
        if method != _STORED:
            raise self.error(
                f"member {name!r} is compressed; only stored members can be mapped. "
                "torch.export.save stores them; a repacked archive does not"
            )
        if packed != length:
            raise self.error(f"member {name!r} is stored but has two different sizes")
        offset = self.data_offset(name, local, data_end)
        if offset + length > data_end:
            raise self.error(f"member {name!r} reaches beyond the data of the archive")
        return Member(name, local, offset, length, crc), next_position

    def member_name(self, raw: bytes) -> str:
        try:
            name = raw.decode("utf-8")
        except UnicodeDecodeError:
            raise self.error(f"the member name {raw!r} is not UTF-8") from None
        if not name.isprintable() or not name:
            raise self.error(f"the member name {name!r} is empty or holds control characters")
        return name

    def widen(self, name: str, extra: bytes, fields: tuple[int, ...]) -> list[int]:
        """Replaces 32-bit markers among length, packed length and offset by their zip64 values."""
        values = list(fields)
        missing = [index for index, value in enumerate(values) if value == _MARKER_32]
        position = 0
        while missing and position + 4 <= len(extra):
            tag, size = struct.unpack_from("<2H", extra, position)
            position += 4
            if tag == _ZIP64_EXTRA:
                if size < 8 * len(missing) or position + size > len(extra):
                    raise self.error(f"the zip64 sizes of member {name!r} are cut short")
                for slot, index in enumerate(missing):
                    values[index] = struct.unpack_from("<Q", extra, position + 8 * slot)[0]
                break
            position += size
        return values

    def data_offset(self, name: str, local: int, data_end: int) -> int:
        if local + _LOCAL_HEADER.size > data_end:
            raise self.error(f"member {name!r} lies outside the file")
        header = _LOCAL_HEADER.unpack_from(self.buffer, local)
        name_length, extra_length = header[-2:]
        start = local + _LOCAL_HEADER.size
        if header[0] != _LOCAL_MAGIC or bytes(
            self.buffer[start : start + name_length]
        ) != name.encode("utf-8"):
            raise self.error(f"the header of member {name!r} is damaged")
        return int(start + name_length + extra_length)

    def check_disjoint(self, members: dict[str, Member]) -> None:
        in_order = sorted(members.values(), key=lambda member: member.header)
        for before, after in pairwise(in_order):
            if before.offset + before.length > after.header:
                raise self.error(f"members {before.name!r} and {after.name!r} overlap")

"""Images as shared objects that the system's loader and linkers take.

Formats: System V ABI, chapters 4 and 5, and its x86-64 supplement. Addresses are places in the
file: headers and names are read, code is run, the addresses of functions are filled in by the
loader, weights are read.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import NamedTuple

from aten.backends.cpu.images import PAGE, Image

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_ENTRY = struct.Struct("<qQ")
_SHARED, _X86_64 = 3, 62
_LOAD, _DYNAMIC, _STACK = 1, 2, 0x6474E551
_RUN, _WRITE, _READ = 1, 2, 4
_GLOBAL_DATA = 6
_GLOBAL_FUNCTION, _GLOBAL_ANY = 0x12, 0x10
_NEEDED, _HASH, _STRINGS, _SYMBOLS, _RELA = 1, 4, 5, 6, 7
_RELA_SIZE, _RELA_ENTRY, _STRINGS_SIZE, _SYMBOL_ENTRY, _NAME = 8, 9, 10, 11, 14
# The libraries that have the functions which kernels call.
_LIBRARIES = ("libm.so.6", "libc.so.6")
_SEGMENTS = 6
_TEXT_SECTION = 5


class _Part(NamedTuple):
    """A section: its name, kind, flags, place, length, link, info, alignment, bytes of an entry."""

    name: str
    kind: int
    flags: int
    place: int
    length: int
    link: int = 0
    info: int = 0
    alignment: int = 8
    entry: int = 0


class _Strings:
    def __init__(self) -> None:
        self.content = bytearray(1)

    def add(self, text: str) -> int:
        self.content += text.encode() + b"\0"
        return len(self.content) - len(text.encode()) - 1


def shared_object(name: str, image: Image, exported: Mapping[str, int], weights: bytes) -> bytes:
    """The file of a library called `name`.

    `exported` are functions by their places in the image. `weights` lie a page behind it, as code
    expects that was linked so.
    """
    strings = _Strings()
    needed = [strings.add(one) for one in _LIBRARIES]
    called = [strings.add(one) for one in image.functions]
    shown = [strings.add(one) for one in exported]
    title = strings.add(name)
    count = 1 + len(called) + len(shown)
    # Names and tables come first; what is run begins on a page.
    symbols = -(-(_HEADER.size + _SEGMENTS * _SEGMENT.size) // 8) * 8
    texts = symbols + count * _SYMBOL.size
    table = _aligned(texts + len(strings.content), 8)
    relocations = _aligned(table + 4 * (3 + count), 8)
    code = _aligned(relocations + len(called) * _RELOCATION.size, PAGE)
    slots = code + image.code
    dynamic = code + len(image.content)
    begin = dynamic + PAGE

    made = bytearray(begin)
    made[code:dynamic] = image.content
    entries = [_SYMBOL.pack(0, 0, 0, 0, 0, 0)]
    entries += [_SYMBOL.pack(one, _GLOBAL_ANY, 0, 0, 0, 0) for one in called]
    entries += [
        _SYMBOL.pack(one, _GLOBAL_FUNCTION, 0, _TEXT_SECTION, code + place, 0)
        for one, place in zip(shown, exported.values(), strict=True)
    ]
    _put(made, symbols, b"".join(entries))
    _put(made, texts, bytes(strings.content))
    # One bucket, in which all symbols are.
    chain = [*range(2, count), 0] if count > 1 else []
    _put(made, table, struct.pack(f"<{3 + count}I", 1, count, 1 if count > 1 else 0, 0, *chain))
    for place in range(len(called)):
        kind = (place + 1) << 32 | _GLOBAL_DATA
        _put(
            made,
            relocations + place * _RELOCATION.size,
            _RELOCATION.pack(slots + 8 * place, kind, 0),
        )
    tags = [(_NEEDED, one) for one in needed]
    tags += [(_NAME, title), (_HASH, table), (_STRINGS, texts), (_SYMBOLS, symbols)]
    tags += [(_STRINGS_SIZE, len(strings.content)), (_SYMBOL_ENTRY, _SYMBOL.size)]
    if called:
        tags += [(_RELA, relocations), (_RELA_SIZE, len(called) * _RELOCATION.size)]
        tags.append((_RELA_ENTRY, _RELOCATION.size))
    tags.append((0, 0))
    _put(made, dynamic, b"".join(_ENTRY.pack(*one) for one in tags))
    made += weights
    loaded = [
        (_READ, 0, code),
        (_READ | _RUN, code, slots - code),
        (_READ | _WRITE, slots, begin - slots),
        (_READ, begin, max(len(weights), 1)),
    ]
    made += bytes(1 if not weights else 0)
    segments = [
        _SEGMENT.pack(_LOAD, flags, at, at, at, size, size, PAGE) for flags, at, size in loaded
    ]
    length = len(tags) * _ENTRY.size
    segments.append(
        _SEGMENT.pack(_DYNAMIC, _READ | _WRITE, dynamic, dynamic, dynamic, length, length, 8)
    )
    segments.append(_SEGMENT.pack(_STACK, _READ | _WRITE, 0, 0, 0, 0, 0, 16))
    _put(made, _HEADER.size, b"".join(segments))
    parts = [
        _Part(".dynsym", 11, 2, symbols, count * _SYMBOL.size, 2, 1, 8, _SYMBOL.size),
        _Part(".dynstr", 3, 2, texts, len(strings.content), alignment=1),
        _Part(".hash", 5, 2, table, 4 * (3 + count), 1, 0, 8, 4),
        _Part(".rela.dyn", 4, 2, relocations, len(called) * _RELOCATION.size, 1, 0, 8, 24),
        _Part(".text", 1, 6, code, slots - code, alignment=PAGE),
        _Part(".data", 1, 3, slots, dynamic - slots, alignment=PAGE),
        _Part(".dynamic", 6, 3, dynamic, length, 2, 0, 8, _ENTRY.size),
        _Part(".rodata", 1, 2, begin, max(len(weights), 1), alignment=PAGE),
    ]
    return _with_sections(made, parts)


def _with_sections(made: bytearray, parts: list[_Part]) -> bytes:
    """The file with its table of sections, which linkers read and loaders do not."""
    strings = _Strings()
    rows = [_SECTION.pack(*[0] * 10)]
    for one in parts:
        named = strings.add(one.name)
        sizes = one.place, one.place, one.length, one.link, one.info, one.alignment, one.entry
        rows.append(_SECTION.pack(named, one.kind, one.flags, *sizes))
    named = strings.add(".shstrtab")
    place = len(made)
    rows.append(_SECTION.pack(named, 3, 0, 0, place, len(strings.content), 0, 0, 1, 0))
    made += strings.content
    made += bytes(-len(made) % 8)
    identity = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    counts = _HEADER.size, _SEGMENT.size, _SEGMENTS, _SECTION.size, len(rows), len(rows) - 1
    header = _HEADER.pack(identity, _SHARED, _X86_64, 1, 0, _HEADER.size, len(made), 0, *counts)
    _put(made, 0, header)
    return bytes(made) + b"".join(rows)


def _aligned(place: int, alignment: int) -> int:
    return -(-place // alignment) * alignment


def _put(made: bytearray, place: int, content: bytes) -> None:
    made[place : place + len(content)] = content

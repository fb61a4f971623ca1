"""Compiled objects as one image, which is loaded without LLVM.

Objects are ELF files for x86-64 whose code addresses constants relative to itself and calls a few
functions of the C library. The linker puts code and constants one behind the other, resolves what
is relative, and gives every function from outside a slot in the image's last page, which is filled
in when the image is loaded. Formats: System V ABI, chapter 4, and its x86-64 supplement, section
4.4 (relocations R_X86_64_PC32 and R_X86_64_PLT32).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import NamedTuple

from aten.backends.cpu.images import PAGE, Image, LinkError

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_PROGRAM_DATA, _RELOCATIONS = 1, 4
_ALLOCATED, _WRITABLE = 2, 1
_PC32, _PLT32 = 2, 4
_X86_64 = 62
_WORD = 8
# A jump to the address in a slot.
_JUMP = b"\xff\x25"


class _Section(NamedTuple):
    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


class _Object:
    """One object file: its sections, and where they go."""

    def __init__(self, content: bytes) -> None:
        header = _HEADER.unpack_from(content)
        if header[0][:6] != b"\x7fELF\x02\x01" or header[2] != _X86_64:
            raise LinkError("the object is no ELF file for x86-64")
        self.content = content
        self.sections = [
            _Section._make(_SECTION.unpack_from(content, header[6] + place * _SECTION.size))
            for place in range(header[12])
        ]
        self.places: dict[int, int] = {}

    def bytes_of(self, section: _Section) -> bytes:
        return self.content[section.offset : section.offset + section.size]

    def symbol(self, table: _Section, number: int) -> tuple[str, int, int]:
        """Name, section and offset of a symbol; section 0 is for those of others."""
        name, _, _, section, value, _ = _SYMBOL.unpack_from(self.bytes_of(table), 24 * number)
        names = self.bytes_of(self.sections[table.link])
        return names[name : names.index(b"\0", name)].decode(), section, value


def linked(objects: Mapping[str, bytes], weights: str = "", beyond: int = 0) -> Image:
    """An image of objects by the names of their kernels, which may call each other.

    `weights` is the name of what lies `beyond` bytes behind the image.

    Raises LinkError for objects with relocations of other kinds, or with data that is written to.
    """
    made = bytearray()
    read = {name: _Object(content) for name, content in objects.items()}
    for one in read.values():
        for number, section in enumerate(one.sections):
            if not section.flags & _ALLOCATED or not section.size:
                continue
            if section.kind != _PROGRAM_DATA or section.flags & _WRITABLE:
                continue
            made += bytes(-len(made) % max(section.alignment, 1))
            one.places[number] = len(made)
            made += one.bytes_of(section)
    calls: list[tuple[int, int, str]] = []
    symbols: dict[str, int] = {}
    for name, one in read.items():
        symbols[name] = _resolve(one, name, made, calls)
    functions = sorted({one for _, _, one in calls if one not in symbols and one != weights})
    made += bytes(-len(made) % _WORD)
    stubs = {function: len(made) + _WORD * place for place, function in enumerate(functions)}
    code = -(-(len(made) + _WORD * len(functions)) // PAGE) * PAGE
    for place, function in enumerate(functions):
        slot = code + _WORD * place
        made += _JUMP + struct.pack("<i", slot - (stubs[function] + 6)) + b"\xcc\xcc"
    made += bytes(code - len(made)) + bytes(-(-_WORD * len(functions) // PAGE) * PAGE)
    places = {**stubs, **symbols, **({weights: len(made) + beyond} if weights else {})}
    for place, addend, name in calls:
        struct.pack_into("<i", made, place, places[name] + addend - place)
    return Image(bytes(made), code, functions, symbols)


def _resolve(one: _Object, kernel: str, made: bytearray, calls: list[tuple[int, int, str]]) -> int:
    """Fill in what is relative; the place of the object's kernel."""
    for section in one.sections:
        target = one.places.get(section.info)
        if section.kind != _RELOCATIONS or target is None:
            continue
        for offset, info, addend in _RELOCATION.iter_unpack(one.bytes_of(section)):
            kind, number = info & 0xFFFFFFFF, info >> 32
            if kind not in (_PC32, _PLT32):
                raise LinkError(f"{kernel}: a relocation of kind {kind}")
            name, home, value = one.symbol(one.sections[section.link], number)
            place = target + offset
            if home == 0:
                calls.append((place, addend, name))
                continue
            if home not in one.places:
                raise LinkError(f"{kernel}: {name} is in no section that is loaded")
            struct.pack_into("<i", made, place, one.places[home] + value + addend - place)
    for table in one.sections:
        for number in range(table.size // _SYMBOL.size if table.kind == 2 else 0):
            name, home, value = one.symbol(table, number)
            if name == kernel and home in one.places:
                return one.places[home] + value
    raise LinkError(f"the object has no symbol {kernel}")

"""NumPy's file formats, `.npy` and `.npz`, without NumPy.

A `.npy` file is a header in words and the elements' bytes; a `.npz` file is a zip archive of such
files. Objects would have to be unpickled, and are refused.
"""

from __future__ import annotations

import os
import sys
import zlib

from aten._core.base.dtypes import DTYPES
from aten._core.tensor.making import tensor_from_buffer
from aten._core.tensor.tensor import Tensor
from aten.graph.errors import ArchiveError, FormatError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO
    from zipfile import ZipFile, ZipInfo

_MAGIC = b"\x93NUMPY"
_ZIP = b"PK"
# The longest header that is read: shapes have few numbers.
_LONGEST_HEADER = 1 << 16
_HEADER = (
    r"\s*\{\s*'descr':\s*(?:'(?P<type>[^']*)'|(?P<fields>\[.*\]))\s*,"
    r"\s*'fortran_order':\s*(?P<by_columns>True|False)\s*,"
    r"\s*'shape':\s*\((?P<shape>[0-9,\s]*)\)\s*,?\s*\}\s*"
)
# What the library raises for damaged archives; their places in the file may be none, too.
_DAMAGE = (ValueError, EOFError, OSError, zlib.error, NotImplementedError)
# Stored and deflated.
_COMPRESSIONS = (0, 8)
_KINDS = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex"}


def read_arrays(path: str) -> dict[str, Tensor]:
    """The arrays of a file by name; a lone one is named after the file.

    Raises:
        OSError: the file cannot be opened.
        ArchiveError: it is damaged, no such file, or would have to be unpickled.
        FormatError: it is sound, but holds elements that tensors do not have.
    """
    base, ending = os.path.splitext(path)
    with open(path, "rb") as file:
        start = file.read(len(_MAGIC))
        file.seek(0)
        try:
            if start == _MAGIC:
                return {os.path.basename(base): _read_array(file, path)}
            if start[: len(_ZIP)] == _ZIP:
                return _read_members(file, path)
            raise ValueError("it begins as neither an array nor an archive of arrays does")
        except _DAMAGE as error:
            reason = str(error).partition("\n")[0]
            raise ArchiveError(f"{path}: not a readable {ending.lower()} file: {reason}") from None


def _read_members(file: IO[bytes], path: str) -> dict[str, Tensor]:
    import zipfile

    try:
        with zipfile.ZipFile(file) as archive:
            return {
                member.filename.removesuffix(".npy"): _read_member(archive, member, path)
                for member in archive.infolist()
            }
    except zipfile.BadZipFile as error:
        raise ValueError(str(error)) from None


def _read_member(archive: ZipFile, member: ZipInfo, path: str) -> Tensor:
    if member.flag_bits & 1:
        raise ValueError(f"{member.filename!r} is encrypted")
    if member.compress_type not in _COMPRESSIONS:
        raise ValueError(f"{member.filename!r} is compressed in a way that NumPy has not")
    name = member.filename.removesuffix(".npy")
    with archive.open(member) as opened:
        return _read_array(opened, f"{path}, {name!r}")


def _read_array(file: IO[bytes], where: str) -> Tensor:
    text = _read_header(file)
    element_type, described, by_columns, shape = _as_written(text) or _in_parts(text)
    if described[1:] == "O" or "'|O'" in described:
        raise ValueError("objects would have to be unpickled")
    name, swapped = _element(element_type)
    if name not in DTYPES:
        raise FormatError(f"{where}: arrays of {described} have no tensor type")
    element = DTYPES[name]
    count = 1
    for size in shape:
        count *= size
    if count == 0:
        return tensor_from_buffer(bytearray(element.itemsize), element, shape)
    data = _read_exactly(file, count * element.itemsize)
    if swapped:
        data = _swapped(data, element.itemsize // (2 if element.is_complex else 1))
    if not by_columns or len(shape) < 2:
        return tensor_from_buffer(data, element, shape)
    turned = tensor_from_buffer(data, element, shape[::-1])
    return turned.permute(tuple(range(len(shape)))[::-1]).contiguous()


def _as_written(text: str) -> tuple[str, str, bool, list[int]] | None:
    """What `_in_parts` finds in a header as NumPy writes it, without regular expressions, which
    take longer to import than an array to read. None for all other headers."""
    start, quoted, rest = text.partition("', 'fortran_order': ")
    order, between, rest = rest.partition(", 'shape': (")
    sizes, end, padding = rest.partition("), }")
    described = start.removeprefix("{'descr': '")
    numbers = [size.strip(" ") for size in sizes.split(",")]
    as_expected = (
        quoted and between and end and not padding.strip() and order in ("True", "False")
    ) and (start != described and "'" not in described and sizes.isascii())
    if not as_expected or not all(one.isdecimal() for one in numbers if one):
        return None
    shape = [int(one) for one in numbers if one]
    return described, described, order == "True", shape


def _in_parts(text: str) -> tuple[str, str, bool, list[int]]:
    """The element type, if it is one of a word; the type in full; whether columns lie together;
    the shape. Raises ValueError for a header that describes no array."""
    import re

    found = re.fullmatch(_HEADER, text, re.DOTALL)
    if found is None:
        raise ValueError(f"the header {text[:80]!r} describes no array")
    shape = [int(size) for size in found["shape"].split(",") if size.strip()]
    described = found["type"] or found["fields"] or ""
    return found["type"] or "", described, found["by_columns"] == "True", shape


def _read_header(file: IO[bytes]) -> str:
    start = bytes(_read_exactly(file, len(_MAGIC) + 2))
    if not start.startswith(_MAGIC) or start[-2] not in (1, 2, 3):
        raise ValueError("it is no array of format 1, 2 or 3")
    length = int.from_bytes(_read_exactly(file, 2 if start[-2] == 1 else 4), "little")
    if length > _LONGEST_HEADER:
        raise ValueError(f"a header of {length} bytes is none")
    return bytes(_read_exactly(file, length)).decode("latin1")


def _read_exactly(file: IO[bytes], count: int) -> bytearray:
    """So many bytes, read in parts: a damaged header may promise more than there is."""
    data = bytearray()
    while len(data) < count:
        part = file.read(min(count - len(data), 1 << 26))
        if not part:
            raise EOFError(f"{len(data)} of {count} bytes are there")
        data += part
    return data


def _element(described: str) -> tuple[str, bool]:
    """The element type that NumPy describes so, and whether its bytes are in the other order."""
    order, kind, width = described[:1], described[1:2], described[2:]
    if kind not in _KINDS or not width.isdecimal():
        return "", False
    name = "bool" if kind == "b" and width == "1" else f"{_KINDS[kind]}{8 * int(width)}"
    return name, order == (">" if sys.byteorder == "little" else "<")


def _swapped(data: bytearray, width: int) -> bytearray:
    made = bytearray(len(data))
    for place in range(width):
        made[place::width] = data[width - 1 - place :: width]
    return made

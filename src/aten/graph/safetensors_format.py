"""The safetensors format, read and written.

Format: https://github.com/huggingface/safetensors#format: eight bytes of header length,
little-endian; the header, a JSON object of name -> {dtype, shape, data_offsets}; the elements, of
all tensors one after the other without gaps. There is no code in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from aten._core.base.dtypes import DTYPES, dtype
from aten._core.memory.storage import storage_from_buffer
from aten._core.tensor.making import tensor_from_buffer
from aten._core.tensor.tensor import Tensor
from aten.graph.errors import ArchiveError, FormatError
from aten.graph.json_values import checked, decode, field, shown
from aten.graph.mapping import map_file, read_file

_DTYPES = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "U16": "uint16",
    "I16": "int16",
    "U32": "uint32",
    "I32": "int32",
    "U64": "uint64",
    "I64": "int64",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "F8_E8M0": "float8_e8m0fnu",
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "F64": "float64",
    "C64": "complex64",
}
_CODES = {name: code for code, name in _DTYPES.items()}
_METADATA = "__metadata__"
_LONGEST_HEADER = 100_000_000  # bytes, the format's own limit
_HEADER_UNIT = 8  # bytes that the header's length is a multiple of, so that elements are aligned


def read_mapped(path: str) -> dict[str, Tensor]:
    """The tensors of a file by name, mapped copy-on-write."""
    return read_buffer(map_file(path), path)


def read_copied(path: str) -> dict[str, Tensor]:
    """The tensors of a file by name, in memory of this process."""
    return read_buffer(read_file(path), path)


def read_buffer(buffer: memoryview, where: str) -> dict[str, Tensor]:
    """The tensors over a writable buffer; those that are not aligned in it are copied.

    Raises:
        ArchiveError: it is no safetensors file, or cut short.
        FormatError: the header is wrong: unknown types, ranges that leave the file, overlap, leave
            gaps or have not the size of their tensor.
    """
    header, data = _parts(buffer, where)
    header.pop(_METADATA, None)
    entries = {
        name: _Entry(entry, f"{where}, {shown(name)}", len(data)) for name, entry in header.items()
    }
    _check_coverage(entries.values(), len(data), where)
    start = len(buffer) - len(data)
    return {name: entry.tensor(data, start) for name, entry in entries.items()}


def read_metadata(path: str) -> dict[str, str]:
    """The texts that a file has besides its tensors."""
    header, _ = _parts(map_file(path), path)
    texts = checked(header.get(_METADATA, {}), dict, path)
    return {name: checked(text, str, f"{path}, {shown(name)}") for name, text in texts.items()}


def _parts(buffer: memoryview, where: str) -> tuple[dict[str, Any], memoryview]:
    length = int.from_bytes(buffer[:8], "little")
    if len(buffer) < 8 or length > min(len(buffer) - 8, _LONGEST_HEADER):
        raise ArchiveError(f"{where}: not a safetensors file, or cut short")
    return decode(bytes(buffer[8 : 8 + length]), where, unique=True), buffer[8 + length :]


class _Entry:
    """What the header says of one tensor, checked."""

    def __init__(self, entry: Any, where: str, available: int) -> None:
        code = field(entry, "dtype", str, where)
        if code not in _DTYPES:
            raise FormatError(f"{where}: unknown element type {shown(code)}")
        self.where = where
        self.dtype: dtype = DTYPES[_DTYPES[code]]
        self.shape = [checked(size, int, where) for size in field(entry, "shape", list, where)]
        offsets = [
            checked(value, int, where) for value in field(entry, "data_offsets", list, where)
        ]
        if len(offsets) != 2 or not 0 <= offsets[0] <= offsets[1] <= available:
            raise FormatError(
                f"{where}: the range {shown(offsets)} lies outside the file's {available} bytes"
            )
        self.start, self.end = offsets
        self.numel = 1
        for size in self.shape:
            self.numel *= size
        negative = min(self.shape, default=0) < 0
        if negative or self.numel * self.dtype.itemsize != self.end - self.start:
            raise FormatError(
                f"{where}: {self.end - self.start} bytes for {self.dtype.name} of shape "
                f"{shown(self.shape)}"
            )

    def tensor(self, data: memoryview, place: int) -> Tensor:
        """The tensor in `data`, which begins `place` bytes from aligned memory."""
        view: memoryview | bytearray = data[self.start : self.end]
        # Files of other writers may have headers whose length spoils the alignment.
        if not self.numel or (place + self.start) % self.dtype.itemsize:
            view = bytearray(view) or bytearray(self.dtype.itemsize)
        try:
            return tensor_from_buffer(storage_from_buffer(view), self.dtype, self.shape)
        except (RuntimeError, OverflowError) as error:
            raise FormatError(f"{self.where}: no tensor has this shape: {error}") from None


def _check_coverage(entries: Any, available: int, where: str) -> None:
    """Each byte belongs to one tensor: no two share memory, and nothing hides between them."""
    position = 0
    for entry in sorted(entries, key=lambda entry: (entry.start, entry.end)):
        if entry.start != position:
            raise FormatError(f"{where}: tensors overlap or leave a gap at byte {position}")
        position = entry.end
    if position != available:
        raise FormatError(f"{where}: {available - position} bytes belong to no tensor")


def written(
    tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None
) -> Iterator[memoryview | bytes]:
    """A file's contents, piece by piece; the widest element types come first.

    Raises TypeError for names, texts and values that are none, ValueError for element types that
    the format has no name for, and for tensors without memory.
    """
    for name, tensor in tensors.items():
        _check_writable(name, tensor)
    ordered = sorted(tensors.items(), key=lambda item: (-item[1].itemsize, item[0]))
    header: dict[str, Any] = {}
    if metadata is not None:
        header[_METADATA] = _texts(metadata)
    position = 0
    for name, tensor in ordered:
        end = position + tensor.nbytes
        header[name] = {
            "dtype": _CODES[tensor.dtype.name],
            "shape": list(tensor.shape),
            "data_offsets": [position, end],
        }
        position = end
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % _HEADER_UNIT)
    yield len(text).to_bytes(8, "little") + text
    for _, tensor in ordered:
        yield _elements(tensor)


def _check_writable(name: Any, tensor: Any) -> None:
    if not isinstance(name, str) or not isinstance(tensor, Tensor):
        raise TypeError(
            f"safetensors: expected tensors by name, not {type(tensor).__name__} by "
            f"{type(name).__name__}"
        )
    if name == _METADATA:
        raise ValueError(f"safetensors: {_METADATA} names no tensor")
    if not tensor.is_cpu or tensor.dtype.name not in _CODES:
        raise ValueError(
            f"safetensors: {shown(name)} is {tensor.dtype} on {tensor.device}, which the format "
            "has no place for"
        )


def _texts(metadata: Mapping[str, str]) -> dict[str, str]:
    for name, text in metadata.items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise TypeError(f"safetensors: metadata must be texts by name, not {shown(text)}")
    return dict(metadata)


def _elements(tensor: Tensor) -> memoryview:
    plain = tensor.resolve_conj().resolve_neg().contiguous()
    start = plain.storage_offset() * plain.itemsize
    return memoryview(plain.untyped_storage())[start : start + plain.nbytes]

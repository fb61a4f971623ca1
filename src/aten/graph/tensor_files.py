"""Tensors from files: `.npz`, `.npy` and `.safetensors`.

Nothing is unpickled: NumPy is told so, and the safetensors format has no code in it. Tensors of a
safetensors file are mapped copy-on-write, like those of a program.

Format: https://github.com/huggingface/safetensors#format: eight bytes of header length,
little-endian; the header, a JSON object of name -> {dtype, shape, data_offsets}; the raw elements.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from aten._core.dtypes import DTYPES
from aten._core.storage import storage_from_buffer
from aten._core.tensor import Tensor, tensor_from_buffer
from aten.graph.archive import map_file
from aten.graph.errors import ArchiveError, FormatError
from aten.graph.json_values import checked, decode, field, shown

if TYPE_CHECKING:
    import numpy

_SAFETENSORS_DTYPES = {
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
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "F64": "float64",
    "C64": "complex64",
}
_LONGEST_HEADER = 100_000_000  # bytes, the format's own limit
_ALIGNMENT = 16


def read_tensors(path: str) -> dict[str, Tensor]:
    """The tensors of a file by name. A `.npy` file has one, named after the file.

    Raises:
        OSError: the file cannot be opened.
        ArchiveError: it is not what its ending says, is damaged, or would have to be unpickled.
        FormatError: it is sound, but holds something that is no tensor.
    """
    ending = os.path.splitext(path)[1].lower()
    if ending in (".npz", ".npy"):
        return _read_numpy(path, ending)
    if ending == ".safetensors":
        return _read_safetensors(path)
    raise ArchiveError(f"{path}: tensors are read from .npz, .npy and .safetensors files")


def _read_numpy(path: str, ending: str) -> dict[str, Tensor]:
    import zipfile

    import numpy

    try:
        with open(path, "rb") as file:
            loaded = numpy.load(file, allow_pickle=False)
            if isinstance(loaded, numpy.ndarray):
                name = os.path.splitext(os.path.basename(path))[0]
                return {name: from_array(loaded, path)}
            return {name: from_array(loaded[name], f"{path}, {name!r}") for name in loaded.files}
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile, NotImplementedError) as error:
        raise ArchiveError(f"{path}: not a readable {ending} file: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def from_array(array: numpy.ndarray[Any, Any], where: str) -> Tensor:
    """A tensor with the array's values, over its memory where that is contiguous and native."""
    import numpy

    native = array.dtype.newbyteorder("=")
    dtype = DTYPES.get(native.name)
    if dtype is None:
        raise FormatError(f"{where}: arrays of {array.dtype} have no tensor type")
    if not array.size:
        return tensor_from_buffer(bytearray(dtype.itemsize), dtype, array.shape)
    contiguous = numpy.require(array, native, ["C", "W", "A"])
    return tensor_from_buffer(contiguous.reshape(-1).view(numpy.uint8), dtype, array.shape)


def _read_safetensors(path: str) -> dict[str, Tensor]:
    buffer = map_file(path)
    length = int.from_bytes(buffer[:8], "little")
    if len(buffer) < 8 or length > min(len(buffer) - 8, _LONGEST_HEADER):
        raise ArchiveError(f"{path}: not a safetensors file, or cut short")
    header = decode(bytes(buffer[8 : 8 + length]), path)
    header.pop("__metadata__", None)
    data = buffer[8 + length :]
    return {name: _mapped(data, entry, f"{path}, {shown(name)}") for name, entry in header.items()}


def _mapped(data: memoryview, entry: Any, where: str) -> Tensor:
    code = field(entry, "dtype", str, where)
    if code not in _SAFETENSORS_DTYPES:
        raise FormatError(f"{where}: unknown element type {shown(code)}")
    dtype = DTYPES[_SAFETENSORS_DTYPES[code]]
    shape = [checked(size, int, where) for size in field(entry, "shape", list, where)]
    offsets = [checked(value, int, where) for value in field(entry, "data_offsets", list, where)]
    if len(offsets) != 2 or not 0 <= offsets[0] <= offsets[1] <= len(data):
        raise FormatError(f"{where}: the range {offsets} lies outside the file's {len(data)} bytes")
    numel = 1
    for size in shape:
        numel *= size
    if min(shape, default=0) < 0 or numel * dtype.itemsize != offsets[1] - offsets[0]:
        raise FormatError(
            f"{where}: {offsets[1] - offsets[0]} bytes for {dtype.name} of shape {shape}"
        )
    if not numel:
        return tensor_from_buffer(bytearray(dtype.itemsize), dtype, shape)
    view = data[offsets[0] : offsets[1]]
    # The map starts on a page; where the header's length spoils the alignment, a copy restores it.
    aligned = (len(data.obj) - len(data) + offsets[0]) % _ALIGNMENT == 0  # type: ignore[arg-type]
    return tensor_from_buffer(
        storage_from_buffer(view if aligned else bytearray(view)), dtype, shape
    )

"""Tensors from files: `.npz`, `.npy` and `.safetensors`.

Nothing is unpickled: NumPy is told so, and the safetensors format has no code in it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from aten._core.dtypes import DTYPES
from aten._core.making import tensor_from_buffer
from aten._core.tensor import Tensor
from aten.graph.errors import ArchiveError, FormatError
from aten.graph.safetensors_format import read_mapped

if TYPE_CHECKING:
    import numpy


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
        return read_mapped(path)
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

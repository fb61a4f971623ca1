"""Tensors from files: `.npz`, `.npy` and `.safetensors`. Nothing is unpickled."""

from __future__ import annotations

import os

from aten._core.tensor.tensor import Tensor
from aten.graph.errors import ArchiveError


def read_tensors(path: str) -> dict[str, Tensor]:
    """The tensors of a file by name. A `.npy` file has one, named after the file.

    Raises:
        OSError: the file cannot be opened.
        ArchiveError: it is not what its ending says, is damaged, or would have to be unpickled.
        FormatError: it is sound, but holds something that is no tensor.
    """
    ending = os.path.splitext(path)[1].lower()
    if ending in (".npz", ".npy"):
        from aten.graph.numpy_format import read_arrays

        return read_arrays(path)
    if ending == ".safetensors":
        from aten.graph.safetensors_format import read_mapped

        return read_mapped(path)
    raise ArchiveError(f"{path}: tensors are read from .npz, .npy and .safetensors files")

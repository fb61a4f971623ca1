"""Tensors in safetensors files: names, shapes and elements, and nothing that could be run.

    aten.safetensors.save_file({"weight": weight}, "model.safetensors", {"epoch": "3"})
    weight = aten.safetensors.load_file("model.safetensors")["weight"]

Files are checked before any tensor is made: headers that lie about sizes, ranges that overlap or
leave the file, and unknown element types are refused with `aten.export.FormatError`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from aten._core.base.device import device
from aten._core.tensor.tensor import Tensor
from aten.graph.safetensors_format import (
    read_buffer,
    read_copied,
    read_mapped,
    read_metadata,
    written,
)
from aten.graph.writing.members import replace_file

__all__ = ["load", "load_file", "load_metadata", "save", "save_file"]


def load_file(
    filename: str | os.PathLike[str], device: device | str = "cpu", *, mmap: bool = True
) -> dict[str, Tensor]:
    """The tensors of a file by name.

    They are mapped: nothing is read before it is used, and what is written to them stays in memory.
    A process that reads from a mapped file which somebody has made shorter is ended by the system;
    with `mmap` False, all is read at once into memory of its own.

    Raises:
        OSError: the file cannot be opened.
        aten.export.ArchiveError: it is no safetensors file, or cut short.
        aten.export.FormatError: its header is wrong.

    Example:

        >>> import os, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "weights.safetensors")
        >>> aten.safetensors.save_file({"w": aten.ones(2)}, path, {"made": "today"})
        >>> aten.safetensors.load_file(path)["w"]
        tensor([1., 1.])
        >>> folder.cleanup()
    """
    path = os.fspath(filename)
    return _placed(read_mapped(path) if mmap else read_copied(path), device)


def load_metadata(filename: str | os.PathLike[str]) -> dict[str, str]:
    """The texts that a file has besides its tensors. Raises what `load_file` raises.

    Example:

        >>> import os, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "weights.safetensors")
        >>> aten.safetensors.save_file({"w": aten.ones(2)}, path, {"made": "today"})
        >>> aten.safetensors.load_metadata(path)
        {'made': 'today'}
        >>> folder.cleanup()
    """
    return read_metadata(os.fspath(filename))


def load(data: bytes) -> dict[str, Tensor]:
    """The tensors in a file's contents. Raises what `load_file` raises but OSError.

    Example:

        >>> data = aten.safetensors.save({"x": aten.tensor([1, 2])})
        >>> aten.safetensors.load(data)["x"]
        tensor([1, 2])
    """
    return read_buffer(memoryview(bytearray(data)), "load")


def save(tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> bytes:
    """A file's contents.

    Raises TypeError for names, texts and values that are none, ValueError for element types that
    the format has no name for, and for tensors without memory.

    Example:

        >>> len(aten.safetensors.save({"x": aten.tensor([1, 2])}))
        80
    """
    return b"".join(written(tensors, metadata))


def save_file(
    tensors: Mapping[str, Tensor],
    filename: str | os.PathLike[str],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write a file. One of this name is replaced when all is written, so that tensors mapped from
    it stay what they are.

    Raises OSError where it cannot be written, and what `save` raises.

    Example:

        >>> import os, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "weights.safetensors")
        >>> aten.safetensors.save_file({"w": aten.ones(2)}, path, {"made": "today"})
        >>> sorted(aten.safetensors.load_file(path))
        ['w']
        >>> folder.cleanup()
    """
    replace_file(filename, lambda file: file.writelines(written(tensors, metadata)))


def _placed(tensors: dict[str, Tensor], place: device | str) -> dict[str, Tensor]:
    return {name: tensor.to(place) for name, tensor in tensors.items()}

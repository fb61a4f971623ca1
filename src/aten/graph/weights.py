"""Weights and constants of a program as tensors over the mapped file.

This is the one place where the reader makes tensors. A tensor is a window on its member's bytes;
weights that share a member share a storage, as they did when the program was saved.
"""

from __future__ import annotations

from typing import Any

from aten._core.memory.storage import Storage, storage_from_buffer
from aten._core.tensor.making import tensor_from_buffer
from aten._core.tensor.tensor import Tensor
from aten.graph.archive import Archive
from aten.graph.deserialize import read_tensor_meta
from aten.graph.errors import ArchiveError, FormatError
from aten.graph.ir import Size, TensorMeta
from aten.graph.json_values import decode, field, optional, shown

_ALIGNMENT = 16  # bytes: the largest element, complex128, at its natural alignment


class TensorReader:
    """Reads the payload files of one folder of an archive.

    Args:
        archive: the archive.
        folder: the folder's path in it, with a final slash.
        verify: check each payload against its CRC-32, which reads all of it once.
    """

    def __init__(self, archive: Archive, folder: str, verify: bool) -> None:
        self.archive = archive
        self.folder = folder
        self.verify = verify
        self.storages: dict[str, Storage] = {}

    def read(self, config_name: str) -> dict[str, Tensor]:
        """The tensors that the folder's configuration lists, by their names in the module."""
        path = self.folder + config_name
        where = f"{self.archive.name}: {path}"
        config = field(decode(self.archive.read(path), where), "config", dict, where)
        if self.verify:
            paths = [one.get("path_name") for one in config.values() if isinstance(one, dict)]
            self.archive.verify_all(self.folder + one for one in paths if isinstance(one, str))
            self.verify = False
        return {
            name: self.read_tensor(entry, f"{where}, {shown(name)}")
            for name, entry in config.items()
        }

    def read_tensor(self, entry: Any, where: str) -> Tensor:
        path = field(entry, "path_name", str, where)
        if optional(entry, "use_pickle", bool, False, where):
            raise ArchiveError(f"{where}: stored as a pickle, and nothing here unpickles")
        if entry.get("tensor_meta") is None:
            raise ArchiveError(
                f"{where}: the object {shown(path)} is a pickle, and nothing here unpickles"
            )
        meta = read_tensor_meta(entry["tensor_meta"], where)
        if meta.device.type != "cpu":
            raise FormatError(
                f"{where}: the tensor belongs on {meta.device}; only cpu can be loaded"
            )
        if meta.layout.name != "strided":
            raise FormatError(f"{where}: the layout {meta.layout} is not supported")
        return self.make_tensor(path, meta, where)

    def make_tensor(self, path: str, meta: TensorMeta, where: str) -> Tensor:
        sizes = [_plain(size, where) for size in meta.shape]
        strides = [_plain(stride, where) for stride in meta.stride]
        offset = _plain(meta.storage_offset, where) * meta.dtype.itemsize
        storage = self.storage(path)
        try:
            return tensor_from_buffer(storage, meta.dtype, sizes, strides, offset)
        except (ValueError, OverflowError, RuntimeError) as error:
            raise FormatError(f"{where}: {error}") from None

    def storage(self, path: str) -> Storage:
        """The member's bytes as a storage, copied only where they are not aligned."""
        found = self.storages.get(path)
        if found is None:
            name = self.folder + path
            if self.verify:
                self.archive.verify(name)
            view = self.archive.view(name)
            misplaced = self.archive.find(name).offset % _ALIGNMENT
            found = storage_from_buffer(bytearray(view) if misplaced else view)
            self.storages[path] = found
        return found


def _plain(size: Size, where: str) -> int:
    if isinstance(size, int):
        return size
    raise FormatError(f"{where}: a stored tensor cannot have the symbolic size {size}")

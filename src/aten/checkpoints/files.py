"""Checkpoints as files: zip archives with a pickle, and a member for the bytes of each storage."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable
from pickle import UnpicklingError
from typing import IO, Any

from aten._core.base.device import device
from aten._core.base.dtypes import DTYPES
from aten._core.memory.storage import Storage, storage_from_buffer
from aten._core.tensor.making import tensor_from_buffer
from aten.checkpoints.known import Globals
from aten.checkpoints.machine import run
from aten.checkpoints.writing import write
from aten.graph.archive import Archive

__all__ = ["load", "save"]

_File = str | os.PathLike[str] | IO[bytes]
_Location = Callable[[Storage, str], Any] | device | str | dict[str, str] | None
_ALIGNMENT = 16  # bytes: the largest element, complex128, at its natural alignment


def load(
    f: _File,
    map_location: _Location = None,
    pickle_module: None = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
) -> Any:
    """What `save`, or `torch.save`, wrote: tensors, numbers, texts and containers of them.

    The pickle in the file is read by a machine that calls nothing: whatever else it names is
    refused, also where `weights_only` is False. Tensors that shared memory share it again.
    `map_location` says where storages go that were on another device: a device for all, a dict of
    devices by device, or a function of a storage (in the host's memory) and its device's name.
    With `mmap` a file is mapped, and nothing read before it is used; then nobody may make it
    shorter while its tensors are in use.

    Raises:
        OSError: the file cannot be opened.
        RuntimeError: it is no zip archive, damaged, or of a device that is not here.
        pickle.UnpicklingError: it has something else in it, or says what cannot be.

    Example:

        >>> import io
        >>> file = io.BytesIO()
        >>> aten.save({"weight": aten.ones(2), "epoch": 3}, file)
        >>> aten.load(io.BytesIO(file.getvalue()))
        {'weight': tensor([1., 1.]), 'epoch': 3}
    """
    if pickle_module is not None:
        raise RuntimeError("load: there is no use for pickle_module: nothing is unpickled")
    return _Reader(_archive(f, bool(mmap)), map_location).read()


def _archive(file: _File, mapped: bool) -> Archive:
    if mapped and not isinstance(file, (str, os.PathLike)):
        raise ValueError("load: only a file given by its path can be mapped")
    return Archive(file, mmap=mapped)


class _Reader:
    """One file: its archive, and the storages read so far by their numbers."""

    def __init__(self, archive: Archive, location: _Location) -> None:
        self.archive, self.location = archive, location
        self.globals = Globals()
        self.storages: dict[str, Storage] = {}
        self.lengths: dict[str, int] = {}
        found = [name for name in archive.members if name.count("/") == 1]
        pickles = [name for name in found if name.endswith("/data.pkl")]
        if len(pickles) != 1:
            raise RuntimeError(f"load: {archive.name} is a zip archive, but no checkpoint")
        self.folder = pickles[0].removesuffix("data.pkl")
        if f"{self.folder}constants.pkl" in archive:
            raise RuntimeError(
                f"load: {archive.name} is a program of TorchScript, which are not read here"
            )

    def read(self) -> Any:
        order = f"{self.folder}byteorder"
        if order in self.archive and bytes(self.archive.view(order)) != b"little":
            raise RuntimeError(f"load: {self.archive.name} is not in little-endian order")
        pickled = bytes(self.archive.view(f"{self.folder}data.pkl"))
        return run(pickled, self.globals.find, self.persistent)

    def persistent(self, given: Any) -> Storage:
        """The storage of a persistent id: ("storage", its type, number, device, elements)."""
        if (
            not isinstance(given, tuple)
            or len(given) != 5
            or given[0] != "storage"
            or not isinstance(given[2], str)
            or not isinstance(given[3], str)
            or type(given[4]) is not int
        ):
            raise UnpicklingError("load: the file has a persistent id that is no storage")
        _, kind, number, place, count = given
        element = self.globals.element_of(kind)
        if number not in self.storages:
            view = self._bytes(number)
            self.lengths[number] = len(view)
            self.storages[number] = self._placed(storage_from_buffer(view), place)
        found = self.storages[number]
        length = self.lengths[number]
        if count * (1 if element is None else element.itemsize) != length:
            raise UnpicklingError(
                f"load: storage {number} is said to have {count} elements, and has {length} bytes"
            )
        if element is not None:
            known = self.globals.elements.setdefault(id(found), element)
            if known != element:
                raise UnpicklingError(f"load: storage {number} is of {known} and of {element}")
        return found

    def _bytes(self, number: str) -> memoryview | bytearray:
        name = f"{self.folder}data/{number}"
        if name not in self.archive:
            raise UnpicklingError(f"load: the file has no storage {number!r}")
        view = self.archive.view(name)
        return bytearray(view) if self.archive.find(name).offset % _ALIGNMENT else view

    def _placed(self, storage: Storage, place: str) -> Storage:
        """The storage on the device where it belongs, or is wanted."""
        wanted: Any = self.location
        if isinstance(wanted, dict):
            wanted = wanted.get(place, place)
        elif wanted is None:
            wanted = place
        elif not isinstance(wanted, (str, device)):
            found = wanted(storage, place)
            if found is not None and not isinstance(found, Storage):
                raise TypeError(
                    f"load: map_location must give a storage or None, not {type(found).__name__}"
                )
            if found is not None:
                return found
            wanted = place
        return self._moved(storage, wanted)

    def _moved(self, storage: Storage, wanted: str | device) -> Storage:
        try:
            target = device(wanted)
            if target.type == "cpu":
                return storage
            rows = tensor_from_buffer(storage, DTYPES["uint8"], [len(storage)])
            moved: Storage = rows.to(target).untyped_storage()
        except (RuntimeError, NotImplementedError, ImportError) as error:
            raise RuntimeError(
                f"load: tensors of the file are on {wanted}, which is not here ({error}); "
                f'map_location="cpu" brings them to the host'
            ) from None
        return moved


def save(
    obj: Any,
    f: _File,
    pickle_module: None = None,
    pickle_protocol: int = 2,
) -> None:
    """Write tensors, numbers, texts and containers of them so that `load`, and `torch.load` with
    `weights_only=True`, read them. Tensors that share memory share it in the file, once.

    A file given by its path is replaced when all is written.

    Raises:
        OSError: it cannot be written.
        pickle.PicklingError: something in it is of another kind, as modules are: save their
            `state_dict()`.

    Example:

        >>> import io
        >>> file = io.BytesIO()
        >>> aten.save([aten.tensor([1, 2]), "text"], file)
        >>> aten.load(io.BytesIO(file.getvalue()))
        [tensor([1, 2]), 'text']
    """
    if pickle_module is not None or pickle_protocol != 2:
        raise ValueError("save: pickles are of protocol 2, and written by no module")
    if not isinstance(f, (str, os.PathLike)):
        write(obj, f)
        return
    path = os.path.abspath(os.fspath(f))
    temporary = f"{path}.{secrets.token_hex(8)}"
    try:
        with open(temporary, "xb") as file:
            write(obj, file)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise

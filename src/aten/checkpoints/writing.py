"""The pickle of a checkpoint, instruction by instruction, and the archive around it."""

from __future__ import annotations

import struct
import zipfile
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from pickle import PicklingError
from typing import IO, Any

from aten._core.base.device import device
from aten._core.base.dtypes import DTYPES, dtype
from aten._core.base.sizes import Size
from aten._core.memory.storage import Storage
from aten._core.tensor.making import tensor_from_buffer
from aten._core.tensor.tensor import Tensor
from aten.checkpoints.known import STORAGE_TYPES, UNTYPED
from aten.graph.writing.members import write_member
from aten.nn.parameter import Buffer, Parameter

__all__ = ["write"]

_FOLDER = "archive"


def write(value: Any, file: IO[bytes]) -> None:
    """Write a checkpoint into a binary file object. Raises PicklingError."""
    pickled = _Pickle()
    pickled.write(value)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        write_member(archive, f"{_FOLDER}/data.pkl", pickled.finished())
        write_member(archive, f"{_FOLDER}/byteorder", b"little")
        for number, storage in enumerate(pickled.storages):
            write_member(archive, f"{_FOLDER}/data/{number}", _contents(storage))
        write_member(archive, f"{_FOLDER}/version", b"3\n")


def _contents(storage: Storage) -> memoryview:
    if storage.device.type == "cpu":
        return memoryview(storage)
    rows = tensor_from_buffer(storage, DTYPES["uint8"], [len(storage)])
    return memoryview(rows.cpu().untyped_storage())


class _Pickle:
    """Instructions written so far; storages in the order of their numbers."""

    def __init__(self) -> None:
        self.out = bytearray(b"\x80\x02")
        # Things stay alive as long as their places in memory stand for them.
        self.memo: dict[Any, tuple[int, Any]] = {}
        self.storages: list[Storage] = []
        self.numbers: dict[int, int] = {}
        self.elements: dict[int, dtype | None] = {}

    def finished(self) -> bytes:
        return bytes(self.out + b".")

    def write(self, value: Any) -> None:
        """Raises PicklingError for things of other kinds, RecursionError for deep ones."""
        if value is None or isinstance(value, bool):
            self.out += {None: b"N", True: b"\x88", False: b"\x89"}[value]
        elif type(value) is int:
            self._integer(value)
        elif type(value) is float:
            self.out += b"G" + struct.pack(">d", value)
        elif type(value) is str:
            self._text(value)
        elif not self._recalled(id(value)):
            self._object(value)

    def _object(self, value: Any) -> None:
        if isinstance(value, Tensor):
            self._tensor(value)
            self._remember(id(value), value)
            return
        kinds: dict[type, Callable[[Any], None]] = {
            list: self._list,
            dict: self._dict,
            OrderedDict: self._ordered,
            tuple: self._tuple,
        }
        writer = kinds.get(type(value))
        if writer is not None:
            writer(value)
            return
        if isinstance(value, dtype):
            self._global("torch", value.name)
            return
        if isinstance(value, Storage):
            self._storage(value, None)
        elif type(value) in (Size, device, complex, bytes, bytearray, set, Counter):
            self._called(value)
        else:
            kind = type(value)
            raise PicklingError(
                f"save: a {kind.__module__}.{kind.__qualname__} has no place in a checkpoint: "
                f"tensors, numbers, texts and containers of them have; of a module, its "
                f"state_dict()"
            )
        self._remember(id(value), value)

    def _called(self, value: Any) -> None:
        """Things that take a call of their type to be made."""
        kinds: dict[type, tuple[str, str, Any]] = {
            Size: ("torch", "Size", lambda: (tuple(value),)),
            device: ("torch", "device", lambda: _parts_of(value)),
            complex: ("__builtin__", "complex", lambda: (value.real, value.imag)),
            bytes: ("_codecs", "encode", lambda: (value.decode("latin-1"), "latin1")),
            bytearray: ("__builtin__", "bytearray", lambda: (bytes(value),)),
            set: ("__builtin__", "set", lambda: (list(value),)),
            Counter: ("collections", "Counter", lambda: (dict(value),)),
        }
        module, name, arguments = kinds[type(value)]
        self._call(module, name, arguments())

    def _integer(self, value: int) -> None:
        if 0 <= value < 1 << 8:
            self.out += b"K" + struct.pack("<B", value)
        elif -(1 << 31) <= value < 1 << 31:
            self.out += b"J" + struct.pack("<i", value)
        else:
            encoded = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
            if len(encoded) > 255:
                raise PicklingError("save: an int of more than 255 bytes")
            self.out += b"\x8a" + bytes([len(encoded)]) + encoded

    def _text(self, value: str) -> None:
        if self._recalled(value):
            return
        encoded = value.encode("utf-8", "surrogatepass")
        self.out += b"X" + struct.pack("<I", len(encoded)) + encoded
        self._remember(value, value)

    def _recalled(self, key: Any) -> bool:
        if key not in self.memo:
            return False
        number = self.memo[key][0]
        short = number < 256
        self.out += b"h" + bytes([number]) if short else b"j" + struct.pack("<I", number)
        return True

    def _remember(self, key: Any, value: Any) -> None:
        number = len(self.memo)
        self.memo[key] = number, value
        short = number < 256
        self.out += b"q" + bytes([number]) if short else b"r" + struct.pack("<I", number)

    def _list(self, value: list[Any]) -> None:
        self.out += b"]"
        self._remember(id(value), value)
        self.out += b"("
        for one in value:
            self.write(one)
        self.out += b"e"

    def _tuple(self, value: tuple[Any, ...]) -> None:
        self.out += b"("
        for one in value:
            self.write(one)
        self.out += b"t"
        self._remember(id(value), value)

    def _dict(self, value: dict[Any, Any]) -> None:
        self.out += b"}"
        self._items(value)

    def _ordered(self, value: OrderedDict[Any, Any]) -> None:
        self._call("collections", "OrderedDict", ())
        self._items(value)
        if vars(value):
            self.write(dict(vars(value)))
            self.out += b"b"

    def _items(self, value: dict[Any, Any]) -> None:
        self._remember(id(value), value)
        self.out += b"("
        for key, one in value.items():
            self.write(key)
            self.write(one)
        self.out += b"u"

    def _global(self, module: str, name: str) -> None:
        key = (module, name)
        if not self._recalled(key):
            self.out += f"c{module}\n{name}\n".encode()
            self._remember(key, key)

    def _call(self, module: str, name: str, arguments: Iterable[Any]) -> None:
        self._global(module, name)
        self.out += b"("
        for one in arguments:
            self.write(one)
        self.out += b"tR"

    def _storage(self, storage: Storage, element: dtype | None) -> None:
        """A persistent id: ("storage", its type, number, device, elements)."""
        number = self._number(storage)
        self.out += b"("
        self._text("storage")
        if element is None:
            self._global(*UNTYPED)
        else:
            self._global("torch", STORAGE_TYPES[element.name])
        self._text(str(number))
        self._text(str(storage.device))
        self._integer(len(storage) // (1 if element is None else element.itemsize))
        self.out += b"tQ"
        self.elements.setdefault(number, element)

    def _number(self, storage: Storage) -> int:
        number = self.numbers.setdefault(id(storage), len(self.storages))
        if number == len(self.storages):
            self.storages.append(storage)
        return number

    def _tensor(self, tensor: Tensor) -> None:
        kind = type(tensor)
        if kind not in (Tensor, Parameter, Buffer):
            raise PicklingError(
                f"save: a {kind.__module__}.{kind.__qualname__}, a tensor of a class of its own, "
                f"has no place in a checkpoint; as_subclass(aten.Tensor) has"
            )
        state = {} if kind is Buffer else dict(vars(tensor))
        if kind is Parameter:
            name = "_rebuild_parameter_with_state" if state else "_rebuild_parameter"
            self._global("torch._utils", name)
            self.out += b"("
            self._plain(tensor.detach().as_subclass(Tensor), False)
            self.write(tensor.requires_grad)
            self._call("collections", "OrderedDict", ())
            if state:
                self.write(state)
            self.out += b"tR"
        elif state:
            raise PicklingError(
                f"save: a tensor has attributes, {', '.join(state)}, and files no place for them"
            )
        else:
            self._plain(tensor, tensor.requires_grad)

    def _plain(self, tensor: Tensor, requires_grad: bool) -> None:
        window = (tuple(tensor.shape), tuple(tensor.stride()), requires_grad)
        if tensor.device.type == "meta":
            arguments = (tensor.dtype, *window)
            self._call("torch._utils", "_rebuild_meta_tensor_no_storage", arguments)
            return
        storage, element = tensor.untyped_storage(), tensor.dtype
        # A storage is of one type in a file; what sees it as another says so itself.
        known = self.elements.get(self._number(storage), element)
        typed = known == element and element.name in STORAGE_TYPES
        typed = typed and len(storage) % element.itemsize == 0
        self._global("torch._utils", f"_rebuild_tensor_v{2 if typed else 3}")
        self.out += b"("
        self._storage(storage, element if typed else None)
        self.write(tensor.storage_offset())
        for one in window:
            self.write(one)
        self._call("collections", "OrderedDict", ())
        if not typed:
            self.write(element)
        lazy = {"conj": tensor.is_conj(), "neg": tensor.is_neg()}
        if any(lazy.values()):
            self.write({name: True for name, holds in lazy.items() if holds})
        self.out += b"tR"


def _parts_of(place: device) -> tuple[Any, ...]:
    return (place.type,) if place.index is None else (place.type, place.index)

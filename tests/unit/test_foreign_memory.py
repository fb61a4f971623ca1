"""What other libraries say of their memory is checked before any of it is read."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

import aten

_LARGEST = 2**63 - 1


class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("index", ctypes.c_int32)]


class _Element(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Description(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("rank", ctypes.c_int32),
        ("element", _Element),
        ("sizes", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = [
        ("description", _Description),
        ("context", ctypes.c_void_p),
        ("deleter", _Deleter),
    ]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", _Deleter),
        ("flags", ctypes.c_uint64),
        ("description", _Description),
    ]


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]


class Exporter:
    """A capsule of 4 x 6 float32 elements, with whatever is said otherwise."""

    def __init__(self, versioned: bool, major: int = 1, flags: int = 0, **said: Any) -> None:
        self.deleted = 0
        self.memory = (ctypes.c_float * 64)(*range(64))
        self.name = b"dltensor_versioned" if versioned else b"dltensor"
        self.managed = _Versioned() if versioned else _Managed()
        if versioned:
            self.managed.major, self.managed.flags = major, flags
        self.deleter = _Deleter(self._delete)
        self.managed.deleter = said.pop("deleter", self.deleter)
        self._describe(self.managed.description, said)
        self.capsule = _new_capsule(ctypes.addressof(self.managed), self.name, None)

    def _describe(self, description: Any, said: dict[str, Any]) -> None:
        sizes, strides = said.pop("sizes", (4, 6)), said.pop("strides", None)
        description.data = said.pop("data", ctypes.addressof(self.memory))
        description.device = _Device(said.pop("device", 1), 0)
        description.rank = said.pop("rank", 0 if sizes is None else len(sizes))
        description.element = _Element(*said.pop("element", (2, 32, 1)))
        if sizes is not None:
            description.sizes = (ctypes.c_int64 * (len(sizes) + 1))(*sizes)
        if strides is not None:
            description.strides = (ctypes.c_int64 * (len(strides) + 1))(*strides)
        description.byte_offset = said.pop("byte_offset", 0)
        assert not said

    def _delete(self, _: int) -> None:
        self.deleted += 1

    @property
    def is_unused(self) -> bool:
        return bool(_is_valid(self.capsule, self.name))


WRONG: dict[str, dict[str, Any]] = {
    "no sizes": {"sizes": None, "rank": 2},
    "no data": {"data": None},
    "an offset of 2**63": {"byte_offset": 2**63},
    "an offset of 2**64 - 4": {"byte_offset": 2**64 - 4},
    "an offset of 2**62": {"byte_offset": 2**62},
    "an unaligned offset": {"byte_offset": 1},
    "a negative size": {"sizes": (4, -6)},
    "negative sizes": {"sizes": (-4, -6)},
    "a negative rank": {"rank": -1},
    "too many dimensions": {"rank": 65},
    "a huge rank": {"rank": 2**31 - 1},
    "a negative stride": {"strides": (6, -1)},
    "strides that overflow": {"strides": (_LARGEST, 1)},
    "sizes that overflow": {"sizes": (2**40, 2**40)},
    "bytes that overflow": {"sizes": (2**61,)},
    "lanes": {"element": (2, 32, 4)},
    "no lanes": {"element": (2, 32, 0)},
    "an unknown type": {"element": (77, 32, 1)},
    "odd bits": {"element": (2, 31, 1)},
    "another device": {"device": 2},
}


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("what", WRONG)
def test_a_capsule_that_is_refused_stays_unused(what: str, versioned: bool) -> None:
    exporter = Exporter(versioned, **WRONG[what])
    with pytest.raises((BufferError, RuntimeError)):
        aten.from_dlpack(exporter.capsule)
    assert exporter.is_unused
    assert exporter.deleted == 0


def test_another_version_is_refused() -> None:
    exporter = Exporter(True, major=2)
    with pytest.raises(BufferError, match="version 2"):
        aten.from_dlpack(exporter.capsule)
    assert exporter.is_unused
    assert exporter.deleted == 0


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("flags", [0, 1])
def test_a_capsule_is_used_and_freed_once(versioned: bool, flags: int) -> None:
    exporter = Exporter(versioned, flags=flags, byte_offset=4)
    tensor = aten.from_dlpack(exporter.capsule)
    assert not exporter.is_unused
    with pytest.raises(RuntimeError, match="consumed before"):
        aten.from_dlpack(exporter.capsule)
    assert tensor.tolist()[0] == [1, 2, 3, 4, 5, 6]
    read_only = versioned and flags == 1
    assert exporter.deleted == int(read_only)
    view = tensor[1:]
    del tensor
    assert exporter.deleted == int(read_only)
    assert view.tolist()[0][0] == 7
    del view
    assert exporter.deleted == 1


@pytest.mark.parametrize("versioned", [False, True])
def test_what_is_odd_but_right(versioned: bool) -> None:
    exporter = Exporter(versioned, deleter=_Deleter(), sizes=(), rank=0)
    assert aten.from_dlpack(exporter.capsule).item() == 0
    exporter = Exporter(versioned, sizes=None, rank=0)
    assert aten.from_dlpack(exporter.capsule).item() == 0
    exporter = Exporter(versioned, sizes=(0, 5), data=None, byte_offset=3)
    assert aten.from_dlpack(exporter.capsule).shape == (0, 5)
    assert exporter.deleted == 1
    exporter = Exporter(versioned, sizes=(1, 3), strides=(-9, 2))
    assert aten.from_dlpack(exporter.capsule).tolist() == [[0, 2, 4]]


# __array_interface__


class Array:
    ndim = 1

    def __init__(self, **described: Any) -> None:
        self.memory = numpy.arange(12.0)
        self.__array_interface__ = {**self.memory.__array_interface__, **described}


DESCRIPTIONS: dict[str, dict[str, Any]] = {
    "NULL": {"data": (0, False)},
    "no address": {"data": (None, False)},
    "half an address": {"data": (8,)},
    "an address past all": {"data": (2**64 - 8, False)},
    "a negative address": {"data": (-8, False)},
    "read-only": {"data": (numpy.zeros(12).ctypes.data, True)},
    "a short buffer": {"data": bytearray(16)},
    "a buffer left by its offset": {"data": bytearray(96), "offset": 8},
    "a negative offset": {"data": bytearray(960), "offset": -8},
    "no shape": {"shape": None},
    "a negative size": {"shape": (-12,)},
    "two negative sizes": {"shape": (-3, -4)},
    "a shape of words": {"shape": ("12",)},
    "a shape that overflows": {"shape": (2**40, 2**40)},
    "bytes that overflow": {"shape": (2**60,)},
    "too few strides": {"strides": ()},
    "too many strides": {"strides": (8, 8)},
    "negative strides": {"strides": (-8,)},
    "odd strides": {"strides": (9,)},
    "strides that overflow": {"strides": (2**62,)},
    "a type of none": {"typestr": None},
    "another order": {"typestr": ">f8"},
    "no such type": {"typestr": "<f3"},
    "a mask": {"mask": numpy.zeros(12, dtype=bool)},
}


@pytest.mark.parametrize("what", DESCRIPTIONS)
def test_descriptions_that_cannot_be(what: str) -> None:
    from aten._core.tensor.construct import from_array_interface

    with pytest.raises((TypeError, ValueError, RuntimeError, OverflowError, BufferError)):
        from_array_interface(Array(**DESCRIPTIONS[what]))


def test_descriptions_of_buffers() -> None:
    from aten._core.tensor.construct import from_array_interface

    memory = bytearray(numpy.arange(12.0).tobytes())
    tensor = from_array_interface(Array(data=memory, offset=16, shape=(2, 3), strides=(40, 8)))
    assert tensor.tolist() == [[2, 3, 4], [7, 8, 9]]
    tensor[0, 0] = 77
    assert numpy.frombuffer(memory)[2] == 77


@pytest.mark.parametrize("step", [2**60, 2**61, 2**62])
def test_strides_that_lead_nowhere_are_no_obstacle(step: int) -> None:
    assert aten.ones(3, 2)[::step].numpy().tolist() == [[1, 1]]


# Elements that do not lie at multiples of their size


def _unaligned() -> numpy.ndarray[Any, Any]:
    array = numpy.frombuffer(bytearray(8 * 8 + 1), dtype=numpy.uint8)[1:].view(numpy.int64)
    array[:] = range(8)
    return array


def test_unaligned_arrays_are_refused_or_copied() -> None:
    array = _unaligned()
    with pytest.raises(ValueError, match="multiple of the element byte size"):
        aten.from_numpy(array)
    with pytest.raises(ValueError, match="can't alias"):
        aten.asarray(array, copy=False)
    for made in (aten.tensor(array), aten.as_tensor(array), aten.asarray(array)):
        assert made.tolist() == list(range(8))
        assert made.data_ptr() % 8 == 0
    assert aten.arange(10)[array[::2]].tolist() == [0, 2, 4, 6]
    assert (aten.arange(8) == array).all()


def test_unaligned_buffers_are_refused() -> None:
    memory = bytearray(65)
    with pytest.raises(ValueError, match="multiple of the element size"):
        aten.frombuffer(memory, dtype=aten.float32, count=4, offset=1)
    assert aten.frombuffer(bytes(memory), dtype=aten.float32, offset=1).data_ptr() % 4 == 0
    assert aten.frombuffer(memory, dtype=aten.uint8, offset=1).numel() == 64
    with pytest.raises(RuntimeError, match="not a multiple"):
        aten.frombuffer(memory, dtype=aten.uint8, offset=1).view(aten.float32)
    storage = aten.frombuffer(memory, dtype=aten.uint8, offset=1).untyped_storage()
    with pytest.raises(RuntimeError, match="multiple of the element size"):
        aten.empty(0).set_(storage)


# Files that change while they are mapped

TRUNCATED = """
import os, shutil, sys
import aten

path, kind, mmap = sys.argv[1], sys.argv[2], sys.argv[3] == "mapped"
if kind == "pt2":
    program = aten.export.load(path, mmap=mmap)
    tensors = list(program.state_dict.values())
else:
    tensors = list(aten.safetensors.load_file(path, mmap=mmap).values())
os.truncate(path, 10)
print(sum(float(tensor.double().sum()) for tensor in tensors))
"""


def _weights(folder: Path, kind: str) -> tuple[Path, float]:
    path = folder / f"weights.{kind}"
    if kind == "pt2":
        path.write_bytes(_program().read_bytes())
        program = aten.export.load(path)
        return path, sum(float(one.double().sum()) for one in program.state_dict.values())
    weight = aten.arange(100_000.0)
    aten.safetensors.save_file({"weight": weight}, path)
    return path, float(weight.double().sum())


def _program() -> Path:
    return Path(aten.__file__).parent / "examples" / "digits" / "digits_cnn.pt2"


@pytest.mark.parametrize("kind", ["pt2", "safetensors"])
def test_a_file_in_memory_may_be_cut(kind: str, tmp_path: Path) -> None:
    path, total = _weights(tmp_path, kind)
    command = [sys.executable, "-c", TRUNCATED, str(path), kind, "copied"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("mmap", [False, True])
def test_a_file_shorter_than_it_promises(mmap: bool, tmp_path: Path) -> None:
    path, _ = _weights(tmp_path, "safetensors")
    whole = path.read_bytes()
    for length in (0, 4, 8, 30, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises((aten.export.ArchiveError, aten.export.FormatError)):
            aten.safetensors.load_file(path, mmap=mmap)
    whole = _program().read_bytes()
    path = tmp_path / "short.pt2"
    for length in (0, 4, 1000, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(aten.export.ArchiveError):
            aten.export.load(path, mmap=mmap)

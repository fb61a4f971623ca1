"""Files as memory: mapped, or read.

A mapped file takes memory of the process as far as it is looked at. What is looked at just once, to
be checked or laid out in another way, is better read (`pieces`, `reread`): then its pages never
become the process's.
"""

from __future__ import annotations

import mmap
import os
import threading
import weakref

from aten._core.base.device import device
from aten._core.base.dtypes import DTYPES
from aten._core.memory.storage import Storage, storage_from_buffer
from aten._core.tensor.construct import empty_strided
from aten._core.tensor.making import tensor_from_buffer
from aten._core.tensor.tensor import Tensor
from aten._core.threads.parallel import get_num_threads
from aten.graph.errors import ArchiveError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import IO

# What Linux says of a page, in the highest of its eight bytes: that it is there, that it was moved
# to a disk, and that it is the file's own. Source: the kernel's documentation of pagemap.
_PRESENT, _SWAPPED, _OF_FILE = 0x80, 0x40, 0x20
_ENTRY = 8
# Bytes of a tensor from which on it is worth a look at its pages.
_WORTH_READING = 1 << 19
# Bytes that are worth a thread to read them.
_WORTH_A_THREAD = 1 << 21
# Bytes of a piece: it stays in the second cache.
_PIECE = 1 << 18


class MappedFile(mmap.mmap):
    """A file's bytes, mapped copy-on-write, and a way to read them again.

    Attributes:
        address: where they lie.
        descriptor: that of the file, open as long as this is.
    """

    address: int
    descriptor: int


_BYTE, _CPU = DTYPES["uint8"], device("cpu")
# Those that tensors may lie in, by their descriptors. A list of its values is made at once,
# whatever another thread maps meanwhile.
_mapped: dict[int, weakref.ref[MappedFile]] = {}


def map_file(path: str) -> memoryview:
    """The file's bytes, mapped copy-on-write. Raises OSError, or ArchiveError for no bytes.

    While they are in use nobody may make the file shorter: the system ends a process that reads
    where a mapped file is no more (SIGBUS).
    """
    with open(path, "rb") as file:
        _size(file, path)
        mapped = MappedFile(file.fileno(), 0, access=mmap.ACCESS_COPY)
        mapped.descriptor = os.dup(file.fileno())
    weakref.finalize(mapped, _forget, mapped.descriptor)
    mapped.address = storage_from_buffer(mapped).data_ptr()
    _mapped[mapped.descriptor] = weakref.ref(mapped)
    return memoryview(mapped)


def _forget(descriptor: int) -> None:
    _mapped.pop(descriptor, None)
    os.close(descriptor)


def pieces(buffer: memoryview, place: int, count: int) -> Iterator[memoryview]:
    """Bytes of a buffer, in pieces that are good until the next one: of a mapped file, from it."""
    mapped, part = buffer.obj, buffer[place : place + count]
    if not isinstance(mapped, MappedFile) or not count:
        yield part
        return
    # The buffer may be a part of the file.
    place = storage_from_buffer(part).data_ptr() - mapped.address
    held = memoryview(bytearray(min(count, _PIECE)))
    end = place + count
    while place < end:
        read = os.preadv(mapped.descriptor, [held[: end - place]], place)
        if not read:
            # The file is shorter by now.
            return
        yield held[:read]
        place += read


def reread(tensor: Tensor) -> Tensor:
    """A copy of a tensor over a mapped file, read from the file; the tensor itself where it is
    small, lies elsewhere, or where somebody has written to its pages."""
    count = _extent(tensor)
    if count < _WORTH_READING or tensor.is_conj() or tensor.is_neg():
        return tensor
    begin = tensor.untyped_storage().address() + tensor.storage_offset() * tensor.itemsize
    mapped, place = _file_at(begin, count)
    read = None if mapped is None else _bytes_of(mapped, place, count)
    if read is None:
        return tensor
    return tensor_from_buffer(read, tensor.dtype, tensor.shape, tensor.stride(), 0)


def _extent(tensor: Tensor) -> int:
    """The bytes from a tensor's first element to its last one, strides being what they are."""
    sizes = tensor.shape
    if 0 in sizes:
        return 0
    steps = zip(sizes, tensor.stride(), strict=True)
    return tensor.itemsize * (1 + sum((size - 1) * step for size, step in steps))


def _file_at(address: int, count: int) -> tuple[MappedFile | None, int]:
    """The file that so much memory is mapped from, and where in it that begins."""
    for mapped in [one() for one in list(_mapped.values())]:
        if mapped is not None and mapped.address <= address <= mapped.address + len(mapped) - count:
            return mapped, address - mapped.address
    return None, 0


def _bytes_of(mapped: MappedFile, place: int, count: int) -> Storage | None:
    """Bytes of the file in memory of this process; None where they may not be those mapped."""
    if not _are_of_file(mapped.address + place, count):
        return None
    storage = empty_strided((count,), (1,), _BYTE, _CPU).untyped_storage()
    return storage if _read_whole(mapped.descriptor, memoryview(storage), place) else None


def _read_whole(descriptor: int, buffer: memoryview, place: int) -> bool:
    """Whether a buffer could be filled with the file's bytes from `place` on. All threads read a
    large one: most of the time goes to pages of memory that nobody has touched yet.

    Raises OSError where the file cannot be read.
    """
    shares = max(1, min(get_num_threads(), len(buffer) // _WORTH_A_THREAD))
    share = -(-len(buffer) // shares)
    starts = list(range(0, len(buffer), share))
    lacking: list[int] = []

    def fill() -> None:
        first = starts.pop()
        if not _read_part(descriptor, buffer[first : first + share], place + first):
            lacking.append(first)

    on_threads(fill, len(starts))
    return not lacking


def on_threads(work: Callable[[], None], count: int) -> None:
    """Have `work` done by so many threads, this one among them. Raises what it raised first."""
    failed: list[Exception] = []

    def guarded() -> None:
        try:
            work()
        except Exception as error:  # Nobody would see what a thread raises.
            failed.append(error)

    threads = [threading.Thread(target=guarded) for _ in range(count - 1)]
    for one in threads:
        one.start()
    guarded()
    for one in threads:
        one.join()
    if failed:
        raise failed[0]


def _read_part(descriptor: int, buffer: memoryview, place: int) -> bool:
    done = 0
    while done < len(buffer):
        read = os.preadv(descriptor, [buffer[done:]], place + done)
        if not read:
            return False
        done += read
    return True


def _are_of_file(address: int, count: int) -> bool:
    """Whether no page of this memory has been written to, as far as the system tells."""
    first, last = address // mmap.PAGESIZE, (address + count - 1) // mmap.PAGESIZE
    wanted = (last + 1 - first) * _ENTRY
    try:
        with open("/proc/self/pagemap", "rb", buffering=0) as table:
            entries = os.pread(table.fileno(), wanted, first * _ENTRY)
    except OSError:
        return False
    kinds = set(entries[_ENTRY - 1 :: _ENTRY])
    return len(entries) == wanted and all(
        kind & _OF_FILE or not kind & (_PRESENT | _SWAPPED) for kind in kinds
    )


def read_file(path: str) -> memoryview:
    """The file's bytes in memory of this process, which nobody else changes.

    Raises OSError, or ArchiveError for no bytes and for a file that is cut short meanwhile.
    """
    with open(path, "rb") as file:
        size = _size(file, path)
        buffer = memoryview(mmap.mmap(-1, size))
        position = 0
        while position < size:
            count = file.readinto(buffer[position:])
            if not count:
                raise ArchiveError(f"{path}: the file was cut short while it was read")
            position += count
    return buffer


def _size(file: IO[bytes], path: str) -> int:
    size = os.fstat(file.fileno()).st_size
    if not size:
        raise ArchiveError(f"{path}: the file is empty")
    return size

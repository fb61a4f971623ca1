"""Memory shared with NumPy and with whatever speaks DLPack or the buffer protocol."""

from __future__ import annotations

import sys

from aten._core.base.dtypes import DTYPES
from aten._core.base.keys import gradient_modes
from aten._core.base.numpy_types import numpy_dtype, numpy_for
from aten._core.dispatch.argument_values import dtype_argument
from aten._core.memory import storage
from aten._core.tensor import construct
from aten._core.tensor.tensor import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import numpy

_DLPACK_CPU = (1, 0)
_DLPACK_VERSION = (1, 3)
_NO_WAITING = -1


def from_numpy(array: numpy.ndarray) -> Tensor:
    """A tensor over the array's memory; writes on one side are seen on the other.

    Read-only arrays are copied. Raises TypeError for element types tensors do not have, ValueError
    for negative strides, for numbers in another byte order and for elements that do not lie at
    multiples of their size.

    Example:

        >>> import numpy
        >>> aten.from_numpy(numpy.arange(3))
        tensor([0, 1, 2])
    """
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(array, numpy.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    if not array.dtype.isnative:
        raise ValueError("from_numpy: the array's bytes are not in this machine's order")
    if not array.flags.writeable:
        array = array.copy()
    extension = DTYPES.get(array.dtype.name)
    if extension is None or not _is_extension(array.dtype.name):
        return construct.from_array_interface(array)
    return construct.from_array_interface(array.view(_bits_name(array.itemsize))).view(extension)


def is_aligned(array: Any) -> bool:
    """Whether the elements of a NumPy array lie where a tensor's may: at multiples of their size.

    True for what is no array, which others refuse.
    """
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(array, numpy.ndarray):
        return True
    return bool(array.__array_interface__["data"][0] % array.itemsize == 0)


def to_numpy(self: Tensor, *, force: bool = False) -> Any:
    """A NumPy array over the tensor's memory; with `force`, a copy from another device.

    bfloat16 and float8 are ml_dtypes' types. Raises TypeError for tensors of other devices and
    types NumPy lacks, RuntimeError for tensors that require gradients, unless `force`.

    Example:

        >>> aten.tensor([1, 2]).numpy()
        array([1, 2])
    """
    numpy = numpy_for("Tensor.numpy")
    if not force:
        _refuse_recorded(self)
    if force:
        self = self.detach().cpu().resolve_conj().resolve_neg()
    if not _is_extension(self.dtype.name):
        return numpy.asarray(_Interface(self))
    bits = self.view(DTYPES[_bits_name(self.itemsize)])
    return numpy.asarray(_Interface(bits)).view(numpy_dtype(self.dtype))


def _refuse_recorded(tensor: Tensor) -> None:
    if tensor.requires_grad and gradient_modes()[0]:
        raise RuntimeError(
            "numpy: the array would not know that the tensor requires grad; "
            "tensor.detach().numpy() gives one that does not"
        )


def _is_extension(name: str) -> bool:
    return name == "bfloat16" or name.startswith("float8")


def _bits_name(itemsize: int) -> str:
    return f"uint{8 * itemsize}"


class _Interface:
    """Hands a tensor's memory to NumPy and keeps it alive."""

    def __init__(self, value: Tensor) -> None:
        self.__array_interface__ = construct.array_interface(value)
        # Held open, the storage's buffer keeps the memory where it is.
        self.memory = memoryview(value.untyped_storage())


def to_array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    """NumPy's protocol: an array over the tensor's memory, converted or copied where asked.

    Raises ValueError where `copy` is False and a copy is needed.
    """
    made = to_numpy(self)
    if dtype is not None and made.dtype != dtype:
        if copy is False:
            raise ValueError(f"a {self.dtype} tensor is no {dtype} array without a copy")
        return made.astype(dtype)
    return made.copy() if copy else made


def array_interface(self: Tensor) -> dict[str, Any]:
    """NumPy's `__array_interface__`, by way of the storage's buffer.

    Raises AttributeError for element types that it has no name for, and for tensors that require
    gradients, of which `__array__` says that they do.
    """
    if self.requires_grad and gradient_modes()[0]:
        raise AttributeError("the array interface does not know that the tensor requires grad")
    if _is_extension(self.dtype.name) or self.dtype.name == "complex32":
        raise AttributeError(f"the array interface has no name for {self.dtype}")
    described = construct.array_interface(self)
    if self.numel():
        memory = self.untyped_storage()
        # NumPy asks the buffer for its address and gives it back at once.
        storage.hold_in_place(memory)
        described["data"] = memory
        described["offset"] = self.storage_offset() * self.itemsize
    return described


def to_bytes(self: Tensor) -> bytes:
    """The elements' bytes in row-major order, which `PIL.Image.fromarray` asks for.

    Raises TypeError for tensors of other devices than the CPU.

    Example:

        >>> aten.tensor([1, 2], dtype=aten.uint8).tobytes()
        b'\\x01\\x02'
    """
    if self.device.type != "cpu":
        raise TypeError(f"tobytes: expected a tensor on the CPU, got one on {self.device}")
    if self.numel() == 0:
        return b""
    made = construct.empty_strided(self.shape, None, self.dtype, self.device)
    made.copy_(self)
    return bytes(memoryview(made.untyped_storage()))


def wrap_array(
    self: Tensor, array: Any, context: Any = None, return_scalar: bool = False
) -> Tensor:
    """What NumPy's functions of tensors give: their results as tensors again."""
    return from_numpy(array)


def to_dlpack(
    self: Tensor,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """A DLPack capsule over the tensor's memory, or over a copy.

    Its version is 1.3; without `max_version`, or below 1.0, it has the older form without one. A
    `stream` is None or -1, which asks for no waiting: there are none on the CPU. `dl_device` may
    ask for the CPU; a tensor of another device is copied to it unless `copy` is false.

    Raises BufferError for other devices than the CPU, other streams and types DLPack lacks.

    Example:

        >>> aten.from_dlpack(aten.to_dlpack(aten.ones(2)))
        tensor([1., 1.])
    """
    from aten._core.tensor import dlpack

    if stream is not None and stream != _NO_WAITING:
        raise BufferError(f"there are no streams on the CPU: stream must be None, not {stream!r}")
    if dl_device is not None and tuple(dl_device) != _DLPACK_CPU:
        raise BufferError(f"tensors of {self.device} cannot be exported to {dl_device}")
    copied = bool(copy) or (dl_device is not None and copy is None and not self.is_cpu)
    given = _copy_in_host_memory(self) if copied else self
    versioned = max_version is not None and max_version[0] >= 1
    return dlpack.export(given, versioned=versioned, copied=copied)


def exported(self: Tensor, **keywords: Any) -> Any:
    """DLPack's protocol: `to_dlpack` for who does not know of gradients.

    Raises BufferError for tensors that require them, and as `to_dlpack`.
    """
    if self.requires_grad:
        raise BufferError(
            "__dlpack__: whoever takes the memory would not know that the tensor requires grad; "
            "tensor.detach() does not"
        )
    return to_dlpack(self, **keywords)


def _copy_in_host_memory(tensor: Tensor) -> Tensor:
    if tensor.is_meta:
        raise BufferError("a meta tensor has no memory to export")
    made = tensor.cpu().resolve_conj().resolve_neg()
    return made.clone() if made.untyped_storage() is tensor.untyped_storage() else made


def dlpack_device(self: Tensor) -> tuple[int, int]:
    """Device type and index in DLPack's numbers. Raises BufferError for other devices."""
    if not self.is_cpu:
        raise BufferError(f"only CPU tensors can be exported, not {self.device}")
    return _DLPACK_CPU


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of an object with `__dlpack__`, or of a DLPack capsule.

    With `copy` true the memory is its own; with `copy` false it never is. Raises ValueError where
    a copy is needed and may not be made, BufferError for what cannot be shared, RuntimeError for
    other objects.

    Example:

        >>> import numpy
        >>> aten.from_dlpack(numpy.arange(3))
        tensor([0, 1, 2])
    """
    from aten._core.tensor import dlpack

    capsule = ext_tensor
    if type(ext_tensor).__name__ != "PyCapsule":
        if not hasattr(ext_tensor, "__dlpack__"):
            raise RuntimeError(
                f"from_dlpack: expected an object with __dlpack__, not {type(ext_tensor).__name__}"
            )
        capsule = _capsule(ext_tensor, copy)
    made = dlpack.import_capsule(capsule, shared=copy is False)
    if copy:
        made = made.clone()
    if device is None:
        return made
    placed = made.to(device)
    if copy is False and placed is not made:
        raise ValueError(f"from_dlpack: {made.device} to {device} needs a copy, copy is false")
    return placed


def _capsule(exporter: Any, copy: bool | None) -> Any:
    """What the exporter gives; exporters of before version 1 know fewer arguments, or none."""
    asked: dict[str, Any] = {"max_version": _DLPACK_VERSION, "copy": None if copy else copy}
    where = getattr(exporter, "__dlpack_device__", None)
    if where is not None and where()[0] != _DLPACK_CPU[0]:
        asked["dl_device"] = _DLPACK_CPU
    for keywords in (asked, {"max_version": _DLPACK_VERSION}):
        try:
            return exporter.__dlpack__(**keywords)
        except TypeError:
            continue
    return exporter.__dlpack__()


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0) -> Tensor:
    """A 1-d tensor over the memory of an object with the buffer protocol.

    `offset` is in bytes. Read-only buffers are copied. Raises ValueError where `count` elements
    are not there or do not lie at multiples of their size, and for objects without the protocol.

    Example:

        >>> aten.frombuffer(bytearray([1, 2, 3]), dtype=aten.uint8)
        tensor([1, 2, 3], dtype=aten.uint8)
    """
    from aten._core.tensor.making import tensor_from_buffer

    dtype = dtype_argument("frombuffer", dtype, False)
    try:
        view = memoryview(buffer).cast("B")
    except TypeError as error:
        raise ValueError(f"frombuffer: no buffer to share, {error}") from None
    if view.nbytes == 0 or not 0 <= offset < view.nbytes:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length "
            f"({view.nbytes} bytes) minus 1"
        )
    rest = memoryview(bytearray(view[offset:])) if view.readonly else view[offset:]
    if count < 0:
        if rest.nbytes % dtype.itemsize:
            raise ValueError(
                f"buffer size ({rest.nbytes} bytes) after offset ({offset} bytes) must be a "
                f"multiple of element size ({dtype.itemsize})"
            )
        count = rest.nbytes // dtype.itemsize
    if count == 0 or count * dtype.itemsize > rest.nbytes:
        raise ValueError(
            f"requested buffer length ({count * dtype.itemsize} bytes) after offset ({offset} "
            f"bytes) must not be greater than actual buffer length ({view.nbytes} bytes)"
        )
    return tensor_from_buffer(rest, dtype, (count,))


def from_file(
    filename: Any,
    shared: bool | None = None,
    size: int = 0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A 1-d tensor over `size` elements of a file, mapped: read as they are first looked at.

    With `shared` writes go into the file, which is made or lengthened as needed; else they stay in
    this process. Raises OSError where the file cannot be opened or is too short.

    Example:

        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     _ = file.write(bytes(8))
        ...     file.flush()
        ...     print(aten.from_file(file.name, size=2))
        tensor([0., 0.])
    """
    import mmap

    from aten._core.base.dtypes import get_default_dtype

    if requires_grad or pin_memory or str(device or "cpu") != "cpu":
        raise NotImplementedError("from_file(): only tensors on the CPU, without gradients")
    element = dtype_argument("from_file", dtype) or get_default_dtype()
    if size < 0:
        raise RuntimeError(f"from_file(): size must not be negative, got {size}")
    nbytes = size * element.itemsize
    if nbytes == 0:
        return construct.empty_strided((0,), (1,), element, _cpu())
    with open(
        filename, "r+b" if shared and _is_file(filename) else "w+b" if shared else "rb"
    ) as file:
        file.seek(0, 2)
        if file.tell() < nbytes:
            if not shared:
                raise OSError(f"from_file(): {filename} has {file.tell()} bytes, not {nbytes}")
            file.truncate(nbytes)
        access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
        mapped = mmap.mmap(file.fileno(), nbytes, access=access)
    return frombuffer(mapped, dtype=element, count=size)


def _is_file(name: Any) -> bool:
    import os

    return os.path.isfile(name)


def _cpu() -> Any:
    from aten._core.base.device import device

    return device("cpu")


ATTRIBUTES: dict[str, Any] = {
    "numpy": to_numpy,
    # pandas' name for it, by which matplotlib knows what is no nested sequence.
    "to_numpy": to_numpy,
    "tobytes": to_bytes,
    "__array__": to_array,
    "__array_interface__": property(array_interface),
    "__array_wrap__": wrap_array,
    "__dlpack__": exported,
    "__dlpack_device__": dlpack_device,
}

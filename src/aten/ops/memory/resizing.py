"""Tensors that become windows of another size, in place."""

from __future__ import annotations

from collections.abc import Sequence

from aten._core.base.device import MEMORY_FORMATS, memory_format
from aten._core.memory.storage import Storage
from aten._core.tensor import memory
from aten._core.tensor.making import tensor_from_buffer
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.registry import ops

_CONTIGUOUS = MEMORY_FORMATS["contiguous_format"]
_PRESERVE = MEMORY_FORMATS["preserve_format"]


@op
def resize_(
    self: Tensor, size: Sequence[int], *, memory_format: memory_format | None = None
) -> Tensor:
    """Other sizes over the same storage, which grows where it must; elements stay in their order.

    New elements are not initialized. Raises RuntimeError for storage that cannot grow, and for
    tensors that gradients flow to.
    """
    if self.requires_grad:
        raise RuntimeError(
            "resize_: a tensor that requires grad keeps its sizes; detach() it first"
        )
    if memory_format is _PRESERVE:
        raise RuntimeError("resize_: memory_format must say an order, not preserve_format")
    ordered = self
    if memory_format not in (None, _CONTIGUOUS):
        ordered = ops.aten.empty.memory_format(size, memory_format=memory_format, device="meta")
    if tuple(self.shape) != tuple(size):
        memory.resize(self, size)
        memory.mark_written(self)
    if ordered is self:
        return self
    return self.as_strided_(size, ordered.stride(), self.storage_offset())


@op
def resize_as_(
    self: Tensor, the_template: Tensor, *, memory_format: memory_format | None = None
) -> Tensor:
    """`resize_` to the template's sizes; with preserve_format, in its order."""
    if memory_format is _PRESERVE:
        orders = (one for one in MEMORY_FORMATS.values() if one is not _PRESERVE)
        fitting = (order for order in orders if the_template.is_contiguous(order))
        memory_format = next(fitting, _CONTIGUOUS)
    return resize_(self, the_template.shape, memory_format=memory_format)


@op
def resize(
    self: Tensor, size: Sequence[int], *, memory_format: memory_format | None = None
) -> Tensor:
    return resize_(self.clone(), size, memory_format=memory_format)


@op
def resize_as(
    self: Tensor, the_template: Tensor, *, memory_format: memory_format | None = None
) -> Tensor:
    return resize_as_(self.clone(), the_template, memory_format=memory_format)


def _shown(self: Tensor, window: Tensor) -> Tensor:
    memory.become(self, window)
    memory.mark_written(self)
    return self


@op("set_")
def set_to_nothing(self: Tensor) -> Tensor:
    """The tensor without elements, on a storage of its own."""
    return _shown(self, self.new_empty((0,)))


@op("set_.source_Tensor")
def set_(self: Tensor, source: Tensor) -> Tensor:
    """The tensor as a window like `source`, on its storage.

    Raises RuntimeError where dtype or device differ.
    """
    return _shown(self, source)


@op("set_.source_Tensor_storage_offset")
def set_window(
    self: Tensor, source: Tensor, storage_offset: int, size: Sequence[int], stride: Sequence[int]
) -> Tensor:
    """The tensor as this window on the storage of `source`."""
    return ops.aten.set_.source_Storage_storage_offset(
        self, source.untyped_storage(), storage_offset, size, stride
    )


@op("set_.source_Storage")
def set_storage(self: Tensor, source: Storage) -> Tensor:
    """The tensor as a vector over all of `source`."""
    return set_storage_window(self, source, 0, (source.nbytes() // self.itemsize,))


@op("set_.source_Storage_storage_offset")
def set_storage_window(
    self: Tensor,
    source: Storage,
    storage_offset: int,
    size: Sequence[int],
    stride: Sequence[int] = (),
) -> Tensor:
    """The tensor as this window on `source`; strides are row-major where none are given.

    Raises RuntimeError where it would leave the storage.
    """
    try:
        window = tensor_from_buffer(
            source, self.dtype, size, stride or None, storage_offset * self.itemsize
        )
    except ValueError as error:
        raise RuntimeError(f"set_: {error}") from None
    return _shown(self, window)

"""Other dtypes, devices and memory formats."""

from __future__ import annotations

from aten._core.base.device import MEMORY_FORMATS, device, layout, memory_format
from aten._core.base.dtypes import DTYPES, dtype
from aten._core.base.errors import NoElementsError
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.memory_order import suggested_format
from aten.registry import ops

_PRESERVE, _ROW_MAJOR = MEMORY_FORMATS["preserve_format"], MEMORY_FORMATS["contiguous_format"]
_HALF_TYPES = ("float16", "bfloat16")


def as_type(operand: Tensor, element: dtype | None) -> Tensor:
    """`operand` as `element`; itself where it is that already, or none is given."""
    if element is None or operand.dtype is element:
        return operand
    return ops.aten._to_copy.default(operand, dtype=element)


def wide(operand: Tensor) -> Tensor:
    """Half types as float32."""
    return as_type(operand, DTYPES["float32"]) if operand.dtype.name in _HALF_TYPES else operand


@op
def _to_copy(
    self: Tensor,
    *,
    dtype: dtype | None = None,
    layout: layout | None = None,
    device: device | None = None,
    pin_memory: bool | None = None,
    non_blocking: bool = False,
    memory_format: memory_format | None = None,
) -> Tensor:
    """A copy as another dtype, on another device, in another order; always a copy.

    Raises RuntimeError for layouts other than strided, NotImplementedError for copies out of the
    meta device, which has no data.
    """
    if layout is not None and layout.name != "strided":
        raise RuntimeError(f"_to_copy: only strided tensors can be made, not {layout}")
    made: Tensor = ops.aten.empty_like.default(
        self, dtype=dtype, device=device, memory_format=memory_format
    )
    if made.is_meta:
        return made
    if self.is_meta:
        raise NoElementsError("Cannot copy out of meta tensor; no data!")
    return made.copy_(self)


def _stays(
    self: Tensor,
    element: dtype | None,
    place: device | None,
    copy: bool,
    order: memory_format | None,
) -> bool:
    """Whether a conversion to these would change nothing, so that it gives the tensor itself."""
    return (
        not copy
        and (element is None or element is self.dtype)
        and (place is None or _same_device(place, self.device))
        and (order is None or order is _PRESERVE or order is _order_of(self))
    )


def _order_of(tensor: Tensor) -> memory_format:
    """Row-major, unless its strides say that channels come last; gaps do not matter."""
    return suggested_format(tensor) or _ROW_MAJOR


def _same_device(left: device, right: device) -> bool:
    return left.type == right.type and (left.index or 0) == (right.index or 0)


@op("to.dtype_layout")
def to(
    self: Tensor,
    *,
    dtype: dtype | None = None,
    layout: layout | None = None,
    device: device | None = None,
    pin_memory: bool | None = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: memory_format | None = None,
) -> Tensor:
    """`self` where it has all this already and `copy` is false, else `_to_copy`."""
    return _to(
        self,
        dtype,
        device,
        non_blocking,
        copy,
        memory_format,
        layout=layout,
        pin_memory=pin_memory,
    )


def _to(
    self: Tensor,
    dtype: dtype | None,
    device: device | None,
    non_blocking: bool,
    copy: bool,
    memory_format: memory_format | None,
    *,
    layout: layout | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    if _stays(self, dtype, device, copy, memory_format):
        return self
    return ops.aten._to_copy(
        self,
        dtype=dtype,
        layout=layout,
        device=device,
        pin_memory=pin_memory,
        non_blocking=non_blocking,
        memory_format=memory_format,
    )


@op("to.dtype")
def to_dtype(
    self: Tensor,
    dtype: dtype,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: memory_format | None = None,
) -> Tensor:
    if _stays(self, dtype, None, copy, memory_format):
        return self
    return ops.aten._to_copy(
        self, dtype=dtype, non_blocking=non_blocking, memory_format=memory_format
    )


@op("to.device")
def to_device(
    self: Tensor,
    device: device,
    dtype: dtype,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: memory_format | None = None,
) -> Tensor:
    return _to(self, dtype, device, non_blocking, copy, memory_format)


@op("to.other")
def to_other(
    self: Tensor,
    other: Tensor,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: memory_format | None = None,
) -> Tensor:
    return _to(self, other.dtype, other.device, non_blocking, copy, memory_format)


@op
def type_as(self: Tensor, other: Tensor) -> Tensor:
    return ops.aten.to.other(self, other)

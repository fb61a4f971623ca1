"""Tensors from data: numbers, nested sequences, arrays, other tensors."""

from __future__ import annotations

import sys

from aten import registry
from aten._core.base.device import device, thread_device
from aten._core.base.dtypes import dtype, get_default_dtype
from aten._core.dispatch.argument_values import dtype_argument
from aten._core.tensor import construct
from aten._core.tensor.tensor import Tensor
from aten.interop import from_dlpack, from_numpy, frombuffer, is_aligned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What can be nothing but numbers and sequences of them.
_PLAIN = frozenset({list, tuple, float, int, bool, complex})


def tensor(
    data: Any,
    *,
    dtype: dtype | type | None = None,
    device: device | str | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor with a copy of `data`: a number, nested sequences, an array or a tensor.

    Without `dtype` it follows from the data: Python floats give the default dtype, ints int64, and
    NumPy's numbers keep their type. Whatever can be indexed counts as a sequence, but for text.
    Raises ValueError for ragged nesting, TypeError for what is no number, RuntimeError for numbers
    that do not fit the dtype.

    Example:

        >>> aten.tensor([[1, 2], [3, 4]])
        tensor([[1, 2],
                [3, 4]])
    """
    plain = type(data) in _PLAIN and dtype is None and device is None
    if plain and not requires_grad and not pin_memory and thread_device() is None:
        # What all below comes to then.
        return construct.tensor_from_data(data)
    return data_as_tensor("tensor", data, dtype, device, requires_grad, pin_memory)


def data_as_tensor(
    function: str,
    data: Any,
    element: Any,
    place: Any,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """`tensor(data)` for other functions, whose name is in the errors."""
    if pin_memory:
        raise RuntimeError(f"{function}(): pin_memory=True needs a device with pinned memory")
    element = dtype_argument(function, element)
    if type(data) in _PLAIN:
        made = construct.tensor_from_data(data, element)
    elif isinstance(data, Tensor):
        made = data.clone()
    elif hasattr(data, "__array_interface__"):
        made = _copied(data)
    elif _shares_memory(data):
        made = from_dlpack(data).clone()
    else:
        made = construct.tensor_from_data(data, element)
    made = _placed(made.detach() if made.requires_grad else made, element, place)
    return made.requires_grad_() if requires_grad else made


def _copied(data: Any) -> Tensor:
    """The array, NumPy's number or whatever describes its memory so, in memory of its own."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(data, numpy.ndarray | numpy.generic):
        return from_numpy(numpy.array(data))
    return construct.from_array_interface(data, share=False).clone()


def _placed(made: Tensor, element: dtype | None, place: device | str | None) -> Tensor:
    place = thread_device() if place is None else device(place)
    if (element is None or made.dtype is element) and (place is None or made.device == place):
        return made
    return registry.ops.aten.to.dtype_layout(made, dtype=element, device=place)


def as_tensor(
    data: Any, dtype: dtype | type | None = None, device: device | str | None = None
) -> Tensor:
    """`data` as a tensor, over its own memory where that can be.

    Raises what `aten.tensor` raises.

    Example:

        >>> aten.as_tensor([1, 2])
        tensor([1, 2])
    """
    element = dtype_argument("as_tensor", dtype)
    if isinstance(data, Tensor):
        return _placed(data, element, device)
    if hasattr(data, "__array_interface__") and getattr(data, "ndim", 0) > 0:
        return _placed(from_numpy(data if is_aligned(data) else data.copy()), element, device)
    if _shares_memory(data):
        return _placed(from_dlpack(data), element, device)
    return data_as_tensor("as_tensor", data, element, device)


def _shares_memory(data: Any) -> bool:
    """Whether it is another library's tensor, which DLPack hands over."""
    return hasattr(type(data), "__dlpack__")


def asarray(
    obj: Any,
    *,
    dtype: dtype | type | None = None,
    device: device | str | None = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """`obj` as a tensor: shared memory for tensors, arrays, DLPack and buffers, else a new one.

    With `copy` true it is always copied, with `copy` false never. Raises ValueError where a copy
    must be made and may not.

    Example:

        >>> aten.asarray([1.0, 2.0])
        tensor([1., 2.])
    """
    made = _as_array(obj, dtype, device, copy)
    return made.detach().requires_grad_() if requires_grad else made


def _as_array(obj: Any, dtype: Any, device: Any, copy: bool | None) -> Tensor:
    element = dtype_argument("asarray", dtype)
    shared = _shared(obj, element)
    if shared is None:
        if copy is False:
            raise ValueError(
                f"can't alias arbitrary sequence or number of type {type(obj).__name__}"
            )
        return data_as_tensor("asarray", obj, element, device)
    made = _placed(shared, element, device)
    if copy and made.data_ptr() == shared.data_ptr():
        return made.clone()
    if copy is False and made is not shared:
        raise ValueError("can't alias a tensor of another dtype or device without a copy")
    return made


def _shared(obj: Any, element: dtype | None) -> Tensor | None:
    """A tensor over the memory of `obj`, where it has memory to share."""
    if isinstance(obj, Tensor):
        return obj
    if hasattr(obj, "__array_interface__"):
        shares = getattr(obj, "ndim", 0) > 0 and is_aligned(obj)
        return from_numpy(obj) if shares else None
    if _shares_memory(obj):
        return from_dlpack(obj)
    if _is_buffer(obj):
        return frombuffer(obj, dtype=element or get_default_dtype())
    return None


def _is_buffer(obj: Any) -> bool:
    try:
        memoryview(obj)
    except TypeError:
        return False
    return True


def new_tensor(
    self: Tensor,
    data: Any,
    *,
    dtype: dtype | type | None = None,
    device: device | str | None = None,
) -> Tensor:
    """`aten.tensor(data)` with this tensor's dtype and device, where no others are given.

    Example:

        >>> aten.ones(1).new_tensor([1, 2])
        tensor([1., 2.])
    """
    element = self.dtype if dtype is None else dtype
    return data_as_tensor("new_tensor", data, element, self.device if device is None else device)


def is_tensor(obj: Any) -> bool:
    """Whether `obj` is a tensor.

    Example:

        >>> aten.is_tensor(aten.tensor(1)), aten.is_tensor(1)
        (True, False)
    """
    return isinstance(obj, Tensor)

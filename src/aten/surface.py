"""What Tensor and the package offer beyond operators: slots, construction, conversions.

Which operator fills which of Python's slots is said here, once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from aten import methods, registry
from aten._core import construct, indexing
from aten._core.device import device
from aten._core.dispatcher import OpOverload
from aten._core.dtypes import dtype
from aten._core.tensor import Tensor, install_attribute, install_slot

if TYPE_CHECKING:
    import numpy

# Python's slot → the operator whose packet fills it.
_OPERATOR_SLOTS = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "__lshift__",
    "rshift": "__rshift__",
    "radd": "add",
    "rsub": "rsub",
    "rmul": "mul",
    "iadd": "add_",
    "isub": "sub_",
    "imul": "mul_",
    "itruediv": "div_",
    "ifloordiv": "floor_divide_",
    "imod": "remainder_",
    "iand": "bitwise_and_",
    "ior": "bitwise_or_",
    "ixor": "bitwise_xor_",
    "ilshift": "__ilshift__",
    "irshift": "__irshift__",
    "lt": "lt",
    "le": "le",
    "eq": "eq",
    "ne": "ne",
    "gt": "gt",
    "ge": "ge",
    "neg": "neg",
    "pos": "positive",
    "abs": "abs",
    "invert": "bitwise_not",
}

_REFLECTED_BITS = (
    ("rand", "bitwise_and"),
    ("ror", "bitwise_or"),
    ("rxor", "bitwise_xor"),
    ("rlshift", "bitwise_left_shift"),
    ("rrshift", "bitwise_right_shift"),
)


# What indexing does → the operator that does it.
_INDEXING = {
    "select": "select.int",
    "slice": "slice.Tensor",
    "unsqueeze": "unsqueeze",
    "alias": "alias",
    "index": "index.Tensor",
    "index_put": "index_put_",
    "copy": "copy_",
    "fill": "fill_.Scalar",
}


def _reflected(name: str) -> Callable[[Tensor, Any], Any]:
    """`number op tensor` for operators whose first argument may be a number."""
    packet = registry.packet("aten", name)

    def call(right: Tensor, left: Any) -> Any:
        return packet(left, right)

    return call


def _reflected_by_tensor(name: str) -> Callable[[Tensor, Any], Any]:
    """`number op tensor` for operators whose first argument must be a tensor."""
    packet = registry.packet("aten", name)

    def call(right: Tensor, left: Any) -> Any:
        from aten._core.promotion import result_type

        return packet(tensor(left, dtype=result_type(left, right), device=right.device), right)

    return call


def _truth(value: Tensor) -> bool:
    if value.numel() != 1:
        what = "no values" if value.numel() == 0 else "more than one value"
        raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
    return bool(value.item())


def _contains(value: Tensor, element: Any) -> bool:
    if not isinstance(element, (Tensor, int, float, complex)):
        raise RuntimeError(
            "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
            f"{type(element)}."
        )
    return bool((value == element).any())


def _indexing_operators() -> dict[str, OpOverload]:
    return {role: registry.operator(name) for role, name in _INDEXING.items()}


def install_slots() -> None:
    """Fill Tensor's number slots and protocol slots."""
    for slot, name in _OPERATOR_SLOTS.items():
        found = registry.find_packet("aten", name)
        if found is not None:
            install_slot(slot, found)
    for slot, name in (("rtruediv", "div"), ("rfloordiv", "floor_divide"), ("rmod", "remainder")):
        install_slot(slot, _reflected_by_tensor(name))
    for slot, name in _REFLECTED_BITS:
        install_slot(slot, _reflected(name))
    install_slot("rpow", _reflected("pow"))
    install_slot("bool", _truth)
    indexing.install(_indexing_operators)
    install_slot("contains", _contains)
    install_slot("getitem", indexing.getitem)
    install_slot("setitem", indexing.setitem)
    for name, value in _ATTRIBUTES.items():
        install_attribute(name, value)


def tensor(
    data: Any,
    *,
    dtype: dtype | None = None,
    device: device | str | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor with a copy of `data`: a number, nested sequences, an array or a tensor.

    Without `dtype` it follows from the data: Python floats give the default dtype, ints int64.
    Raises ValueError for ragged nesting, TypeError for what is no number, RuntimeError for numbers
    that do not fit the dtype.
    """
    if requires_grad:
        raise RuntimeError("tensor(): requires_grad=True needs autograd, which is not there yet")
    if isinstance(data, Tensor):
        made = data.clone()
    elif hasattr(data, "__array_interface__"):
        made = construct.from_array_interface(data.copy())
    else:
        made = construct.tensor_from_data(data, dtype)
    return _placed(made, dtype, device)


def _placed(made: Tensor, element: dtype | None, place: device | str | None) -> Tensor:
    wanted = device("cpu" if place is None else place)
    if (element is None or made.dtype is element) and made.device == wanted:
        return made
    return registry.operator("aten::_to_copy")(made, dtype=element, device=wanted)  # type: ignore[no-any-return]


def from_numpy(array: numpy.ndarray) -> Tensor:
    """A tensor over the array's memory; writes on one side are seen on the other.

    Raises TypeError for element types tensors do not have, ValueError for negative strides.
    """
    if not hasattr(array, "__array_interface__"):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    if not array.flags.writeable:
        array = array.copy()
    return construct.from_array_interface(array)


def _numpy(self: Tensor, *, force: bool = False) -> Any:
    """A NumPy array over the tensor's memory; with `force`, a copy from another device.

    Raises TypeError for tensors of other devices and types NumPy lacks.
    """
    import numpy

    if self.dtype.name in ("float32", "float64") or not _needs_extension(self):
        return numpy.asarray(_Interface(self.cpu() if force else self))
    return _numpy_extension(self)


def _needs_extension(value: Tensor) -> bool:
    return value.dtype.kind == "float8" or value.dtype.name == "bfloat16"


def _numpy_extension(value: Tensor) -> Any:
    """bfloat16 and float8 as ml_dtypes' types, over the same memory."""
    import numpy

    from aten._core.dtypes import DTYPES
    from aten._core.numpy_types import numpy_dtype

    raw = value.view(DTYPES["uint16" if value.itemsize == 2 else "uint8"])
    return numpy.asarray(_Interface(raw)).view(numpy_dtype(value.dtype))


class _Interface:
    """Hands a tensor's memory to NumPy and keeps it alive."""

    def __init__(self, value: Tensor) -> None:
        self.__array_interface__ = construct.array_interface(value)
        self.value = value


def _array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    made = _numpy(self)
    if dtype is not None and made.dtype != dtype:
        return made.astype(dtype)
    return made.copy() if copy else made


def _new_tensor(
    self: Tensor, data: Any, *, dtype: dtype | None = None, device: device | str | None = None
) -> Tensor:
    """`aten.tensor(data)` with this tensor's dtype and device, where no others are given."""
    return tensor(data, dtype=dtype or self.dtype, device=device or self.device)


def _where(self: Tensor, condition: Tensor, other: Tensor | complex) -> Tensor:
    """The elements of the tensor where `condition` holds, else those of `other`."""
    return registry.ops.aten.where(condition, self, other)  # type: ignore[no-any-return]


_ATTRIBUTES: dict[str, Any] = {
    **methods.ATTRIBUTES,
    "new_tensor": _new_tensor,
    "item": construct.item,
    "tolist": construct.tolist,
    "numpy": _numpy,
    "where": _where,
    "__array__": _array,
}

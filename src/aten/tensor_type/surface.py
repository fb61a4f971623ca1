"""What fills Tensor's slots, and what it has beside the operators among its methods.

Which operator fills which of Python's slots is said here, once.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from aten import interop, registry
from aten._core.base.device import device
from aten._core.dispatch import legacy_calls, overriding
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.dispatch.functions import CompletingFunction
from aten._core.tensor import python_numbers
from aten._core.tensor.tensor import Tensor, install_attribute, install_constructor, install_slot
from aten.backends.cpu.kernels.indexing import indexing
from aten.construction import new_tensor, tensor
from aten.functional.linear_algebra import lu, norm
from aten.tensor_type import attributes, methods

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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
    "ipow": "pow_",
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


# What methods in Python call: asking the registry takes longer than they do.
_NONZERO = registry.packet("aten", "nonzero")
_WHERE = registry.packet("aten", "where")


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
        from aten._core.tensor.promotion import result_type

        place = right.device
        if isinstance(left, Tensor) or hasattr(type(left), "__torch_function__"):
            return packet(left, right)
        return packet(tensor(left, dtype=result_type(left, right), device=place), right)

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
    install_slot("rmatmul", _reflected("matmul"))
    for slot, name in _REFLECTED_BITS:
        install_slot(slot, _reflected(name))
    for slot, name in (("rpow", "pow"), ("rmatmul", "matmul")):
        install_slot(slot, _reflected(name))
    install_slot("bool", _truth)
    install_constructor(_construct)
    indexing.install(_indexing_operators)
    install_slot("contains", _contains)
    install_slot("repr", _repr)
    install_slot("reduce", _reduce)
    install_slot("deepcopy", _deepcopy)
    install_slot("getitem", indexing.getitem)
    install_slot("setitem", indexing.setitem)
    for name, value in _ATTRIBUTES.items():
        install_attribute(name, value)
    overriding.install()
    legacy_calls.install_reader(_read_legacy_call)


def _read_legacy_call(*call: Any) -> Any:
    from aten.names.legacy_forms import read

    return read(*call)


def _repr(value: Tensor) -> str:
    from aten.tensor_type.printing import text_of

    return text_of(value)


def _reduce(value: Tensor, protocol: int) -> Any:
    from aten.copying import reduce

    return reduce(value, int(protocol))


def _deepcopy(value: Tensor, memo: dict[int, Any]) -> Tensor:
    from aten.copying import deep_copy

    return deep_copy(value, memo)


def _construct(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    from aten.tensor_type.tensor_types import construct_tensor

    return construct_tensor(args, kwargs)


def _new(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """`Tensor(*args)` with this tensor's dtype, device and class. Raises what that raises.

    Example:

        >>> aten.tensor([1.0]).new([2.0, 3.0])
        tensor([2., 3.])
    """
    from aten.tensor_type.tensor_types import new

    return new(self, *args, **kwargs)


def _type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the tensor's type; with `dtype`, the tensor as that.

    Raises ValueError for names and types that are none of tensors.

    Example:

        >>> aten.tensor([1, 2]).type()
        'aten.LongTensor'
    """
    from aten.tensor_type.tensor_types import type_

    return type_(self, dtype, non_blocking)


def _where(self: Tensor, condition: Tensor, other: Tensor | complex) -> Tensor:
    """The elements of the tensor where `condition` holds, else those of `other`.

    Example:

        >>> aten.tensor([1, 2]).where(aten.tensor([True, False]), 0)
        tensor([1, 0])
    """
    chosen: Tensor = _WHERE(condition, self, other)
    return chosen


def _array_namespace(self: Tensor, /, *, api_version: str | None = None) -> ModuleType:
    """The module of the array API standard. Raises ValueError for a version it does not follow."""
    from aten.array_api.array import namespace

    return namespace(api_version)


def _to_device(self: Tensor, device: device | str, /, *, stream: Any = None) -> Tensor:
    """The tensor on a device; itself where it is there. Raises ValueError for a stream.

    Example:

        >>> aten.ones(2).to_device("cpu")
        tensor([1., 1.])
    """
    from aten.array_api.array import to_device

    return to_device(self, device, stream=stream)


def _set_state(self: Tensor, state: dict[str, Any]) -> None:
    """What pickle and copy do with a tensor's attributes."""
    vars(self).update(state)


def _nonzero(self: Tensor, *, as_tuple: bool = False) -> Any:
    """The indices of elements that are not zero: a row for each; or a vector for each dimension.

    Example:

        >>> aten.tensor([0, 3, 4]).nonzero()
        tensor([[1],
                [2]])
    """
    return _WHERE(self) if as_tuple else _NONZERO(self)


def _polygamma(self: Tensor, n: int) -> Tensor:
    """The n-th derivative of digamma.

    Example:

        >>> aten.tensor([1.0, 2.0]).polygamma(1)
        tensor([1.6449, 0.6449])
    """
    return registry.ops.aten.polygamma(n, self)


def _method(function: Callable[..., Any]) -> CompletingFunction:
    """A function that completes its arguments, as a method of that name."""
    made = CompletingFunction(function)
    made.__module__, made.__qualname__ = "aten", f"Tensor.{made.__name__}"
    return made


_ATTRIBUTES: dict[str, Any] = {
    **methods.ATTRIBUTES,
    **interop.ATTRIBUTES,
    **attributes.ATTRIBUTES,
    "norm": _method(norm),
    "lu": lu,
    "new_tensor": new_tensor,
    "new": _new,
    "type": _type,
    "item": python_numbers.item,
    "tolist": python_numbers.tolist,
    "where": _where,
    "__array_namespace__": _array_namespace,
    "to_device": _to_device,
    "__setstate__": _set_state,
    "nonzero": _nonzero,
    "polygamma": _polygamma,
    "__rdiv__": _reflected_by_tensor("div"),
}

"""Tensors made by calling a type, as scripts of long ago do: `Tensor(2, 3)`, `LongTensor([1])`.

`FloatTensor` and its siblings are no classes that tensors have: `isinstance(x, FloatTensor)` asks
for element type and device, and `x.type(FloatTensor)` converts.
"""

from __future__ import annotations

from operator import index
from typing import Any, NoReturn

from aten import registry
from aten._core.base.device import LAYOUTS, device
from aten._core.base.dtypes import DTYPES, dtype, get_default_dtype, set_default_dtype
from aten._core.base.sizes import Size
from aten._core.memory.storage import Storage
from aten._core.tensor import construct
from aten._core.tensor.making import tensor_from_buffer
from aten._core.tensor.tensor import Tensor
from aten.construction import data_as_tensor

_CPU = device("cpu")
_NAMES = {"bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int64": "Long"}
_FORMS = (
    "expected one of: no argument; sizes, as ints or `size`; `data`, a sequence; `other`, a tensor;"
    " a storage; each with `device`"
)


def _type_name(element: dtype) -> str:
    return f"{_NAMES.get(element.name, element.scalar_type_name)}Tensor"


_ELEMENTS = {_type_name(element): element for element in DTYPES.values()}


class tensortype(type):  # noqa: N801
    """The type of `FloatTensor` and its siblings. Calling one makes a tensor of its elements."""

    dtype: dtype
    device_type: str

    def __instancecheck__(cls, value: Any) -> bool:
        return (
            isinstance(value, Tensor)
            and value.dtype is cls.dtype
            and value.device.type == cls.device_type
        )

    def __call__(cls, *args: Any, **kwargs: Any) -> Tensor:
        if cls.device_type != "cpu":
            raise TypeError(f"type {cls.__module__}.{cls.__name__} not available: no such device")
        return _made(cls.dtype, _CPU, False, args, kwargs)


def _tensor_type(element: dtype, device_type: str = "cpu") -> tensortype:
    members = {
        "__doc__": f"Makes {element.name} tensors of sizes or of data; such tensors are instances.",
        "__module__": "aten" if device_type == "cpu" else f"aten.{device_type}",
        "dtype": element,
        "device_type": device_type,
        "layout": LAYOUTS["strided"],
        "is_cuda": device_type == "cuda",
        "is_sparse": False,
    }
    return tensortype(_type_name(element), (), members)


# What torch has such types of.
_TYPED = (
    *("float32", "float64", "float16", "bfloat16"),
    *("uint8", "int8", "int16", "int32", "int64", "bool"),
)
TYPES = {made.__name__: made for made in (_tensor_type(DTYPES[name]) for name in _TYPED)}
CUDA_TYPES = {
    made.__name__: made for made in (_tensor_type(DTYPES[name], "cuda") for name in _TYPED)
}


def __getattr__(name: str) -> tensortype:
    if name in TYPES:
        return TYPES[name]
    raise AttributeError(f"module 'aten.tensor_type.tensor_types' has no attribute {name!r}")


def construct_tensor(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """What `Tensor(*args, **kwargs)` is: of the default dtype, unless it is another tensor.

    Sizes give uninitialized elements, a sequence its numbers, a tensor the same window again, a
    storage a window on all of it. Raises TypeError for other arguments, RuntimeError for devices
    other than the CPU.
    """
    return _made(get_default_dtype(), _CPU, True, args, kwargs)


def new(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """`Tensor(*args)` with this tensor's dtype, device and class. Raises what that raises."""
    made = _made(self.dtype, self.device, False, args, kwargs)
    return made if type(self) is Tensor else made.as_subclass(type(self))


def _made(
    element: dtype, place: device, any_dtype: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Tensor:
    given = dict(kwargs)
    asked = given.pop("device", None)
    if asked is not None and device(asked).type != place.type:
        raise RuntimeError(
            f"legacy constructor expects device type: {place.type} but device type: "
            f"{device(asked).type} was passed"
        )
    if not args and not given:
        return _empty((0,), element, place)
    if len(args) + len(given) > 1 and not (args and not given):
        _refuse(args, kwargs)
    if given:
        return _of_keyword(element, place, any_dtype, kwargs, *given.popitem())
    if len(args) == 1:
        return _of_one(args[0], element, place, any_dtype)
    if isinstance(args[0], (list, tuple, Storage)):
        _refuse(args, kwargs)
    return _empty(args, element, place)


def _refuse(args: tuple[Any, ...], kwargs: dict[str, Any]) -> NoReturn:
    got = [type(value).__name__ for value in args]
    got += [f"{name}={type(value).__name__}" for name, value in kwargs.items()]
    raise TypeError(
        f"new() received an invalid combination of arguments - got ({', '.join(got)}), but {_FORMS}"
    )


def _of_keyword(
    element: dtype,
    place: device,
    any_dtype: bool,
    kwargs: dict[str, Any],
    name: str,
    value: Any,
) -> Tensor:
    if name == "size" and isinstance(value, (list, tuple)):
        return _empty(value, element, place)
    if name == "data":
        return _of_data(value, element, place)
    if name == "other" and isinstance(value, Tensor):
        return _same_window(value, element, place, any_dtype)
    _refuse((), kwargs)


def _of_one(value: Any, element: dtype, place: device, any_dtype: bool) -> Tensor:
    if isinstance(value, Tensor):
        return _same_window(value, element, place, any_dtype)
    if isinstance(value, Storage):
        return tensor_from_buffer(value, element, (len(value) // element.itemsize,))
    if isinstance(value, Size):
        return _empty(value, element, place)
    if not isinstance(value, bool) and _as_int(value) is not None:
        return _empty((value,), element, place)
    return _of_data(value, element, place)


def _as_int(value: Any) -> int | None:
    try:
        return index(value)
    except TypeError:
        return None


def _empty(sizes: Any, element: dtype, place: device) -> Tensor:
    # A tuple first: reading one size may run code that changes a list of them.
    checked = [_size(value, position) for position, value in enumerate(tuple(sizes), 1)]
    return registry.ops.aten.empty.memory_format(checked, dtype=element, device=place)


def _size(value: Any, position: int) -> int:
    size = None if isinstance(value, bool) and position == 1 else _as_int(value)
    if size is None or not -(1 << 63) <= size < 1 << 63:
        raise TypeError(
            f"new(): argument 'size' must be ints of 64 bits, but at position {position} is "
            f"{value!r} of type {type(value).__name__}"
        )
    return size


def _of_data(data: Any, element: dtype, place: device) -> Tensor:
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if not isinstance(data, Tensor) and not construct.is_sequence(data):
        raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
    return data_as_tensor("new", data, element, place)


def _same_window(other: Tensor, element: dtype, place: device, any_dtype: bool) -> Tensor:
    if not any_dtype and (other.dtype is not element or other.device != place):
        raise TypeError(
            f"new(): expected a {element} tensor on {place}, got one of {other.dtype} on "
            f"{other.device}"
        )
    return registry.ops.aten.alias(other)


def type_(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the tensor's type, `aten.FloatTensor`; with `dtype`, the tensor as that.

    `dtype` may be a dtype, a type such as `aten.FloatTensor` or its name; names may begin with
    torch. Raises ValueError for names and types that are none of tensors, RuntimeError for those of
    devices that are not there, TypeError for other objects.
    """
    if dtype is None:
        place = "" if self.device.type == "cpu" else f"{self.device.type}."
        return f"aten.{place}{_type_name(self.dtype)}"
    return self.to(dtype=_element_of(dtype), non_blocking=non_blocking)


def _element_of(asked: Any) -> dtype:
    if isinstance(asked, dtype):
        return asked
    if isinstance(asked, tensortype):
        return _named(f"{asked.__module__}.{asked.__name__}")
    if isinstance(asked, type):
        return _named("aten.Tensor" if asked is Tensor else f"{asked.__module__}.{asked.__name__}")
    if isinstance(asked, str):
        return _named(asked)
    raise TypeError(f"type(): dtype must be a type, str, or dtype object, not {asked!r}")


def _named(name: str) -> dtype:
    package, _, short = name.partition(".")
    place, dot, rest = short.rpartition(".")
    if package not in ("aten", "torch") or (rest not in _ELEMENTS and short != "Tensor"):
        raise ValueError(f"invalid type: '{name}'")
    if dot:
        raise RuntimeError(f"type(): {name} is of a device that is not there: '{place}'")
    return get_default_dtype() if short == "Tensor" else _ELEMENTS[rest]


def set_default_tensor_type(t: Any) -> None:
    """Make the elements of `t`, such as `aten.DoubleTensor` or its name, the default dtype.

    Raises TypeError for types of other than floating point numbers, and what `Tensor.type` raises.

    Example:

        >>> aten.set_default_tensor_type(aten.FloatTensor)
    """
    if not isinstance(t, (str, type)):
        raise TypeError(f"set_default_tensor_type(): expected a tensor type, got {t!r}")
    set_default_dtype(_element_of(t))

"""Methods of Tensor that take their arguments more freely than one schema says."""

from __future__ import annotations

from collections.abc import Callable

from aten import registry
from aten._core.base.annotating import overload
from aten._core.base.device import device
from aten._core.base.dtypes import DTYPES, dtype
from aten._core.base.errors import NoDeviceError
from aten._core.tensor import memory
from aten._core.tensor.tensor import Tensor, install_attribute
from aten.backends.cpu.kernels.moving import conversion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

# Method → the dtype it converts to.
_DTYPE_METHODS = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "int": "int32",
    "long": "int64",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
    "bool": "bool",
    "cfloat": "complex64",
    "cdouble": "complex128",
    "chalf": "complex32",
}
_POSITIONAL = {
    "device": ("device", "dtype", "non_blocking", "copy"),
    "dtype": ("dtype", "non_blocking", "copy"),
    "other": ("other", "non_blocking", "copy"),
}


def _to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    given = _named(args, kwargs)
    other = given.pop("other", None)
    if other is not None:
        return registry.ops.aten.to.other(self, other, **given)
    return registry.ops.aten.to.dtype_layout(self, **given)


def _free_converter() -> Callable[..., Tensor]:
    return conversion.free_conversion_method(registry.operator("aten::to.dtype"), _to)


def _made_when_called(
    name: str, make: Callable[[], Callable[..., Tensor]], words: str
) -> Callable[..., Tensor]:
    """A method that its first call puts another one in the place of.

    That one holds an operator, which would bring all its kernels along with `import aten`.
    """

    def first(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        made = _named_as(name, make(), words)
        install_attribute(name, made)
        return made(self, *args, **kwargs)

    return _named_as(name, first, words)


def _named_as(name: str, method: Callable[..., Tensor], words: str) -> Callable[..., Tensor]:
    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    method.__module__ = "aten"
    method.__doc__ = words
    return method


def _named(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    names = _POSITIONAL[_form(args, kwargs)]
    if len(args) > len(names):
        raise TypeError(f"to() takes at most {len(names)} positional arguments, got {len(args)}")
    given = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        name = "other" if name == "tensor" else name
        if name in given:
            raise TypeError(f"to() got multiple values for argument '{name}'")
        if name not in (*names, "memory_format"):
            raise TypeError(f"to() got an unexpected keyword argument '{name}'")
        given[name] = value
    return given


def _form(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    if not args:
        return "other" if "other" in kwargs or "tensor" in kwargs else "device"
    first = args[0]
    if isinstance(first, Tensor):
        return "other"
    if isinstance(first, dtype) or first in (int, float, bool, complex):
        return "dtype"
    if first is None or isinstance(first, (str, device)):
        return "device"
    if isinstance(first, int):
        raise NoDeviceError(f"of index {first}")
    raise TypeError(
        "to() received an invalid combination of arguments - got a first argument of type "
        f"{type(first).__name__}, but expected a device, a dtype or a tensor"
    )


def _converter(name: str) -> Callable[..., Tensor]:
    element = DTYPES[_DTYPE_METHODS[name]]

    def make() -> Callable[..., Tensor]:
        return conversion.conversion_method(registry.operator("aten::to.dtype"), element)

    return _made_when_called(
        name,
        make,
        f"The tensor as {element.name}; itself where it is that already.\n\n"
        f"Example:\n\n    >>> aten.tensor([1, 0]).{name}().dtype\n    aten.{element.name}\n",
    )


_TO = """The tensor as another dtype and on another device; itself where it is that already.

Called as to(dtype), to(device, dtype=None) or to(other), each with non_blocking=False,
copy=False and, by keyword, memory_format. Raises TypeError for other arguments.

Example:

    >>> aten.tensor([1.5, 2]).to(aten.int64)
    tensor([1, 2])
"""


def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor in host memory; itself where it is there already.

    Example:

        >>> aten.tensor([1, 2]).cpu().device
        device(type='cpu')
    """
    return self.to(device("cpu"), memory_format=memory_format)


# Attribute → the operator that computes it, what it is, and an example with what it shows.
_OPERATOR_PROPERTIES = {
    "T": ("numpy_T", "The dimensions in reverse order", "ones(2, 3).T.shape", "aten.Size([3, 2])"),
    "H": (
        "matrix_H",
        "A matrix's adjoint",
        "tensor([[1j, 2]]).H",
        "tensor([[0.-1.j],\n            [2.-0.j]])",
    ),
    "mT": (
        "mT",
        "The last two dimensions exchanged",
        "tensor([[1, 2]]).mT",
        "tensor([[1],\n            [2]])",
    ),
    "mH": ("mH", "`mT`, conjugated", "ones(4, 2, 3).mH.shape", "aten.Size([4, 3, 2])"),
    "real": ("real", "The real parts", "tensor([1 + 2j]).real", "tensor([1.])"),
    "imag": ("imag", "The imaginary parts", "tensor([1 + 2j]).imag", "tensor([2.])"),
}


def _read_data(self: Tensor) -> Tensor:
    return memory.count_apart(registry.ops.aten.detach(self))


def _write_real(self: Tensor, value: Any) -> None:
    registry.ops.aten.real(self).copy_(value)


def _write_imag(self: Tensor, value: Any) -> None:
    registry.ops.aten.imag(self).copy_(value)


def _write_data(self: Tensor, value: Tensor) -> None:
    memory.exchange(self, value)


_WRITERS: dict[str, Callable[[Tensor, Any], None]] = {
    "real": _write_real,
    "imag": _write_imag,
}


@overload
def unique(
    self: Tensor,
    sorted: bool = True,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: int | None = None,
) -> Tensor: ...
@overload
def unique(
    self: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> tuple[Tensor, ...]: ...
def unique(
    self: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The different elements, or slices of `dim`, in order; with the flags, a tuple.

    `return_inverse` adds where each element is among them, `return_counts` how often it was there.

    Example:

        >>> aten.unique(aten.tensor([3, 1, 3]), return_counts=True)
        (tensor([1, 3]), tensor([1, 2]))
    """
    operators = registry.ops.aten
    if dim is None:
        found = operators._unique2(self, sorted, return_inverse, return_counts)
    else:
        found = operators.unique_dim(self, dim, sorted, return_inverse, return_counts)
    return _asked_for(found, return_inverse, return_counts)


@overload
def unique_consecutive(
    self: Tensor,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: int | None = None,
) -> Tensor: ...
@overload
def unique_consecutive(
    self: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> tuple[Tensor, ...]: ...
def unique_consecutive(
    self: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements, or slices of `dim`, that differ from the one before them; else as `unique`.

    Example:

        >>> aten.unique_consecutive(aten.tensor([1, 1, 2, 1]))
        tensor([1, 2, 1])
    """
    found = registry.ops.aten.unique_consecutive(self, return_inverse, return_counts, dim)
    return _asked_for(found, return_inverse, return_counts)


def _asked_for(found: tuple[Tensor, Tensor, Tensor], inverse: bool, counts: bool) -> Any:
    chosen = (found[0], *found[1:2] * inverse, *found[2:] * counts)
    return chosen if len(chosen) > 1 else chosen[0]


ATTRIBUTES: dict[str, Any] = {
    "to": _made_when_called("to", _free_converter, _TO),
    "cpu": cpu,
    **{
        name: property(
            registry.packet("aten", operator),
            _WRITERS.get(name),
            # Without it, the operator would have to describe itself now.
            doc=f"{text}, as a view.\n\nExample:\n\n    >>> aten.{example}\n    {shown}\n",
        )
        for name, (operator, text, example, shown) in _OPERATOR_PROPERTIES.items()
    },
    "data": property(
        _read_data,
        _write_data,
        doc="The tensor without derivatives; written, what the tensor shows from now on.\n\n"
        "Example:\n\n    >>> aten.ones(2).data\n    tensor([1., 1.])\n",
    ),
    "unique": unique,
    "unique_consecutive": unique_consecutive,
    **{name: _converter(name) for name in _DTYPE_METHODS},
}

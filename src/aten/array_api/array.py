"""The array of the namespace: a tensor that operators treat by the standard's rules.

Where the standard and torch agree, and that is nearly everywhere, it is a tensor like any other and
shares its memory. What differs: an operand without dimensions does not give way to one with
dimensions; `//` and `%` of floats at infinities and zeros; slices may go backwards; `size` is the
number of elements. Its operators are in `operators.py`.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from aten import registry
from aten._core.base.device import device
from aten._core.base.sizes import Size
from aten._core.tensor.tensor import Tensor
from aten.array_api import indexing
from aten.array_api.dtypes import BOOL, promote, weak_dtype
from aten.construction import as_tensor, tensor

_transpose = registry.operator("transpose.int")
VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
_NUMBERS = (bool, int, float, complex)


class Count(int):
    """A number of elements that also answers as `Tensor.size` does: called, it gives sizes.

    So functions that take any tensor may take arrays of this namespace.
    """

    shape: Size

    def __call__(self, dim: int | None = None) -> Any:
        """All sizes; with `dim`, that one. Raises IndexError where there is no such dimension."""
        return self.shape if dim is None else self.shape[dim]

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        return int, (int(self),)


class Array(Tensor):
    """A tensor that follows the array API standard; `aten.array_api.asarray` makes one."""

    @property
    def size(self) -> Count:
        """The number of elements."""
        count = Count(self.numel())
        count.shape = self.shape
        return count

    @property
    def T(self) -> Array:  # noqa: N802
        """The transposed matrix. Raises ValueError for other than two dimensions."""
        if self.ndim != 2:
            raise ValueError(f"T: expected two dimensions, not {self.ndim}; see matrix_transpose")
        return wrap(_transpose(self, 0, 1))

    @property
    def mT(self) -> Array:  # type: ignore[override]  # noqa: N802
        """The transposed matrices. Raises ValueError for fewer than two dimensions."""
        if self.ndim < 2:
            raise ValueError(f"mT: expected at least two dimensions, not {self.ndim}")
        return wrap(_transpose(self, -2, -1))

    def __getitem__(self, key: Any, /) -> Array:
        window, key = indexing.forwards(plain(self), key)
        return wrap(window[key])

    def __setitem__(self, key: Any, value: Any, /) -> None:
        indexing.assign(plain(self), key, plain(value) if isinstance(value, Tensor) else value)

    def __float__(self) -> float:
        _refuse_complex(self, "float")
        return super().__float__()

    def __int__(self) -> int:
        _refuse_complex(self, "int")
        return super().__int__()

    def __index__(self) -> int:
        if self.dtype is BOOL:
            raise TypeError("only integer arrays can be converted to an index")
        return super().__index__()

    def to_device(self, device: device | str, /, *, stream: Any = None) -> Array:
        """The array on a device; itself where it is there. Raises ValueError for a stream."""
        return wrap(to_device(self, device, stream=stream))


def _refuse_complex(array: Array, kind: str) -> None:
    if array.is_complex():
        raise TypeError(f"a {array.dtype} array cannot be converted to {kind}")


def wrap(value: Tensor) -> Array:
    """The tensor as an array of the namespace, over the same memory."""
    return value if type(value) is Array else value.as_subclass(Array)


def plain(value: Any) -> Tensor:
    """The array as a tensor with torch's operators, which the functions of the package expect.

    Raises TypeError for what is no array.
    """
    if type(value) is Tensor:
        return value
    if isinstance(value, Tensor):
        return value.as_subclass(Tensor)
    if hasattr(value, "__array_interface__"):
        return as_tensor(value)
    raise TypeError(f"expected an array, not {type(value).__name__}")


def operands(function: str, *values: Any) -> list[Tensor]:
    """Arrays and Python numbers as tensors of their common dtype.

    Raises TypeError without an array and where no dtype holds all, OverflowError for numbers that
    the arrays' dtype does not hold.
    """
    tensors = [None if isinstance(value, _NUMBERS) else plain(value) for value in values]
    common = None
    place = None
    for given in tensors:
        if given is not None:
            place = given.device
            common = given.dtype if common is None else promote(common, given.dtype)
    if common is None:
        raise TypeError(f"{function}: at least one argument must be an array")
    for value in values:
        if isinstance(value, _NUMBERS):
            common = weak_dtype(value, common)
    return [
        number(function, value, common, place) if given is None else given.to(common)
        for value, given in zip(values, tensors, strict=True)
    ]


def number(function: str, value: complex, element: Any, place: Any) -> Tensor:
    """A Python number as a tensor without dimensions.

    Raises OverflowError where the dtype does not hold it.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        _check_range(function, value, element)
    return tensor(value, dtype=element, device=place)


def _check_range(function: str, value: int, element: Any) -> None:
    if element.kind not in ("signed", "unsigned"):
        return
    signed = element.kind == "signed"
    bits = 8 * element.itemsize - signed
    if not (-(1 << bits) if signed else 0) <= value < (1 << bits):
        raise OverflowError(f"{function}: {value} is out of the range of {element}")


def to_device(self: Tensor, device: device | str, /, *, stream: Any = None) -> Tensor:
    """The tensor on a device; itself where it is there.

    Raises ValueError for a stream: these devices have none.
    """
    if stream is not None:
        raise ValueError("to_device: there are no streams here, stream must be None")
    return self.to(device)


def check_version(api_version: str | None) -> None:
    """Raises ValueError for a version of the standard that the namespace does not follow."""
    if api_version is not None and api_version not in VERSIONS:
        raise ValueError(
            f"the versions of the array API standard here are {', '.join(VERSIONS)}, "
            f"not {api_version!r}"
        )


def namespace(api_version: str | None) -> ModuleType:
    """The module with the standard's functions. Raises ValueError for other versions."""
    from aten import array_api

    check_version(api_version)
    return array_api

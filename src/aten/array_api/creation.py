"""The standard's functions that make arrays.

Without `device`, arrays are on the CPU; those made like another array are where that is. Without
`dtype`, floats have `aten.get_default_dtype()`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aten import registry
from aten._core.base.device import device as Device  # noqa: N812
from aten._core.base.dtypes import DTYPES, dtype, get_default_dtype
from aten._core.tensor.tensor import Tensor
from aten.array_api.array import Array, operands, plain, wrap
from aten.construction import asarray as _asarray
from aten.functional.shape import meshgrid as _meshgrid
from aten.interop import from_dlpack as _from_dlpack

__all__ = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]
_Place = Device | str | None
_ops = registry.ops.aten
# There are no triangles of the wider unsigned types; their bits are what is copied.
_SAME_BITS = {DTYPES[f"uint{bits}"]: DTYPES[f"int{bits}"] for bits in (16, 32, 64)}
_HALF = 1 << 63


def asarray(
    obj: Any,
    /,
    *,
    dtype: dtype | None = None,
    device: _Place = None,
    copy: bool | None = None,
) -> Array:
    """`obj` as an array: a number, nested sequences, a tensor, or what has memory to share.

    With `copy` true it is always copied, with `copy` false never; without, where it must be. Raises
    ValueError where a copy must be made and may not, and for ragged nesting.
    """
    if isinstance(obj, Tensor):
        obj = plain(obj)
    elif isinstance(obj, (list, tuple)):
        obj = _without_arrays(obj)
    made = _asarray(obj, dtype=dtype, device=device, copy=copy)
    return wrap(made)


def _without_arrays(values: Sequence[Any]) -> Any:
    """Nested sequences with arrays in them as one array; other ones as they are."""
    if not any(isinstance(value, (Tensor, list, tuple)) for value in values):
        return values
    plain_values = [
        _without_arrays(value) if isinstance(value, (list, tuple)) else value for value in values
    ]
    if not any(isinstance(value, Tensor) for value in plain_values):
        return values
    return _ops.stack(operands("asarray", *plain_values))


def from_dlpack(x: Any, /, *, device: _Place = None, copy: bool | None = None) -> Array:
    """An array over the memory of an object with `__dlpack__`; with `copy`, over a copy.

    Raises AttributeError for other objects, BufferError for memory that cannot be shared,
    ValueError where `copy` is false and one is needed.
    """
    if not hasattr(x, "__dlpack__"):
        raise AttributeError(f"from_dlpack: {type(x).__name__} has no __dlpack__")
    return wrap(_from_dlpack(x, device=device, copy=copy))


def empty(
    shape: int | tuple[int, ...], *, dtype: dtype | None = None, device: _Place = None
) -> Array:
    """An array whose elements are not set."""
    return wrap(_ops.empty(_sizes(shape), dtype=dtype, device=device))


def zeros(
    shape: int | tuple[int, ...], *, dtype: dtype | None = None, device: _Place = None
) -> Array:
    """An array of zeros."""
    return wrap(_ops.zeros(_sizes(shape), dtype=dtype, device=device))


def ones(
    shape: int | tuple[int, ...], *, dtype: dtype | None = None, device: _Place = None
) -> Array:
    """An array of ones."""
    return wrap(_ops.ones(_sizes(shape), dtype=dtype, device=device))


def full(
    shape: int | tuple[int, ...],
    fill_value: complex,
    *,
    dtype: dtype | None = None,
    device: _Place = None,
) -> Array:
    """An array of one number, whose default dtype it has without `dtype`."""
    return wrap(_ops.full(_sizes(shape), fill_value, dtype=dtype, device=device))


def _sizes(shape: int | tuple[int, ...]) -> Sequence[int]:
    return shape if isinstance(shape, (tuple, list)) else (shape.__index__(),)


def empty_like(x: Tensor, /, *, dtype: dtype | None = None, device: _Place = None) -> Array:
    """An array of the same shape whose elements are not set."""
    return wrap(_ops.empty_like(plain(x), dtype=dtype, device=device))


def zeros_like(x: Tensor, /, *, dtype: dtype | None = None, device: _Place = None) -> Array:
    """An array of zeros of the same shape."""
    return wrap(_ops.zeros_like(plain(x), dtype=dtype, device=device))


def ones_like(x: Tensor, /, *, dtype: dtype | None = None, device: _Place = None) -> Array:
    """An array of ones of the same shape."""
    return wrap(_ops.ones_like(plain(x), dtype=dtype, device=device))


def full_like(
    x: Tensor, /, fill_value: complex, *, dtype: dtype | None = None, device: _Place = None
) -> Array:
    """An array of one number, of the same shape and without `dtype` of the same dtype."""
    return wrap(_ops.full_like(plain(x), fill_value, dtype=dtype, device=device))


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: dtype | None = None,
    device: _Place = None,
) -> Array:
    """A matrix with ones on the k-th diagonal, counted to the right, and zeros beside it."""
    columns = n_rows if n_cols is None else n_cols
    made = _ops.zeros([n_rows, columns], dtype=dtype, device=device)
    if -n_rows < k < columns:
        _ops.diagonal(made, k).fill_(1)
    return wrap(made)


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: dtype | None = None,
    device: _Place = None,
) -> Array:
    """A vector of the numbers from `start` (0 where only one is given) up to before `stop`.

    It is empty where `step` leads away from `stop`. Raises ValueError for a step of 0.
    """
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("arange: step must not be 0")
    if stop == start or (stop > start) != (step > 0):
        start, stop, step = type(start)(0), type(stop)(0), type(step)(1)
    if dtype in _SAME_BITS:
        return wrap(_unsigned_range(start, stop, step, device).to(dtype))
    return wrap(_ops.arange(start, stop, step, dtype=dtype, device=device))


def _unsigned_range(start: float, stop: float, step: float, place: _Place) -> Tensor:
    """Numbers of types that the operator does not know; integers modulo 2^64."""
    if not all(isinstance(value, int) for value in (start, stop, step)):
        return _ops.arange(start, stop, step, device=place)
    places = _ops.arange(len(range(int(start), int(stop), int(step))), device=place)
    distances = _ops.mul(places, _signed(int(step)))
    return _ops.add(distances, _signed(int(start)))


def _signed(value: int) -> int:
    """The number of 64 bits with a sign that has the same bits."""
    return (value + _HALF) % (2 * _HALF) - _HALF


def linspace(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: dtype | None = None,
    device: _Place = None,
    endpoint: bool = True,
) -> Array:
    """A vector of `num` numbers at even distances from `start` to `stop`, or to before it.

    Without `dtype` it has the default float dtype, the complex one if one end is complex.
    """
    if dtype is None:
        dtype = get_default_dtype()
        if isinstance(start, complex) or isinstance(stop, complex):
            dtype = dtype.to_complex()
    steps = num if endpoint else num + 1
    made = _ops.linspace(start, stop, steps, dtype=dtype, device=device)
    return wrap(made if endpoint else made[:num])


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> tuple[Array, ...]:
    """The coordinates of a grid's points, an array for each axis from vectors of positions.

    With `indexing` "xy" the first two axes change places, with "ij" not. Raises RuntimeError for
    other words and ValueError for vectors of several dtypes.
    """
    given = [plain(x) for x in arrays]
    if len({x.dtype for x in given}) > 1:
        raise ValueError("meshgrid: the arrays must have one dtype")
    if not given:
        return ()
    return tuple(wrap(grid) for grid in _meshgrid(*given, indexing=indexing))


def tril(x: Tensor, /, *, k: int = 0) -> Array:
    """The matrices with zeros above the k-th diagonal, counted to the right."""
    return _triangle(_ops.tril, x, k)


def triu(x: Tensor, /, *, k: int = 0) -> Array:
    """The matrices with zeros below the k-th diagonal, counted to the right."""
    return _triangle(_ops.triu, x, k)


def _triangle(operator: Any, x: Tensor, k: int) -> Array:
    given = plain(x)
    same = _SAME_BITS.get(given.dtype)
    if same is None:
        return wrap(operator(given, k))
    return wrap(operator(given.view(same), k).view(given.dtype))

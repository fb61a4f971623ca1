"""The standard's functions that rearrange arrays.

Views share memory where those of tensors do: reshape where the strides allow it, expand_dims,
squeeze, permute_dims, moveaxis, broadcast_to, unstack. An axis out of range raises IndexError.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aten import registry
from aten._core.tensor.tensor import Tensor
from aten._core.tensor.tensor_impl import wrap_dimension
from aten.array_api.array import Array, operands, plain, wrap
from aten.array_api.dtypes import INDEX

__all__ = [
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "concat",
    "expand_dims",
    "flip",
    "moveaxis",
    "permute_dims",
    "repeat",
    "reshape",
    "roll",
    "squeeze",
    "stack",
    "tile",
    "unstack",
]
_Axes = int | tuple[int, ...]
_ops = registry.ops.aten


def axes_of(axis: _Axes, ndim: int) -> list[int]:
    """Axes from the front. Raises IndexError out of range, ValueError for one given twice."""
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = [wrap_dimension(one, ndim) for one in given]
    if len(set(axes)) < len(axes):
        raise ValueError(f"axis: {tuple(given)} names one of {ndim} dimensions twice")
    return axes


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The common shape, () of none. Raises ValueError where sizes differ and neither is 1."""
    common: list[int] = []
    for shape in shapes:
        sizes = [size.__index__() for size in shape]
        common = [1] * (len(sizes) - len(common)) + common
        sizes = [1] * (len(common) - len(sizes)) + sizes
        for dim, size in enumerate(sizes):
            if 1 != size != common[dim] != 1:
                raise ValueError(f"broadcast_shapes: {shapes} have no common shape")
            common[dim] = size if common[dim] == 1 else common[dim]
    return tuple(common)


def broadcast_arrays(*arrays: Tensor) -> tuple[Array, ...]:
    """Views of the arrays with their common shape. Raises ValueError where there is none."""
    shape = broadcast_shapes(*(tuple(x.shape) for x in arrays))
    return tuple(broadcast_to(x, shape) for x in arrays)


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Array:
    """A view with another shape, repeated along new axes and those of one element.

    Raises RuntimeError where the shapes do not allow it.
    """
    return wrap(_ops.expand(plain(x), [size.__index__() for size in shape]))


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Array:
    """The arrays one behind the other along an axis; flattened without one.

    Raises ValueError for no arrays, RuntimeError for shapes that do not fit.
    """
    given = _common("concat", arrays)
    if axis is None:
        return wrap(_ops.cat([_ops.reshape(x, [-1]) for x in given]))
    (place,) = axes_of(axis, given[0].dim())
    if any(x.dim() != given[0].dim() for x in given):
        raise ValueError("concat: the arrays must have the same number of dimensions")
    return wrap(_ops.cat(given, place))


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Array:
    """The arrays side by side along a new axis.

    Raises ValueError for no arrays, RuntimeError for shapes that differ.
    """
    return wrap(_ops.stack(_common("stack", arrays), axis))


def _common(function: str, arrays: Sequence[Tensor]) -> list[Tensor]:
    if not arrays:
        raise ValueError(f"{function}: at least one array is needed")
    return operands(function, *arrays)


def expand_dims(x: Tensor, /, axis: _Axes) -> Array:
    """A view with an axis of one element at each place, counted in the result.

    Raises IndexError out of range, ValueError for a place given twice.
    """
    given = plain(x)
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    for place in sorted(axes_of(axis, given.dim() + count) if count else ()):
        given = _ops.unsqueeze(given, place)
    return wrap(given)


def squeeze(x: Tensor, /, axis: _Axes) -> Array:
    """A view without these axes. Raises ValueError where one has other than one element."""
    given = plain(x)
    axes = axes_of(axis, given.dim()) if given.dim() or axis != () else []
    if given.dim() == 0 and axes:
        raise IndexError("squeeze: an array without dimensions has no axis")
    for place in axes:
        if given.shape[place] != 1:
            raise ValueError(
                f"squeeze: axis {place} has {given.shape[place]} elements, expected one"
            )
    return wrap(_ops.squeeze(given, axes))


def flip(x: Tensor, /, *, axis: _Axes | None = None) -> Array:
    """A copy with the order along the axes, or along all of them, reversed."""
    given = plain(x)
    if axis is None:
        return wrap(_ops.flip(given, list(range(given.dim()))))
    return wrap(_ops.flip(given, axes_of(axis, given.dim())))


def moveaxis(x: Tensor, source: _Axes, destination: _Axes, /) -> Array:
    """A view with some axes at other places; the others keep their order.

    Raises RuntimeError for places given twice and for unequally many.
    """
    move: Any = _ops.movedim  # two operators: of one axis, of many
    return wrap(move(plain(x), source, destination))


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Array:
    """A view with its axes in another order. Raises RuntimeError for what is no permutation."""
    return wrap(_ops.permute(plain(x), list(axes)))


def repeat(x: Tensor, repeats: int | Tensor, /, *, axis: int | None = None) -> Array:
    """Each element, or each slice along an axis, so many times; flattened without an axis.

    Raises RuntimeError for negative counts and for counts that are not as many as the slices.
    """
    given = plain(x)
    if axis is None:
        given, axis = _ops.reshape(given, [-1]), 0
    (axis,) = axes_of(axis, given.dim())
    if isinstance(repeats, Tensor):
        counts = plain(repeats).to(INDEX)
        counts = _ops.expand(_ops.reshape(counts, [-1]), [given.shape[axis]])
        return wrap(_ops.repeat_interleave(given, counts, axis))
    return wrap(_ops.repeat_interleave(given, repeats.__index__(), axis))


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Array:
    """The elements with another shape; one size may be -1.

    With `copy` true always a copy, with false never. Raises ValueError where a copy must be made
    and may not, RuntimeError for other numbers of elements.
    """
    given = plain(x)
    sizes = [size.__index__() for size in shape] if not isinstance(shape, int) else [shape]
    if copy:
        return wrap(_ops.reshape(given.clone(), sizes))
    made = _ops.reshape(given, sizes)
    if copy is False and made.untyped_storage() is not given.untyped_storage():
        raise ValueError(f"reshape: {list(given.shape)} as {sizes} needs a copy, copy is false")
    return wrap(made)


def roll(
    x: Tensor, /, shift: int | tuple[int, ...], *, axis: int | tuple[int, ...] | None = None
) -> Array:
    """The elements moved along axes, or along the flattened array, round past the end.

    Raises ValueError for axes that are not as many as shifts.
    """
    given = plain(x)
    if axis is None:
        return wrap(_ops.roll(given, shift))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    shifts = shift if isinstance(shift, (tuple, list)) else (shift,) * len(axes)
    if len(shifts) != len(axes):
        raise ValueError(f"roll: {len(shifts)} shifts for {len(axes)} axes")
    # One after the other: an axis may be given twice.
    for distance, place in zip(shifts, axes, strict=True):
        given = _ops.roll(given, [distance], axes_of(place, given.dim()))
    return wrap(given if axes else given.clone())


def tile(x: Tensor, repetitions: tuple[int, ...], /) -> Array:
    """The whole array repeated along each axis, counted from the last one."""
    return wrap(_ops.tile(plain(x), list(repetitions)))


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Array, ...]:
    """A view of each slice along an axis. Raises IndexError for an array without dimensions."""
    given = plain(x)
    if given.dim() == 0:
        raise IndexError("unstack: an array without dimensions has no axis")
    (place,) = axes_of(axis, given.dim())
    return tuple(wrap(slice_) for slice_ in _ops.unbind(given, place))

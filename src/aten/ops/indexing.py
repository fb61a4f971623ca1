"""Picking and placing elements by index tensors and masks. NumPy gathers and scatters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aten._core import memory
from aten._core.dtypes import DTYPES
from aten._core.taking import take
from aten._core.tensor import Tensor, wrap_dimension
from aten.ops.arrays import as_array, as_bits, from_bits
from aten.ops.definition import converted, op
from aten.ops.value_checks import scalar_fill
from aten.prims import Value
from aten.prims import elementwise as p
from aten.registry import ops

Indices = Sequence[Tensor | None]

_WHOLE = slice(None)
_INDEX_TYPES = ("int32", "int64")
_MASK_TYPES = ("bool", "uint8")


@op("index.Tensor")
def index(self: Tensor, indices: Indices) -> Tensor:
    """Elements at index tensors, broadcast together, one for each dimension or None for all of it.

    A mask of several dimensions stands for as many. The indexed dimensions go where the first of
    them was, or to the front where others lie between them. Raises IndexError for indices of other
    dtypes, that are too many, out of range, or do not broadcast.
    """
    if self.is_meta:
        return self.new_empty(_indexed_shape(self, indices))
    given = [place for place, one in enumerate(indices) if one is not None]
    if len(given) == 1 and given[0] < self.dim():
        alone = indices[given[0]]
        if alone is not None and alone.dtype.name in _INDEX_TYPES:
            return take(self, given[0], _contiguous(alone), True)
    key = _numpy_key(self, indices)
    return from_bits(as_bits(self)[key], self)


def _contiguous(index: Tensor) -> Tensor:
    return index if index.is_contiguous() else index.contiguous()


@op("index_put_")
def index_put_(self: Tensor, indices: Indices, values: Tensor, accumulate: bool = False) -> Tensor:
    """Writes `values`, broadcast, to the elements `index` would give; or adds them.

    Elements that are named twice get one of their values, or all of them added.
    """
    if values.dtype is not self.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{self.dtype.scalar_type_name} for the destination and "
            f"{values.dtype.scalar_type_name} for the source."
        )
    if self.is_meta:
        return self
    key = _numpy_key(self, indices)
    try:
        if accumulate:
            _add_at(self, key, values)
        else:
            as_bits(self)[key] = as_bits(values)
    except ValueError:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to "
            f"indexing result of shape {list(as_bits(self)[key].shape)}"
        ) from None
    memory.mark_written(self)
    return self


@op
def index_put(self: Tensor, indices: Indices, values: Tensor, accumulate: bool = False) -> Tensor:
    return index_put_(self.clone(), indices, values, accumulate)


def _add_at(self: Tensor, key: Any, values: Tensor) -> None:
    import numpy

    if self.dtype.kind == "bool":
        numpy.logical_or.at(as_array(self), key, as_array(values))
    elif self.dtype.name in ("bfloat16", "float16"):
        wide = self.float()
        numpy.add.at(as_array(wide), key, as_array(values.float()))
        self.copy_(wide)
    else:
        numpy.add.at(as_array(self), key, as_array(values))


def _numpy_key(self: Tensor, indices: Indices) -> tuple[Any, ...]:
    """The indices for NumPy, checked: its own rules allow more."""
    key: list[Any] = []
    shapes = []
    for position, one in enumerate(indices):
        if one is None:
            key.append(_WHOLE)
            continue
        expanded = _checked_index(self, one, position, len(key))
        shapes.append(tuple(expanded[0].shape))
        key.extend(expanded)
    if len(key) > self.dim():
        raise IndexError(f"too many indices for tensor of dimension {self.dim()} (got {len(key)})")
    _common_shape(shapes)
    for dim, one in enumerate(key):
        if one is not _WHOLE:
            _check_range(one, dim, self.size(dim))
    return tuple(key)


def _checked_index(self: Tensor, one: Tensor, position: int, dim: int) -> list[Any]:
    """An index as arrays of integers, one for each dimension it stands for."""
    if one.dtype.name in _INDEX_TYPES:
        return [as_array(one)]
    if one.dtype.name not in _MASK_TYPES:
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    for place, size in enumerate(one.shape):
        if dim + place >= self.dim() or self.size(dim + place) != size:
            raise IndexError(
                f"The shape of the mask {list(one.shape)} at index {place} does not match the "
                f"shape of the indexed tensor {list(self.shape)} at index {dim + place}"
            )
    return list(as_array(one).nonzero())


def _check_range(index: Any, dim: int, size: int) -> None:
    if index.size == 0:
        return
    least, greatest = int(index.min()), int(index.max())
    if least < -size or greatest >= size:
        wrong = least if least < -size else greatest
        raise IndexError(f"index {wrong} is out of bounds for dimension {dim} with size {size}")


def _common_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    rank = max((len(shape) for shape in shapes), default=0)
    common = [1] * rank
    for shape in shapes:
        for place, size in enumerate(shape, rank - len(shape)):
            if common[place] == 1:
                common[place] = size
            elif size not in (1, common[place]):
                listed = ", ".join(str(list(one)) for one in shapes)
                raise IndexError(
                    "shape mismatch: indexing tensors could not be broadcast together with "
                    f"shapes {listed}"
                )
    return tuple(common)


def _indexed_shape(self: Tensor, indices: Indices) -> tuple[int, ...]:
    given = [place for place, one in enumerate(indices) if one is not None]
    if len(indices) > self.dim():
        raise IndexError(
            f"too many indices for tensor of dimension {self.dim()} (got {len(indices)})"
        )
    shapes = []
    for one in indices:
        if one is not None and one.dtype.name in _MASK_TYPES:
            raise NotImplementedError("index: a mask's elements are not known on the meta device")
        if one is not None:
            shapes.append(tuple(one.shape))
    common = _common_shape(shapes)
    kept = [size for dim, size in enumerate(self.shape) if dim not in given]
    together = not given or given[-1] - given[0] + 1 == len(given)
    place = given[0] if given and together else 0
    return (*kept[:place], *common, *kept[place:])


def _checked_vector(name: str, self: Tensor, dim: int, index: Tensor) -> int:
    if index.dim() > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector, got {index.dim()}-d")
    if index.dtype.name not in _INDEX_TYPES:
        raise RuntimeError(f"{name}(): Expected dtype int32 or int64 for index, got {index.dtype}")
    return wrap_dimension(dim, self.dim())


@op
def index_select(self: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices of `dim` at the indices in a vector.

    Raises IndexError for indices that are negative or too large.
    """
    dim = _checked_vector("index_select", self, dim, index)
    shape = list(self.shape)
    if shape:
        shape[dim] = index.numel()
    if self.is_meta:
        return self.new_empty(shape)
    if not shape:
        return take(self.reshape((1,)), 0, index.reshape(()), False)
    return take(self, dim, _contiguous(index.reshape((-1,))), False)


@op
def embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of `weight` at `indices`; the other arguments matter for derivatives only.

    Raises IndexError for indices that are negative or too large.
    """
    if weight.dim() != 2:
        raise RuntimeError(f"'weight' must be 2-D, got {weight.dim()}-D")
    if indices.dtype.name not in _INDEX_TYPES:
        raise RuntimeError(
            "Expected tensor for argument 'indices' to have one of the following scalar types: "
            f"Long, Int; but got {indices.dtype.scalar_type_name} instead"
        )
    shape = (*indices.shape, weight.size(1))
    if weight.is_meta or indices.is_meta:
        return weight.new_empty(shape)
    return take(weight, 0, _contiguous(indices), False)


@op
def gather(self: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """out[i][j][k] = self[index[i][j][k]][j][k] for dim 0, and so on.

    Raises RuntimeError where `index` is larger than `self` in other dimensions or out of range.
    """
    dim = wrap_dimension(dim, self.dim())
    if index.dtype.name not in _INDEX_TYPES:
        raise RuntimeError("gather(): Expected dtype int32/int64 for index")
    if index.numel() == 0 or self.is_meta:
        return self.new_empty(index.shape)
    if max(index.dim(), 1) != max(self.dim(), 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    source, place = _at_least_vector(as_bits(self)), _at_least_vector(as_array(index))
    for other, size in enumerate(place.shape):
        if other != dim and size > source.shape[other]:
            raise RuntimeError(
                f"Size does not match at dimension {other} expected index {list(index.shape)} to "
                f"be no larger than self {list(self.shape)} apart from dimension {dim}"
            )
    _check_gathered(place, dim, source.shape[dim])
    import numpy

    within = tuple(
        _WHOLE if other == dim else slice(size) for other, size in enumerate(place.shape)
    )
    picked = numpy.take_along_axis(source[within], place.astype(numpy.int64), axis=dim)
    return from_bits(picked.reshape(tuple(index.shape)), self)


def _at_least_vector(array: Any) -> Any:
    return array.reshape(1) if array.ndim == 0 else array


def _check_gathered(index: Any, dim: int, size: int) -> None:
    least, greatest = int(index.min()), int(index.max())
    if least < 0 or greatest >= size:
        wrong = least if least < 0 else greatest
        raise RuntimeError(f"index {wrong} is out of bounds for dimension {dim} with size {size}")


@op
def index_copy(self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    place = wrap_dimension(dim, self.dim())
    if index.dim() > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.dim()})")
    if self.dtype is not source.dtype:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{self.dtype.scalar_type_name} and (source) {source.dtype.scalar_type_name}"
        )
    if index.dtype.name != "int64":
        raise IndexError(
            "index_copy_(): Expected a long tensor for index, but got "
            f"{index.dtype.scalar_type_name}"
        )
    if self.dim() == 0:
        return self.clone().copy_(source.reshape(()))
    count = source.shape[place] if source.dim() else 1
    if count != index.numel():
        raise IndexError(
            f"index_copy_(): Number of indices ({index.numel()}) should be equal to "
            f"source.size(dim) ({count})"
        )
    indices = [None] * place + [index.reshape(-1)]
    return ops.aten.index_put(self, indices, source)  # type: ignore[no-any-return]


@op("masked_fill.Tensor", check=scalar_fill)
def masked_fill_by_tensor(self: Value, mask: Value, value: Value) -> Value:
    return masked_fill(self, mask, value)


@op
def masked_fill(self: Value, mask: Value, value: Value) -> Value:
    if mask.dtype.name != "bool":
        raise RuntimeError(
            f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype.name}"
        )
    return p.where(mask, converted(value, self.dtype), self)


@op
def masked_select(self: Tensor, mask: Tensor) -> Tensor:
    """The elements, in order, where `mask`, broadcast with `self`, is true; 1-d."""
    import numpy

    if mask.dtype.name != "bool":
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    if self.is_meta:
        raise NotImplementedError("masked_select: the mask is not known on the meta device")
    bits, chosen = numpy.broadcast_arrays(as_bits(self), as_array(mask))
    return from_bits(bits[chosen], self)


@op
def nonzero(self: Tensor) -> Tensor:
    """The indices of elements that are not zero, one row each, in row-major order."""
    if self.is_meta:
        raise NotImplementedError("nonzero: the elements are not known on the meta device")
    import numpy

    found = numpy.argwhere(as_array(self.ne(0)))
    return from_bits(found.astype(numpy.int64), self, DTYPES["int64"])

"""Picking and placing elements by index tensors and masks, in any mix of dimensions.

The indexed dimensions become one, in front; an index into that is what `gather` and `scatter` of
the primitives take. Indices out of range lead outside of it, and are refused there.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from aten._core.base.errors import NoElementsError
from aten._core.tensor.making import has_data
from aten._core.tensor.tensor import Tensor
from aten._core.tensor.tensor_impl import wrap_dimension
from aten.ops.definition import op
from aten.ops.indexing.scatter import (
    INDEX_TYPES,
    INT64,
    as_int64,
    at_least_vector,
    checked_vector,
    in_order_of,
    spread,
)
from aten.ops.unknown_sizes import unknown_count
from aten.prims import Number
from aten.registry import ops

Indices = Sequence[Tensor | None]

MASK_TYPES = ("bool", "uint8")


def common_shape(
    shapes: Sequence[Sequence[int]], error: type[Exception] = IndexError
) -> tuple[int, ...]:
    """What the shapes broadcast to. Raises `error` where they do not."""
    rank = max(len(shape) for shape in shapes)
    common = [1] * rank
    for shape in shapes:
        for place, size in enumerate(shape, rank - len(shape)):
            if common[place] == 1:
                common[place] = size
            elif size not in (1, common[place]):
                listed = ", ".join(str(list(one)) for one in shapes)
                raise error(f"shape mismatch: {listed} cannot be broadcast together")
    return tuple(common)


def check_mask(self: Tensor, mask: Tensor, position: int, dim: int) -> None:
    """Raises IndexError where the sizes of a mask are not those of `self` from `dim` on,
    NoElementsError for a mask without data."""
    if not has_data(mask):
        raise NoElementsError("index: a mask's elements are not known on the meta device")
    check_mask_sizes(self, mask, position, dim)


def check_mask_sizes(self: Tensor, mask: Tensor, position: int, dim: int) -> None:
    """Raises IndexError where the sizes of a mask are not those of `self` from `dim` on."""
    for place, size in enumerate(mask.shape):
        if dim + place >= self.dim() or self.size(dim + place) != size:
            raise IndexError(
                f"The shape of the mask {list(mask.shape)} at index {place} does not match the "
                f"shape of the indexed tensor {list(self.shape)} at index {dim + place}"
            )


def with_known_masks(self: Tensor, indices: Indices) -> Indices:
    """Indices in the place of masks without data, as many as are said to be chosen.

    Where other indices say how many there are, masks choose as many. Raises NoElementsError where
    nobody says, IndexError where the sizes of a mask are not those of `self`.
    """
    masks = [one for one in indices if one is not None and is_unknown_mask(one)]
    if not masks:
        return indices
    others = [one for one in indices if one is not None and one.dtype.name in INDEX_TYPES]
    count = common_shape([one.shape for one in others])[-1:] if others else ()
    if not count or count[0] == 1:
        count = (unknown_count("index", *masks),)
    made: list[Tensor | None] = []
    for position, one in enumerate(indices):
        if one is None or not is_unknown_mask(one):
            made.append(one)
            continue
        check_mask_sizes(self, one, position, len(made))
        made.extend(one.new_empty(count, dtype=INT64) for _ in range(one.dim()))
    return made


def is_unknown_mask(index: Tensor) -> bool:
    """Whether the index is a mask of which nobody knows how many elements it names."""
    return index.dtype.name in MASK_TYPES and not has_data(index)


def check_put(self: Tensor, values: Tensor) -> None:
    """Raises RuntimeError for values of another dtype."""
    if values.dtype is not self.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{self.dtype.scalar_type_name} for the destination and "
            f"{values.dtype.scalar_type_name} for the source."
        )


def expanded_values(values: Tensor, shape: Sequence[int]) -> Tensor:
    """`values` in the shape that indexing gives. Raises RuntimeError where they do not fit."""
    try:
        # Ones in front of the shape count for nothing.
        extra = max(values.dim() - len(shape), 0)
        if extra and all(size == 1 for size in values.shape[:extra]):
            values = values.reshape(values.shape[extra:])
        return values.expand(shape)
    except RuntimeError:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to "
            f"indexing result of shape {list(shape)}"
        ) from None


class _Choice:
    """`self` with the indexed dimensions joined in front, and the index into them."""

    def __init__(self, self_: Tensor, indices: Indices) -> None:
        # Indices may come from the host, as NumPy's and lists do.
        there = [one if one is None else one.to(self_.device) for one in indices]
        plain = _without_masks(self_, there)
        if len(plain) > self_.dim():
            raise IndexError(
                f"too many indices for tensor of dimension {self_.dim()} (got {len(plain)})"
            )
        dims = [dim for dim, one in enumerate(plain) if one is not None]
        given = [one for one in plain if one is not None]
        shape = common_shape([one.shape for one in given])
        self.rest = [dim for dim in range(self_.dim()) if dim not in dims]
        self.order = (*dims, *self.rest)
        self.sizes = self_.shape
        self.indexed = shape
        self.kept = tuple(self_.shape[dim] for dim in self.rest)
        counts = [self_.shape[dim] for dim in dims]
        self.count = prod(counts)
        together = dims == list(range(dims[0], dims[-1] + 1))
        # Where the dimensions of the index go: to the first of those indexed, or to the front.
        self.front = dims[0] if together else 0
        self.flat = self_.permute(self.order).reshape((self.count, prod(self.kept)))
        self.places = _joined(given, counts, self.count, shape)

    def window(self) -> Tensor:
        """The index for each element that is chosen: (elements, what is kept)."""
        vector = self.places.reshape((-1, 1))
        return vector.expand((vector.size(0), prod(self.kept)))

    def shape(self) -> tuple[int, ...]:
        """The shape of what indexing gives."""
        return (*self.kept[: self.front], *self.indexed, *self.kept[self.front :])

    def arranged(self, chosen: Tensor) -> Tensor:
        """Rows of chosen elements in the shape that indexing gives."""
        made = chosen.reshape((*self.indexed, *self.kept))
        rank, front = len(self.indexed), self.front
        order = (
            *range(rank, rank + front),
            *range(rank),
            *range(rank + front, rank + len(self.kept)),
        )
        return made.permute(order).contiguous()

    def rows(self, values: Tensor) -> Tensor:
        """What `arranged` makes, as rows again."""
        rank, front = len(self.indexed), self.front
        order = (
            *range(front, front + rank),
            *range(front),
            *range(front + rank, values.dim()),
        )
        return values.permute(order).reshape((prod(self.indexed), prod(self.kept)))

    def restored(self, flat: Tensor) -> Tensor:
        """The joined dimensions apart again, where they were."""
        made = flat.reshape(tuple(self.sizes[dim] for dim in self.order))
        back = [self.order.index(dim) for dim in range(len(self.order))]
        return made.permute(back)


def _joined(given: list[Tensor], counts: list[int], count: int, shape: tuple[int, ...]) -> Tensor:
    """The place among all indexed elements; `count`, which is none, for indices out of range."""
    place: Tensor | None = None
    for one, size in zip(given, counts, strict=True):
        index = as_int64(one)
        index = ops.aten.where.self(index < 0, index + size, index)
        wrong = (index < 0).logical_or(index >= size)
        # Times the sizes to come, it is beyond all elements.
        index = index.masked_fill(wrong, count)
        place = index if place is None else place * size + index
    assert place is not None
    bounded = place.clamp(max=count)
    return bounded.expand(shape)


def _without_masks(self: Tensor, indices: Indices) -> list[Tensor | None]:
    """The indices with integers in place of masks."""
    plain: list[Tensor | None] = []
    for position, one in enumerate(indices):
        if one is None or one.dtype.name in INDEX_TYPES:
            plain.append(one)
            continue
        if one.dtype.name not in MASK_TYPES:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        check_mask(self, one, position, len(plain))
        found = ops.aten.nonzero(one)
        plain.extend(ops.aten.unbind(found, 1) if one.dim() else [found.reshape((-1,))[:0]])
    return plain


@op("index.Tensor", exact_out=True)
def index(self: Tensor, indices: Indices) -> Tensor:
    """Elements at index tensors, broadcast together, one for each dimension or None for all of it.

    A mask of several dimensions stands for as many. The indexed dimensions go where the first of
    them was, or to the front where others lie between them. Raises IndexError for indices of other
    dtypes, that are too many, out of range, or do not broadcast.
    """
    self, indices = _with_place_for_masks(self, indices)
    choice = _Choice(self, with_known_masks(self, indices))
    window = choice.window()
    if window.numel() == 0:
        return self.new_empty(choice.shape())
    return choice.arranged(ops.prims.gather(choice.flat, window, 0))


def _with_place_for_masks(self: Tensor, indices: Indices) -> tuple[Tensor, Indices]:
    """Masks without dimensions choose all or nothing: of a dimension that is put there for them."""
    if all(one is None or one.dim() or one.dtype.name in INDEX_TYPES for one in indices):
        return self, indices
    made: list[Tensor | None] = []
    for one in indices:
        if one is None or one.dim() or one.dtype.name in INDEX_TYPES:
            made.append(one)
            continue
        self = self.unsqueeze(len(made))
        made.append(one.reshape((1,)))
    return self, made


@op("_unsafe_index.Tensor")
def unsafe_index(self: Tensor, indices: Indices) -> Tensor:
    """As `index`, which is safe: the checks cost little beside the elements."""
    return ops.aten.index.Tensor(self, indices)


@op("index_put", exact_out=True)
def index_put(self: Tensor, indices: Indices, values: Tensor, accumulate: bool = False) -> Tensor:
    """Writes `values`, broadcast, to the elements `index` would give; or adds them.

    Of the values for an element that is named twice the last one stays, or all are added in turn.
    Raises what `index` raises, and RuntimeError for values of another dtype or shape.
    """
    check_put(self, values)
    if any(one is not None and is_unknown_mask(one) for one in indices):
        return self.clone()
    shape = self.shape
    self, indices = _with_place_for_masks(self, indices)
    choice = _Choice(self, indices)
    source = expanded_values(values, choice.shape())
    window = choice.window()
    if window.numel() == 0:
        return self.clone().reshape(shape)
    combine = "sum" if accumulate else "replace"
    made = ops.prims.scatter(choice.flat, window, choice.rows(source), 0, combine)
    return in_order_of(self, choice.restored(made)).reshape(shape)


@op("_index_put_impl_")
def index_put_impl(
    self: Tensor,
    indices: Indices,
    values: Tensor,
    accumulate: bool = False,
    unsafe: bool = False,
) -> Tensor:
    return self.copy_(ops.aten.index_put(self, indices, values, accumulate))


@op("_unsafe_index_put")
def unsafe_index_put(
    self: Tensor, indices: Indices, values: Tensor, accumulate: bool = False
) -> Tensor:
    return ops.aten.index_put(self, indices, values, accumulate)


def _clamped(self: Tensor, mask: Tensor, indices: Indices) -> list[Tensor | None]:
    if mask.dtype.name != "bool":
        raise RuntimeError(f"expected a mask of bools, got {mask.dtype.scalar_type_name}")
    for one in indices:
        if one is not None and one.dtype.name not in INDEX_TYPES:
            raise IndexError("tensors used as indices must be long or int tensors")
    return [
        None if one is None else one.clamp(min=0, max=self.size(dim) - 1)
        for dim, one in enumerate(indices)
    ]


@op("_unsafe_masked_index")
def unsafe_masked_index(self: Tensor, mask: Tensor, indices: Indices, fill: Number) -> Tensor:
    """As `index` where `mask` holds, and `fill` elsewhere, where indices may lead anywhere."""
    clamped = _clamped(self, mask, indices)
    if self.numel() == 0:
        places = common_shape([one.shape for one in clamped if one is not None])
        return ops.aten.fill_(self.new_empty(places), fill)
    picked = ops.aten.index.Tensor(self, clamped)
    return picked.masked_fill(mask.logical_not(), fill)


@op("_unsafe_masked_index_put_accumulate")
def unsafe_masked_index_put_accumulate(
    self: Tensor, mask: Tensor, indices: Indices, values: Tensor
) -> Tensor:
    """`values` added at the indices where `mask` holds; indices elsewhere may lead anywhere."""
    clamped = _clamped(self, mask, indices)
    if self.numel() == 0:
        return self.clone()
    added = values.masked_fill(mask.logical_not(), 0)
    return ops.aten.index_put(self, clamped, added, True)


def checked_selection(self: Tensor, dim: int, index: Tensor) -> tuple[int, list[int]]:
    """The dimension from the front, and the shape of what index_select gives. Raises IndexError."""
    dim = checked_vector("index_select", self, dim, index)
    shape = list(self.shape)
    if shape:
        shape[dim] = index.numel()
    elif index.dim() == 1 and index.numel() != 1:
        raise IndexError(
            f"index_select(): a tensor without dimensions takes one index, got {index.numel()}"
        )
    return dim, shape


@op("index_select", exact_out=True)
def index_select(self: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices of `dim` at the indices in a vector.

    Raises IndexError for indices that are negative or too large.
    """
    dim, shape = checked_selection(self, dim, index)
    if prod(shape) == 0:
        return self.new_empty(shape)
    window = spread(at_least_vector(as_int64(index)), shape or (1,), dim)
    return ops.prims.gather(at_least_vector(self), window, dim).reshape(shape)  # type: ignore[no-any-return]


def check_take(index: Tensor) -> None:
    """Raises RuntimeError for an index of another dtype than int64."""
    if index.dtype is not INT64:
        raise RuntimeError(
            f"take(): expected a long tensor for index, got {index.dtype.scalar_type_name}"
        )


@op("take", exact_out=True)
def take(self: Tensor, index: Tensor) -> Tensor:
    """The elements at positions among all of `self`; negative ones count from the end.

    Raises IndexError for positions out of range, RuntimeError for other dtypes than int64.
    """
    check_take(index)
    if index.numel() == 0:
        return self.new_empty(index.shape)
    if self.numel() == 0 and has_data(self):
        raise IndexError("take(): there are no elements to take")
    picked = ops.prims.gather(self.reshape((-1,)), _flat_places(self, index), 0)
    return picked.reshape(index.shape)  # type: ignore[no-any-return]


def _flat_places(self: Tensor, index: Tensor) -> Tensor:
    flat = index.reshape((-1,))
    return ops.aten.where.self(flat < 0, flat + self.numel(), flat)


def check_put_at(self: Tensor, index: Tensor, source: Tensor) -> None:
    """Raises RuntimeError or IndexError for what `put` refuses."""
    if index.dtype is not INT64:
        raise RuntimeError(
            f"put_(): expected a long tensor for index, got {index.dtype.scalar_type_name}"
        )
    if self.dtype is not source.dtype:
        raise RuntimeError(
            f"put_(): self and source must have one dtype, got {self.dtype.scalar_type_name} and "
            f"{source.dtype.scalar_type_name}"
        )
    if index.numel() != source.numel():
        raise IndexError(
            f"put_(): as many elements as indices are needed, got {source.numel()} and "
            f"{index.numel()}"
        )


@op("put", exact_out=True)
def put(self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """Writes, or adds, the elements of `source` in order to positions among all of `self`.

    Raises IndexError for positions out of range or too many, RuntimeError for other dtypes.
    """
    check_put_at(self, index, source)
    if index.numel() == 0:
        return self.clone()
    if self.numel() == 0 and has_data(self):
        raise IndexError("put_(): there are no elements to put anything in place of")
    combine = "sum" if accumulate else "replace"
    places, values = _flat_places(self, index), source.reshape((-1,))
    made = ops.prims.scatter(self.reshape((-1,)), places, values, 0, combine)
    return in_order_of(self, made.reshape(self.shape))


@op("take_along_dim", exact_out=True)
def take_along_dim(self: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """`gather` with both operands broadcast in other dimensions; or from all elements in order."""
    if indices.dtype is not INT64:
        raise RuntimeError(
            f"take_along_dim(): indices must be long, got {indices.dtype.scalar_type_name}"
        )
    if dim is None:
        return ops.aten.gather(self.reshape((-1,)), 0, indices.reshape((-1,)))
    if self.dim() != indices.dim():
        raise RuntimeError(
            f"take_along_dim(): self and indices must have the same number of dimensions, got "
            f"{self.dim()} and {indices.dim()}"
        )
    if self.dim() == 0:
        raise IndexError("take_along_dim(): a tensor without dimensions has none to take along")
    dim = wrap_dimension(dim, self.dim())
    place = ops.aten.remainder(indices, self.size(dim))
    whole = _broadcast_but(self.shape, indices.shape, dim)
    at = _broadcast_but(indices.shape, self.shape, dim)
    return ops.aten.gather(self.expand(whole), dim, place.expand(at))


def _broadcast_but(shape: Sequence[int], other: Sequence[int], dim: int) -> list[int]:
    """The common shape, with the first one's size in `dim`."""
    common = []
    for place, (size, second) in enumerate(zip(shape, other, strict=True)):
        if place != dim and 1 not in (size, second) and size != second:
            raise RuntimeError(
                f"take_along_dim(): {list(shape)} and {list(other)} do not broadcast in "
                f"dimension {place}"
            )
        common.append(size if place == dim or size != 1 else second)
    return common

"""One tensor into several: views of neighbouring pieces."""

from __future__ import annotations

from collections.abc import Sequence

from aten._core.tensor.tensor import Tensor
from aten._core.tensor.tensor_impl import wrap_dimension
from aten.ops.definition import op
from aten.registry import ops

# A list of so many views takes gigabytes.
_MOST_SECTIONS = 1 << 24


@op("split.Tensor")
@op("unsafe_split.Tensor")
def split(self: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of `split_size` along `dim`; the last one may be smaller."""
    if self.dim() == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if split_size < 0:
        raise RuntimeError(
            f"split expects split_size be non-negative, but got split_size={split_size}"
        )
    extent = self.size(dim)
    if split_size == 0 and extent != 0:
        raise RuntimeError(
            f"split_size can only be 0 if dimension size is 0, but got dimension size of {extent}"
        )
    if extent == 0:
        return (ops.aten.alias(self),)
    piece = ops.aten.slice.Tensor
    return tuple(
        piece(self, dim, start, min(start + split_size, extent), 1)
        for start in range(0, extent, split_size)
    )


@op("split.sizes")
@op("split_with_sizes")
@op("unsafe_split_with_sizes")
def split_with_sizes(self: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of these sizes along `dim`, which together must make it up."""
    if self.dim() == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    extent = self.size(dim)
    if any(size < 0 for size in split_sizes):
        raise RuntimeError(
            "split_with_sizes expects split_sizes have only non-negative entries, but got "
            f"split_sizes={list(split_sizes)}"
        )
    if sum(split_sizes) != extent:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {extent} (input tensor's "
            f"size at dimension {dim}), but got split_sizes={list(split_sizes)}"
        )
    return _cut(self, split_sizes, dim)


def _cut(self: Tensor, lengths: Sequence[int], dim: int) -> tuple[Tensor, ...]:
    pieces = []
    start = 0
    for length in lengths:
        pieces.append(ops.aten.slice.Tensor(self, dim, start, start + length, 1))
        start += length
    return tuple(pieces)


@op
def chunk(self: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` pieces of equal size along `dim`; the last one may be smaller."""
    extent = _extent_of_chunks(self, chunks, dim)
    if extent == 0:
        return ops.aten.split_with_sizes.default(self, [0] * chunks, dim)
    return ops.aten.split.Tensor(self, -(-extent // chunks), dim)


@op
def unsafe_chunk(self: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    extent = _extent_of_chunks(self, chunks, dim)
    if extent == 0:
        return ops.aten.unsafe_split_with_sizes.default(self, [0] * chunks, dim)
    return ops.aten.unsafe_split.Tensor(self, -(-extent // chunks), dim)


def _extent_of_chunks(self: Tensor, chunks: int, dim: int) -> int:
    if self.dim() == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    return self.size(dim)


@op("unbind.int")
def unbind(self: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The slices at each index of `dim`, without that dimension."""
    if self.dim() == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    dim = wrap_dimension(dim, self.dim())
    piece = ops.aten.select.int
    return tuple(piece(self, dim, index) for index in range(self.size(dim)))


@op("tensor_split.sections")
def tensor_split(self: Tensor, sections: int, dim: int = 0) -> tuple[Tensor, ...]:
    """`sections` pieces along `dim`, the first ones longer by one where they cannot be equal."""
    dim = _split_dimension("tensor_split", self, dim)
    if sections <= 0:
        raise RuntimeError(f"tensor_split: sections must be greater than 0, got {sections}")
    if sections > _MOST_SECTIONS:
        raise MemoryError(f"tensor_split: {sections} sections are more than memory holds")
    length, longer = divmod(self.size(dim), sections)
    return _cut(self, [length + (place < longer) for place in range(sections)], dim)


@op("tensor_split.indices")
def tensor_split_at(self: Tensor, indices: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces along `dim` that start at 0 and at each of `indices`, as slices do."""
    dim = _split_dimension("tensor_split", self, dim)
    piece = ops.aten.slice.Tensor
    starts, ends = (0, *indices), (*indices, self.size(dim))
    return tuple(piece(self, dim, start, end, 1) for start, end in zip(starts, ends, strict=True))


@op("tensor_split.tensor_indices_or_sections")
def tensor_split_by_tensor(
    self: Tensor, tensor_indices_or_sections: Tensor, dim: int = 0
) -> tuple[Tensor, ...]:
    """As the others; a 0-d int64 tensor tells the number of pieces, a 1-d one where they start."""
    given = tensor_indices_or_sections
    if given.dtype.name != "int64" or given.dim() > 1 or not given.is_cpu:
        raise RuntimeError(
            "tensor_split: tensor_indices_or_sections must be an int64 CPU tensor of at most one "
            f"dimension, got {given.dtype} on {given.device} with {given.dim()} dimensions"
        )
    if given.dim() == 0:
        return ops.aten.tensor_split.sections(self, int(given), dim)
    return ops.aten.tensor_split.indices(self, given.tolist(), dim)


def _split_dimension(name: str, self: Tensor, dim: int) -> int:
    if self.dim() == 0:
        raise RuntimeError(f"{name}: a 0-d tensor has no dimension to split")
    return wrap_dimension(dim, self.dim())


def _require_rank(name: str, self: Tensor, least: int) -> None:
    if self.dim() < least:
        raise RuntimeError(
            f"{name}: self must have {least} dimensions or more, but it has {self.dim()}"
        )


def _horizontal_dimension(self: Tensor) -> int:
    _require_rank("hsplit", self, 1)
    return 0 if self.dim() == 1 else 1


def _equal_pieces(name: str, self: Tensor, dim: int, sections: int) -> tuple[Tensor, ...]:
    if sections == 0 or self.size(dim) % sections:
        raise RuntimeError(
            f"{name}: dimension {dim} of size {self.size(dim)} has no {sections} equal pieces"
        )
    return ops.aten.tensor_split.sections(self, sections, dim)


@op("hsplit.int")
def hsplit(self: Tensor, sections: int) -> tuple[Tensor, ...]:
    """Equal pieces along dimension 1, or 0 of a 1-d tensor."""
    return _equal_pieces("hsplit", self, _horizontal_dimension(self), sections)


@op("hsplit.array")
def hsplit_at(self: Tensor, indices: Sequence[int]) -> tuple[Tensor, ...]:
    return ops.aten.tensor_split.indices(self, indices, _horizontal_dimension(self))


@op("vsplit.int")
def vsplit(self: Tensor, sections: int) -> tuple[Tensor, ...]:
    """Equal pieces along dimension 0."""
    _require_rank("vsplit", self, 2)
    return _equal_pieces("vsplit", self, 0, sections)


@op("vsplit.array")
def vsplit_at(self: Tensor, indices: Sequence[int]) -> tuple[Tensor, ...]:
    _require_rank("vsplit", self, 2)
    return ops.aten.tensor_split.indices(self, indices, 0)


@op("dsplit.int")
def dsplit(self: Tensor, sections: int) -> tuple[Tensor, ...]:
    """Equal pieces along dimension 2."""
    _require_rank("dsplit", self, 3)
    return _equal_pieces("dsplit", self, 2, sections)


@op("dsplit.array")
def dsplit_at(self: Tensor, indices: Sequence[int]) -> tuple[Tensor, ...]:
    _require_rank("dsplit", self, 3)
    return ops.aten.tensor_split.indices(self, indices, 2)

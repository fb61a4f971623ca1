"""Views made of other views; the compiled ones are in _core/views.pyx."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from aten._core.device import MEMORY_FORMATS, memory_format
from aten._core.tensor import Tensor, wrap_dimension
from aten._core.views import try_view
from aten.ops.definition import op
from aten.registry import ops

_CONTIGUOUS = MEMORY_FORMATS["contiguous_format"]
_PRESERVE = MEMORY_FORMATS["preserve_format"]


@op
def reshape(self: Tensor, shape: Sequence[int]) -> Tensor:
    """A view with `shape` where strides allow one, else a copy."""
    if try_view(self, shape) is None:
        self = self.clone(memory_format=_CONTIGUOUS)
    return ops.aten.view.default(self, shape)  # type: ignore[no-any-return]


@op
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    return reshape(self, other.shape)


@op
def view_as(self: Tensor, other: Tensor) -> Tensor:
    return self.view(other.shape)


@op
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    return self.expand(other.shape)


@op
def broadcast_to(self: Tensor, size: Sequence[int]) -> Tensor:
    return self.expand(size)


@op
def contiguous(self: Tensor, *, memory_format: memory_format = _CONTIGUOUS) -> Tensor:
    """`self` where it lies in this order already, else a copy that does."""
    if memory_format is _PRESERVE:
        raise RuntimeError("contiguous: preserve_format is not an order that can be asked for")
    if self.is_contiguous(memory_format):
        return self
    return self.clone(memory_format=memory_format)


@op
def ravel(self: Tensor) -> Tensor:
    return self.contiguous().view(-1)


@op
def flatten(self: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Dimensions `start_dim` to `end_dim`, both included, as one; a 0-d tensor becomes 1-d."""
    start = wrap_dimension(start_dim, self.dim())
    end = wrap_dimension(end_dim, self.dim())
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if self.dim() == 0:
        return self.reshape((1,))
    if start == end:
        return self
    shape = tuple(self.shape)
    return self.reshape((*shape[:start], prod(shape[start : end + 1]), *shape[end + 1 :]))


@op
def unflatten(self: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Dimension `dim` as several; one of `sizes` may be -1."""
    if self.dim() == 0:
        raise RuntimeError("unflatten: a 0-d tensor has no dimension to make several of")
    dim = wrap_dimension(dim, self.dim())
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    extent = self.size(dim)
    inferred = list(sizes)
    if inferred.count(-1) == 1:
        known = -prod(inferred)
        inferred[inferred.index(-1)] = extent // known if known else -1
    if -1 in inferred or prod(inferred) != extent:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} "
            f"({extent}) in the input tensor"
        )
    shape = tuple(self.shape)
    return self.view((*shape[:dim], *inferred, *shape[dim + 1 :]))


@op("narrow")
def narrow(self: Tensor, dim: int, start: int, length: int) -> Tensor:
    """`length` indices of `dim` from `start` on; a negative `start` counts from the end."""
    if self.dim() == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError(f"narrow(): length must be non-negative, got {length}")
    extent = self.size(dim)
    if not -extent <= start <= extent:
        raise IndexError(
            f"start out of range (expected to be in range of [{-extent}, {extent}], but got "
            f"{start})"
        )
    if start < 0:
        start += extent
    if start > extent - length:
        raise RuntimeError(
            f"start ({start}) + length ({length}) exceeds dimension size ({extent})."
        )
    return ops.aten.slice.Tensor(self, dim, start, start + length, 1)  # type: ignore[no-any-return]


@op("narrow.Tensor")
def narrow_from_tensor(self: Tensor, dim: int, start: Tensor, length: int) -> Tensor:
    if start.dim() != 0 or start.is_floating_point() or start.is_complex():
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    return narrow(self, dim, int(start), length)


@op("split.Tensor")
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
    pieces = []
    start = 0
    for size in split_sizes:
        pieces.append(ops.aten.slice.Tensor(self, dim, start, start + size, 1))
        start += size
    return tuple(pieces)


@op
def chunk(self: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` pieces of equal size along `dim`; the last one may be smaller."""
    if self.dim() == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    extent = self.size(dim)
    if extent == 0:
        return split_with_sizes(self, [0] * chunks, dim)
    return split(self, -(-extent // chunks), dim)


@op("unbind.int")
def unbind(self: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The slices at each index of `dim`, without that dimension."""
    if self.dim() == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    dim = wrap_dimension(dim, self.dim())
    piece = ops.aten.select.int
    return tuple(piece(self, dim, index) for index in range(self.size(dim)))


@op("movedim.int")
def movedim(self: Tensor, source: int, destination: int) -> Tensor:
    return movedims(self, (source,), (destination,))


@op("movedim.intlist")
def movedims(self: Tensor, source: Sequence[int], destination: Sequence[int]) -> Tensor:
    """Dimensions `source` at the places `destination`; the others keep their order."""
    if len(source) != len(destination):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(source)} dims) should "
            f"contain the same number of dims as destination ({list(destination)} dims)"
        )
    rank = self.dim()
    sources = [wrap_dimension(dim, rank) for dim in source]
    destinations = [wrap_dimension(dim, rank) for dim in destination]
    for name, dims in (("source", sources), ("destination", destinations)):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({dims})")
    if rank == 0:
        return ops.aten.alias(self)  # type: ignore[no-any-return]
    placed = dict(zip(destinations, sources, strict=True))
    others = iter(dim for dim in range(rank) if dim not in sources)
    order = [placed[place] if place in placed else next(others) for place in range(rank)]
    return self.permute(order)

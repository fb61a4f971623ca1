"""Views made of other views; the compiled ones are in _core/views/views.pyx."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import prod

from aten._core.base.device import MEMORY_FORMATS, memory_format
from aten._core.tensor.tensor import Tensor
from aten._core.tensor.tensor_impl import wrap_dimension
from aten._core.views.views import try_view
from aten.ops.definition import op
from aten.registry import ops

_CONTIGUOUS = MEMORY_FORMATS["contiguous_format"]
_PRESERVE = MEMORY_FORMATS["preserve_format"]


@op
def reshape(self: Tensor, shape: Sequence[int]) -> Tensor:
    """A view with `shape` where strides allow one, else a copy."""
    if try_view(self, shape) is None:
        self = self.clone(memory_format=_CONTIGUOUS)
    return ops.aten.view.default(self, shape)


@op("view_copy")
@op("_reshape_copy")
def view_copy(self: Tensor, size: Sequence[int]) -> Tensor:
    """`reshape` that always copies."""
    return self.clone(memory_format=_CONTIGUOUS).view(size)


@op
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    return ops.aten.reshape.default(self, other.shape)


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
    return ops.aten.slice.Tensor(self, dim, start, start + length, 1)


@op("narrow.Tensor")
def narrow_from_tensor(self: Tensor, dim: int, start: Tensor, length: int) -> Tensor:
    if start.dim() != 0 or start.dtype.kind not in ("signed", "unsigned"):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    return ops.aten.narrow.default(self, dim, int(start), length)


@op("movedim.int")
def movedim(self: Tensor, source: int, destination: int) -> Tensor:
    return ops.aten.movedim.intlist(self, (source,), (destination,))


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
        return ops.aten.alias(self)
    placed = dict(zip(destinations, sources, strict=True))
    others = iter(dim for dim in range(rank) if dim not in sources)
    order = [placed[place] if place in placed else next(others) for place in range(rank)]
    return self.permute(order)


@op
def narrow_copy(self: Tensor, dim: int, start: int, length: int) -> Tensor:
    """`narrow` as a copy; a dimension past the last is RuntimeError here."""
    if self.dim() and dim >= self.dim():
        raise RuntimeError(f"narrow_copy: self has {self.dim()} dimensions, so dim is not {dim}")
    return narrow(self, dim, start, length).clone(memory_format=_CONTIGUOUS)


@op
def numpy_T(self: Tensor) -> Tensor:  # noqa: N802
    """The dimensions in reverse order. Warns (UserWarning) unless there are two."""
    if self.dim() not in (0, 2):
        warnings.warn(
            f"numpy_T: reversing {self.dim()} dimensions by .T is deprecated; permute says which "
            "order is meant",
            UserWarning,
            stacklevel=2,
        )
    return self.permute(tuple(range(self.dim() - 1, -1, -1)))


@op
def mT(self: Tensor) -> Tensor:  # noqa: N802
    """The last two dimensions exchanged; a 0-d tensor as it is. Raises RuntimeError for 1-d."""
    return _matrix_transposed("mT", self)


@op("adjoint")
@op("mH")
def adjoint(self: Tensor) -> Tensor:
    """`mT` with complex numbers conjugated. Raises RuntimeError for 1-d tensors."""
    return _matrix_transposed("adjoint", self).conj()


@op
def matrix_H(self: Tensor) -> Tensor:  # noqa: N802
    """The adjoint of one matrix. Raises RuntimeError for 1-d tensors and for batches."""
    if self.dim() == 0:
        return self.conj()
    if self.dim() != 2:
        raise RuntimeError(f"H: self must be a matrix, but it has {self.dim()} dimensions")
    return self.transpose(0, 1).conj()


def _matrix_transposed(name: str, self: Tensor) -> Tensor:
    if self.dim() == 0:
        return self.view(())
    if self.dim() < 2:
        raise RuntimeError(
            f"{name}: self must be a matrix or a batch of them, but it has {self.dim()} dimensions"
        )
    return self.transpose(-2, -1)


@op("atleast_1d")
def atleast_1d(self: Tensor) -> Tensor:
    """The tensor with dimensions of size 1 in front, where it has none."""
    return self.reshape((1,)) if self.dim() == 0 else self


@op("atleast_2d")
def atleast_2d(self: Tensor) -> Tensor:
    """The tensor with dimensions of size 1 in front, up to two."""
    return self.reshape((1, 1)) if self.dim() == 0 else _with_rows(self)


@op("atleast_3d")
def atleast_3d(self: Tensor) -> Tensor:
    """The tensor as a stack of one matrix: a vector becomes its row, the stack's dimension last."""
    rows: Tensor = ops.aten.atleast_2d.default(self)
    return rows.unsqueeze(-1) if rows.dim() == 2 else rows


def _with_rows(self: Tensor) -> Tensor:
    return self.unsqueeze(0) if self.dim() == 1 else self


@op("atleast_1d.Sequence")
def atleast_1d_each(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    return tuple(ops.aten.atleast_1d.default(tensor) for tensor in tensors)


@op("atleast_2d.Sequence")
def atleast_2d_each(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    return tuple(ops.aten.atleast_2d.default(tensor) for tensor in tensors)


@op("atleast_3d.Sequence")
def atleast_3d_each(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    return tuple(ops.aten.atleast_3d.default(tensor) for tensor in tensors)


@op("lift")
@op("lift_fresh")
def lift(self: Tensor) -> Tensor:
    """The tensor itself: there are no wrappers to lift it into."""
    return self


@op
def _reshape_alias(self: Tensor, size: Sequence[int], stride: Sequence[int]) -> Tensor:
    return self.as_strided(size, stride)


@op
def sum_to_size(self: Tensor, size: Sequence[int]) -> Tensor:
    """The sum over all dimensions that broadcasting `size` to the tensor's shape would repeat.

    Raises RuntimeError where `size` does not broadcast to that shape.
    """
    if not size:
        return self.sum()
    leading = self.dim() - len(size)
    wanted = (1,) * leading + tuple(size)
    if leading < 0 or any(
        target not in (1, extent) for target, extent in zip(wanted, self.shape, strict=True)
    ):
        raise RuntimeError(
            f"sum_to_size: size {list(size)} does not broadcast to {list(self.shape)}, the shape "
            "of self"
        )
    repeated = [
        dim
        for dim, extent in enumerate(self.shape)
        if dim < leading or (wanted[dim] == 1 and extent != 1)
    ]
    return self.sum(repeated, keepdim=True).view(size) if repeated else self

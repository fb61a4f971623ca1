"""Several tensors into one."""

from __future__ import annotations

from collections.abc import Sequence

from aten._core.base.device import memory_format
from aten._core.base.dtypes import can_cast
from aten._core.tensor import memory
from aten._core.tensor.promotion import result_type
from aten._core.tensor.tensor import Tensor
from aten._core.tensor.tensor_impl import wrap_dimension
from aten.ops.definition import op
from aten.ops.memory_order import suggested_format
from aten.registry import ops


@op
def cat(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The tensors one after the other along `dim`; 1-d tensors without elements are left out, and
    nobody looks at `dim` where all are such.

    Raises ValueError for an empty list, RuntimeError for other sizes that differ and for 0-d
    tensors, IndexError for a dimension out of range.
    """
    if not tensors:
        raise ValueError("cat(): expected a non-empty list of Tensors")
    for position, tensor in enumerate(tensors):
        if tensor.dim() == 0:
            raise RuntimeError(
                f"zero-dimensional tensor (at position {position}) cannot be concatenated"
            )
    _check_out(out, tensors)
    joined = [tensor for tensor in tensors if tuple(tensor.shape) != (0,)]
    first = joined[0] if joined else tensors[0]
    dim = wrap_dimension(dim, first.dim()) if joined else 0
    _check_sizes(tensors, first, dim)
    sizes = list(first.shape)
    sizes[dim] = sum(tensor.size(dim) for tensor in joined)
    return _joined(tensors, dim, sizes, _order(tensors), out)


@op
def concat(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Another name of `cat`."""
    if out is None:
        return ops.aten.cat.default(tensors, dim)
    return ops.aten.cat.out(tensors, dim, out=out)


def _joined(
    tensors: Sequence[Tensor],
    dim: int,
    sizes: Sequence[int],
    order: memory_format | None,
    out: Tensor | None,
) -> Tensor:
    """The tensors copied into `out`, or a fresh tensor, one after the other."""
    element = result_type(*tensors)
    if out is None:
        target: Tensor = ops.aten.empty.memory_format(
            sizes, dtype=element, device=tensors[0].device, memory_format=order
        )
    else:
        wanted = ops.aten.empty.memory_format(
            sizes, dtype=element, device="meta", memory_format=order
        )
        memory.write_out("cat", out, wanted, lambda into, _: _fill(into, tensors, dim))
        return out
    _fill(target, tensors, dim)
    return target


def _fill(target: Tensor, tensors: Sequence[Tensor], dim: int) -> None:
    """Copy the tensors into `target`, one after the other; those of other ranks are left out."""
    start = 0
    piece, copy = ops.aten.slice.Tensor, ops.aten.copy_.default
    for tensor in tensors:
        if tensor.dim() != target.dim():
            continue
        end = start + tensor.size(dim)
        if end > start:
            copy(piece(target, dim, start, end, 1), tensor)
        start = end


def _check_out(out: Tensor | None, tensors: Sequence[Tensor]) -> None:
    """Raises TypeError where `out` cannot hold the result, RuntimeError where it is elsewhere."""
    if out is None:
        return
    element = result_type(*tensors)
    if not can_cast(element, out.dtype):
        raise TypeError(f"cat: a result of {element} cannot be written to an out of {out.dtype}")
    if out.device != tensors[0].device:
        raise RuntimeError(f"cat: out is on {out.device}, but tensors are on {tensors[0].device}")
    if any(tensor is out or memory.overlaps(tensor, out) for tensor in tensors):
        raise RuntimeError("cat: out shares memory with one of the tensors")


def _order(tensors: Sequence[Tensor]) -> memory_format | None:
    """The memory format all tensors have, where it is none that every tensor can have."""
    order = suggested_format(tensors[0])
    return order if all(suggested_format(one) is order for one in tensors) else None


def _check_sizes(tensors: Sequence[Tensor], first: Tensor, dim: int) -> None:
    expected = tuple(first.shape)
    for position, tensor in enumerate(tensors):
        if tensor.device != first.device:
            raise RuntimeError(
                "Expected all tensors to be on the same device, but found at least two devices, "
                f"{first.device} and {tensor.device}! (cat, tensor number {position})"
            )
        shape = tuple(tensor.shape)
        if shape == (0,):
            continue
        if len(shape) != len(expected):
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {len(expected)} and {len(shape)}"
            )
        for place, (size, wanted) in enumerate(zip(shape, expected, strict=True)):
            if size != wanted and place != dim:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size "
                    f"{wanted} but got size {size} for tensor number {position} in the list."
                )


@op
def stack(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The tensors, all of one shape, along a new dimension `dim`."""
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    _check_out(out, tensors)
    shape = tensors[0].shape
    for position, tensor in enumerate(tensors):
        if tensor.device != tensors[0].device:
            raise RuntimeError(
                f"stack: expected all tensors on one device, but found {tensors[0].device} and, at "
                f"entry {position}, {tensor.device}"
            )
        if tensor.shape != shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 "
                f"and {list(tensor.shape)} at entry {position}"
            )
    dim = wrap_dimension(dim, len(shape) + 1)
    sizes = (*shape[:dim], len(tensors), *shape[dim:])
    if dim < len(shape) and out is None:
        # Along an existing dimension, so that the tensors' memory format is kept.
        return cat(tensors, dim).view(sizes)
    return _joined([tensor.unsqueeze(dim) for tensor in tensors], dim, sizes, None, out)


def _cat(tensors: Sequence[Tensor], dim: int, out: Tensor | None) -> Tensor:
    """`cat` by way of its kernel."""
    if out is None:
        return ops.aten.cat.default(tensors, dim)
    return ops.aten.cat.out(tensors, dim, out=out)


@op
def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The tensors side by side: along dimension 1, or 0 where they are 1-d. 0-d ones become 1-d."""
    if not tensors:
        raise RuntimeError("hstack expects a non-empty TensorList")
    raised = [tensor.reshape((1,)) if tensor.dim() == 0 else tensor for tensor in tensors]
    return _cat(raised, 0 if raised[0].dim() == 1 else 1, out)


@op("vstack")
@op("row_stack")
def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The tensors one below the other: along dimension 0, 1-d ones as rows."""
    if not tensors:
        raise RuntimeError("vstack expects a non-empty TensorList")
    rows = [tensor.reshape((1, -1)) if tensor.dim() < 2 else tensor for tensor in tensors]
    return _cat(rows, 0, out)


@op
def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The tensors one behind the other: along dimension 2, vectors as rows."""
    if not tensors:
        raise RuntimeError("dstack expects a non-empty TensorList")
    return _cat([ops.aten.atleast_3d(tensor) for tensor in tensors], 2, out)


@op
def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The tensors side by side, vectors as columns."""
    if not tensors:
        raise RuntimeError("column_stack expects a non-empty TensorList")
    columns = [tensor.reshape((-1, 1)) if tensor.dim() < 2 else tensor for tensor in tensors]
    return _cat(columns, 1, out)


@op
def _chunk_cat(
    tensors: Sequence[Tensor], dim: int, num_chunks: int, *, out: Tensor | None = None
) -> Tensor:
    """Each tensor cut into `num_chunks` flat pieces along `dim`, padded with zeros, then joined.

    The result has the dimensions before `dim`, then the chunks, then their elements. Raises
    RuntimeError for tensors whose dtype, device or leading dimensions differ.
    """
    if not tensors or num_chunks < 1:
        raise RuntimeError(
            f"_chunk_cat: expected one tensor or more and one chunk or more, got {len(tensors)} "
            f"and {num_chunks}"
        )
    first = tensors[0]
    dim = wrap_dimension(dim, first.dim())
    flat = []
    for tensor in tensors:
        if tensor.dtype is not first.dtype or tensor.device != first.device:
            raise RuntimeError("_chunk_cat: tensors must agree in dtype and device")
        if tensor.numel() == 0 or tensor.dim() <= dim or tensor.shape[:dim] != first.shape[:dim]:
            raise RuntimeError(
                f"_chunk_cat: tensors must have elements and the sizes {list(first.shape[:dim])} "
                f"before dimension {dim}, got {list(tensor.shape)}"
            )
        missing = -tensor.shape[dim] % num_chunks
        padding = [0, 0] * (tensor.dim() - dim - 1) + [0, missing]
        padded = ops.aten.constant_pad_nd(tensor, padding, 0) if missing else tensor
        flat.append(padded.reshape((*tensor.shape[:dim], num_chunks, -1)))
    return _cat(flat, dim + 1, out)

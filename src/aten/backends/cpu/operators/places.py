"""What the operators that choose elements by integers share: checks, and operands lined up.

The loops, in kernels/indexing/picking.pyx, want operands of one shape; these are views with strides
of zero along the dimensions that an operand does not have.
"""

from __future__ import annotations

from collections.abc import Sequence

from aten._core.tensor.memory import check_writable, overlaps
from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.indexing import locating, picking


def check_range(
    index: Tensor,
    size: int,
    message: str,
    *,
    low: int = 0,
    error: type[Exception] = IndexError,
) -> bool:
    """Whether an index is below zero. Raises `error` for one that is not in [low, size).

    `message` may name `{index}` and `{size}`.
    """
    found = locating.range_of(index, low, size)
    if found == 2:
        raise error(message.format(index=locating.wrong_index(index, low, size), size=size))
    return found == 1


def wrapped(index: Tensor, size: int) -> Tensor:
    """The index with negative places counted from the end."""
    made = index.new_zeros(index.shape)
    locating.add_offsets(made, index, size, 1)
    return made


def spread(tensor: Tensor, shape: Sequence[int], first: int) -> Tensor:
    """`tensor` with its dimensions in the place of `first` and following ones of `shape`."""
    before, after = first, len(shape) - first - tensor.dim()
    strides = (0,) * before + tensor.stride() + (0,) * after
    return tensor.as_strided(tuple(shape), strides, tensor.storage_offset())


def along(self: Tensor, dim: int, shape: Sequence[int]) -> Tensor:
    """`self` as seen from a window of `shape`, at the first place of `dim` everywhere."""
    strides = list(self.stride())
    strides[dim] = 0
    return self.as_strided(tuple(shape), strides, self.storage_offset())


def require_apart(out: Tensor, *operands: Tensor) -> None:
    """Refuse operands that share memory with what is written, and outputs that overlap themselves.

    Raises RuntimeError.
    """
    check_writable(out)
    require_other_memory(out, *operands)


def require_other_memory(out: Tensor, *operands: Tensor) -> None:
    """Refuse operands that share memory with what is written. Raises RuntimeError."""
    for operand in operands:
        if overlaps(out, operand) and out.numel() and operand.numel():
            raise RuntimeError(
                "unsupported operation: what is written shares memory with an operand; give a "
                "clone() of one of them"
            )


def write(
    base: Tensor, index: Tensor, source: Tensor, step: int, choices: int, fold: str = ""
) -> None:
    """Place `source`, or fold it into what is there: sum, prod, amin or amax; see `picking`."""
    if fold:
        picking.fold(base, index, source, step, fold, choices)
    else:
        picking.place(base, index, source, step, choices)

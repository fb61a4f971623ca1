"""Filling and copying."""

from __future__ import annotations

from aten._core.base.errors import NoElementsError
from aten._core.tensor.making import has_data
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import converted, op
from aten.ops.value_checks import fits, scalar_tensor
from aten.prims import Number, Value
from aten.registry import ops


@op("fill.Scalar", check=fits, repeatable=True)
def fill(self: Value, value: Value) -> Value:
    return converted(value, self.dtype)


@op("fill.Tensor", check=scalar_tensor)
def fill_tensor(self: Value, value: Value) -> Value:
    return converted(value, self.dtype)


@op("zero", repeatable=True)
def zero(self: Value) -> Number:
    return 0


def _copy_without_data(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """`copy_` where `self` or `src` is on the meta device: the checks, and nothing else."""
    if has_data(self):
        raise NoElementsError("copy_: src is on the meta device and has no data to copy")
    ops.aten.empty.memory_format(src.shape, device="meta").expand(self.shape)
    return self


@op("copy_", meta=_copy_without_data)
def copy_(self: Value, src: Value, non_blocking: bool = False) -> Value:
    """A copy is there when the call returns, be it asked to block or not."""
    return converted(src, self.dtype)


@op
def copy(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """The elements of `src`, broadcast, in a window like `self` on memory of its own.

    Where elements of `self` share memory, they do not in the result.
    """
    if 0 in self.stride():
        return ops.aten.empty_like(self).copy_(src)
    reach = [(size - 1) * stride for size, stride in zip(self.shape, self.stride(), strict=True)]
    needed = self.storage_offset() + (sum(reach) + 1 if self.numel() else 0)
    memory: Tensor = self.new_empty((needed,))
    return memory.as_strided(self.shape, self.stride(), self.storage_offset()).copy_(src)


@op
def clone(self: Value) -> Value:
    return self


@op
def positive(self: Tensor) -> Tensor:
    """The tensor itself."""
    if self.dtype.kind == "bool":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return self


@op
def fill_diagonal_(self: Tensor, fill_value: Number, wrap: bool = False) -> Tensor:
    """Write a number where all indices are equal.

    With `wrap` it goes on in a matrix taller than wide, one row below each end. Raises RuntimeError
    for vectors, and for more than two dimensions of several sizes.
    """
    sizes = tuple(self.shape)
    if len(sizes) < 2:
        raise RuntimeError(f"fill_diagonal_: expected two dimensions or more, got {len(sizes)}")
    if len(sizes) > 2 and len(set(sizes)) > 1:
        raise RuntimeError(
            f"fill_diagonal_: more than two dimensions must be of one size, got {list(sizes)}"
        )
    count, step, start = min(sizes), sum(self.stride()), self.storage_offset()
    diagonals = [ops.aten.as_strided(self, (count,), (step,), start)]
    height, width = sizes[0], sizes[1]
    if wrap and len(sizes) == 2 and height > width + 1:
        rest = -(-height * width // (width + 1)) - count
        start += self.stride(0) * (width + 1)
        diagonals.append(ops.aten.as_strided(self, (rest,), (step,), start))
    # Not before both are known to lie in memory is any written to.
    for diagonal in diagonals:
        diagonal.fill_(fill_value)
    return self

"""Elements and slices without repetition, by compiled sorting and the order of bytes."""

from __future__ import annotations

import sys

from aten._core.base.dtypes import DTYPES
from aten._core.tensor.construct import tensor_from_data
from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.ordering import ordering
from aten.ops.definition import op
from aten.ops.sorting.unique import check_unique, checked_slices, comparable, results_along
from aten.registry import ops

_INT64 = DTYPES["int64"]


@op
def _unique2(
    self: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    check_unique("unique", self)
    values, places, counts = ordering.unique(self.reshape((-1,)), return_inverse, return_counts)
    return values, places.reshape(self.shape) if return_inverse else places, counts


@op
def unique_dim(
    self: Tensor,
    dim: int,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    slices, rows = checked_slices("unique_dim", self, dim)
    return results_along(slices, rows, dim, _order_of_rows(rows))


def _order_of_rows(rows: Tensor) -> Tensor:
    """The order of rows by their elements: keys with their high bytes first compare as bytes do."""
    order = list(range(len(rows)))
    if rows.numel():
        keys = _ordered_keys(rows).contiguous()
        parts = keys.view(DTYPES["uint8"]).reshape((*rows.shape, keys.itemsize))
        # The machine's own bytes begin with the lowest.
        mirrored = parts.flip([-1]).contiguous() if sys.byteorder == "little" else parts
        memory = bytes(memoryview(mirrored.untyped_storage()))
        width = rows.shape[1] * keys.itemsize
        order.sort(key=lambda row: memory[row * width : (row + 1) * width])
    made: Tensor = ops.aten.empty.memory_format((len(order),), dtype=_INT64)
    return made.copy_(tensor_from_data(order, _INT64))


def _ordered_keys(rows: Tensor) -> Tensor:
    """Integers whose bits are in the order of the elements; all NaNs are one, and greatest."""
    keys = comparable(rows)
    if not rows.dtype.is_floating_point:
        return keys if rows.dtype.kind in ("bool", "unsigned") else keys ^ _sign(keys)
    numbers = keys + 0.0  # -0.0 + 0.0 is 0.0
    signed = DTYPES["int32" if numbers.itemsize == 4 else "int64"]
    bits = numbers.contiguous().view(signed)
    ordered = ops.aten.where(bits < 0, ops.aten.bitwise_not(bits), bits ^ _sign(bits))
    return ops.aten.where(numbers.isnan(), -1, ordered)


def _sign(bits: Tensor) -> int:
    return -(1 << (8 * bits.itemsize - 1))

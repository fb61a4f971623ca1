"""Sequences of several lengths without what pads them: the rows of one step after another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

from aten._core.base.dtypes import DTYPES
from aten._core.tensor.tensor import Tensor
from aten.construction import tensor
from aten.nn.utils.permutation import invert_permutation
from aten.registry import ops

__all__ = ["PackedSequence", "pack_padded_sequence", "pad_packed_sequence"]


class _Fields(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Fields):
    """Rows `data` (sum of lengths, *), step after step, and how many sequences each step has.

    Sequences stand from the longest to the shortest; `sorted_indices` says which one is where, and
    `unsorted_indices` takes that back. Raises ValueError for batch_sizes that are not the host's.
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Self:
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("PackedSequence: batch_sizes are missing")
            data, batch_sizes = data
        if batch_sizes.device.type != "cpu":
            raise ValueError(
                f"PackedSequence: batch_sizes must be on the CPU, not on {batch_sizes.device}"
            )
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """As `Tensor.to`; the orders go along to another device."""
        data = self.data.to(*args, **kwargs)
        orders = (
            None if one is None else one.to(data.device)
            for one in (self.sorted_indices, self.unsorted_indices)
        )
        return type(self)(data, self.batch_sizes, *orders)

    def cpu(self) -> Self:
        """In the host's memory."""
        return self.to(device="cpu")

    def double(self) -> Self:
        """In float64."""
        return self.to(dtype=DTYPES["float64"])

    def float(self) -> Self:
        """In float32."""
        return self.to(dtype=DTYPES["float32"])

    def half(self) -> Self:
        """In float16."""
        return self.to(dtype=DTYPES["float16"])

    def long(self) -> Self:
        """In int64."""
        return self.to(dtype=DTYPES["int64"])

    def int(self) -> Self:
        """In int32."""
        return self.to(dtype=DTYPES["int32"])


def pack_padded_sequence(
    input: Tensor,
    lengths: Tensor | Sequence[int],
    batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:
    """Padded sequences (L, N, *), or (N, L, *) with `batch_first`, without the padding.

    With `enforce_sorted` they must come from the longest to the shortest; else they are sorted, and
    the order is kept. Raises RuntimeError for lengths that are not so, not N, below 1 or above L.
    """
    counts = lengths if isinstance(lengths, Tensor) else tensor(lengths)
    counts = counts.to(device="cpu", dtype=DTYPES["int64"])
    order = None
    if not enforce_sorted:
        counts, order = counts.sort(descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    rows = input.transpose(0, 1) if batch_first else input
    steps, batch = rows.shape[:2]
    if rows.numel() == 0:
        raise RuntimeError("pack_padded_sequence: there is nothing to pack")
    if tuple(counts.shape) != (batch,):
        raise RuntimeError(
            f"pack_padded_sequence: lengths must be {batch}, got shape {tuple(counts.shape)}"
        )
    listed = counts.tolist()
    if listed != sorted(listed, reverse=True):
        raise RuntimeError(
            "pack_padded_sequence: lengths must decrease; give enforce_sorted=False to sort them"
        )
    if listed[-1] <= 0 or listed[0] > steps:
        raise RuntimeError(
            f"pack_padded_sequence: lengths must be from 1 to {steps}, got {listed[-1]} to "
            f"{listed[0]}"
        )
    there = ops.aten.arange(listed[0]).unsqueeze(1) < counts
    data = rows[: listed[0]][there.to(input.device)]
    return PackedSequence(data, there.sum(1), order, None)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The padded sequences (L, N, *), or (N, L, *) with `batch_first`, and their lengths (N).

    Raises ValueError for a `total_length` that is less than the longest.
    """
    data, sizes, _, back = sequence
    steps = sizes.shape[0]
    if total_length is not None and total_length < steps:
        raise ValueError(
            f"pad_packed_sequence: total_length is {total_length}, and the longest sequence {steps}"
        )
    batch = int(sizes[0])
    there = ops.aten.arange(batch) < sizes.unsqueeze(1)
    lengths = there.sum(0)
    whole = data.new_full((total_length or steps, batch, *data.shape[1:]), padding_value)
    places = there.to(data.device).nonzero().unbind(1)
    padded = whole.index_put([*places], data)
    if back is not None:
        padded, lengths = padded.index_select(1, back), lengths.index_select(0, back.cpu())
    return (padded.transpose(0, 1) if batch_first else padded), lengths

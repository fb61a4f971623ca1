"""Sequences of several lengths in one tensor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from aten._core.base.device import MEMORY_FORMATS
from aten._core.tensor.tensor import Tensor
from aten.names.refusals import refuse
from aten.nn.utils.packing import PackedSequence, pack_padded_sequence, pad_packed_sequence
from aten.nn.utils.permutation import invert_permutation

_ROW_MAJOR = MEMORY_FORMATS["contiguous_format"]

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


def pad_sequence(
    sequences: Tensor | Sequence[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences (L, *) of several lengths as one tensor (longest, N, *), or (N, longest, *).

    What is left at the end, or with `padding_side="left"` at the beginning, is `padding_value`.
    Raises RuntimeError for no sequences, for other sides, and for sizes that do not agree.
    """
    listed = sequences.unbind(0) if isinstance(sequences, Tensor) else sequences
    if not isinstance(listed, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    listed = tuple(listed)
    if not listed:
        raise RuntimeError("pad_sequence: received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f'Expected padding_side to be one of left or right, but got "{padding_side}"'
        )
    first = listed[0]
    longest = max(one.shape[0] for one in listed)
    padded = first.new_full((len(listed), longest, *first.shape[1:]), padding_value)
    for number, one in enumerate(listed):
        # Rows of an iteration are views made together, which are not written to.
        row, count = padded[number], one.shape[0]
        place = row[:count] if padding_side == "right" else row[longest - count :]
        if place.shape != one.shape:
            raise RuntimeError(
                f"pad_sequence: expected sequences that differ in their first size, got "
                f"{tuple(first.shape)} and {tuple(one.shape)}"
            )
        place.copy_(one)
    if batch_first:
        return padded
    # In memory, steps come one after another.
    return padded.transpose(0, 1).contiguous()


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """The sequences of a padded tensor, each as long as `lengths` says."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [
        row[:length].clone(memory_format=_ROW_MAJOR)
        for row, length in zip(rows, lengths.tolist(), strict=True)
    ]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Sequences (L, *) of several lengths, packed. Raises what `pack_padded_sequence` does."""
    lengths = [one.shape[0] for one in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of a packed one, as they were before."""
    return unpad_sequence(*pad_packed_sequence(packed_sequences))


def __getattr__(name: str) -> Any:
    refuse(__name__, name)

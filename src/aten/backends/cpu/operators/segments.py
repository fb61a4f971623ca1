"""Runs of elements."""

from __future__ import annotations

from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.indexing.segments import check_repeats, counted_repeats, each_repeated


@op("repeat_interleave.Tensor", exact_out=True)
def repeat_interleave(repeats: Tensor, *, output_size: int | None = None) -> Tensor:
    check_repeats(repeats)
    total = counted_repeats(repeats)
    if output_size is not None and output_size != total:
        raise RuntimeError(f"repeat_interleave: output_size is {output_size}, not {total}")
    return each_repeated(repeats, total)

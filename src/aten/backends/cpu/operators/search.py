"""Looking values up among sorted ones, which kernels/indexing/searching.pyx does."""

from __future__ import annotations

from aten._core.base.dtypes import DTYPES
from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.indexing.searching import search_sorted
from aten.ops.definition import op
from aten.ops.indexing.scatter import INT64
from aten.ops.sorting.search import checked_search

# The types whose loops are compiled, for the others.
_SEARCHED = {
    "uint8": "int64",
    "int8": "int64",
    "int16": "int64",
    "int32": "int64",
    "float16": "float32",
    "bfloat16": "float32",
}


@op("searchsorted.Tensor", exact_out=True)
def searchsorted(
    sorted_sequence: Tensor,
    self: Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    common = checked_search(sorted_sequence, self, right, side, sorter)
    made = self.new_empty(self.shape, dtype=INT64)
    wide = DTYPES[_SEARCHED.get(common.name, common.name)]
    search_sorted(
        sorted_sequence.to(wide).contiguous(),
        self.to(wide).contiguous(),
        None if sorter is None else sorter.contiguous(),
        made,
        right or side == "right",
    )
    return made.to(DTYPES["int32"]) if out_int32 else made

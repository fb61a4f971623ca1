"""How often numbers occur, which kernels/indexing/counting.pyx finds in one pass."""

from __future__ import annotations

from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.indexing.counting import count_numbers
from aten.ops.definition import op
from aten.ops.indexing import segments


@op("bincount", exact_out=True)
def bincount(self: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each of the numbers 0, 1, … occurs; sums of weights are the general function's."""
    if weights is None and minlength >= 0:
        made = count_numbers(self, minlength)
        if made is not None:
            return made
    return segments.bincount(self, weights, minlength)

"""How often numbers occur, which kernels/indexing/counting.pyx finds in one pass."""

from __future__ import annotations

from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.indexing.counting import count_numbers
from aten.ops.definition import op
from aten.ops.indexing import segments
from aten.ops.reductions import histogram
from aten.prims import Number


@op("bincount", exact_out=True)
def bincount(self: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each of the numbers 0, 1, … occurs; sums of weights are the general function's."""
    if weights is None and minlength >= 0:
        made = count_numbers(self, minlength)
        if made is not None:
            return made
    return segments.bincount(self, weights, minlength)


@op
def histc(self: Tensor, bins: int = 100, min: Number = 0, max: Number = 0) -> Tensor:
    """How many elements fall into each of `bins` bins of one width between `min` and `max`."""
    places = histogram.bins_of(self, bins, min, max).reshape((-1,))
    made = count_numbers(places, bins + 1)
    counts = histogram.counts_of(places, None, bins) if made is None else made.narrow(0, 0, bins)
    return counts.to(self.dtype)

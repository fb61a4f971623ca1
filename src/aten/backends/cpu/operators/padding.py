"""The CPU's padding of large images: one copy of what is inside, then the frame around it."""

from __future__ import annotations

from collections.abc import Sequence

from aten._core.dispatch.dispatcher import OpOverload
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.windows.memory_order import ordered_like
from aten.ops.windows.padding import SMALL, by_dim, check_bordered, extended, framed, places_of
from aten.registry import ops


@op(
    "reflection_pad1d",
    "reflection_pad2d",
    "reflection_pad3d",
    "replication_pad1d",
    "replication_pad2d",
    "replication_pad3d",
)
def bordered_pad(called: OpOverload, self: Tensor, padding: Sequence[int]) -> Tensor:
    """The last dimensions of (N, C, *) or (C, *) mirrored, or with border elements repeated."""
    check_bordered(called.name, self, padding)
    if min(padding) < 0 or self.numel() < SMALL:
        return ordered_like(extended(called.name, self, padding), self)
    places = {
        dim: places_of(called.name, self.shape[dim], *counts, self.device)
        for dim, counts in by_dim(self, padding).items()
    }

    def beside(middle: Tensor, dim: int, before: int, after: int) -> tuple[Tensor, Tensor]:
        first, last = (
            places[dim].narrow(0, start, count)
            for start, count in ((0, before), (len(places[dim]) - after, after))
        )
        return _taken(middle, dim, first), _taken(middle, dim, last)

    return ordered_like(framed(self, padding, beside), self)


def _taken(middle: Tensor, dim: int, places: Tensor) -> Tensor:
    return ops.aten.index_select.default(middle, dim, places)

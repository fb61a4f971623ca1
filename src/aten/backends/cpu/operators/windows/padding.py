"""The CPU's padding with an image's own elements: one walk over the rows of the result."""

from __future__ import annotations

from collections.abc import Sequence

from aten._core.dispatch.dispatcher import OpOverload
from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.moving.framing import frame
from aten.ops.definition import op
from aten.ops.memory_order import empty_image, ordered_like
from aten.ops.windows.padding import by_dim, check_bordered, extended


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
    inside = by_dim(self, padding)
    counts = [inside.get(dim, (0, 0)) for dim in range(self.dim())]
    sizes = [size + sum(count) for size, count in zip(self.shape, counts, strict=True)]
    out = empty_image(sizes, self, self.dtype)
    mode = "reflect" if called.name.startswith("reflect") else "replicate"
    if frame(out, self, [before for before, _ in counts], mode):
        return out
    return ordered_like(extended(called.name, self, padding), self)

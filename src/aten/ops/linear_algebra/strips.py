"""Products with a matrix whose columns lie in strips, as the kernels of processors read it.

The operator is one of the namespace `fused`, which programs call and nobody else: they lay
out weights once. It is what its parts are one after the other; the CPU reads each strip from end to
end.
"""

from __future__ import annotations

from collections.abc import Callable

from aten._core.base.device import MEMORY_FORMATS
from aten._core.tensor.tensor import Tensor
from aten.registry import ops

_CONTIGUOUS = MEMORY_FORMATS["contiguous_format"]


def strips_product(
    self: Tensor,
    strips: Tensor,
    bias: Tensor | None,
    columns: int,
    low: float | None = None,
    high: float | None = None,
) -> Tensor:
    """`self @ matrix`, or `bias + self @ matrix`, where `strips` are those of the matrix; between
    `low` and `high`, of which each may be absent.

    `self` is (rows, depth), the matrix (depth, `columns`). `strips`, of (count, depth, width), are
    its columns, `width` of them side by side in each; what the last one has beyond `columns` is not
    read. `bias` is one number for each column. Raises RuntimeError where sizes do not go together,
    and what `mm` and `addmm` raise.
    """
    matrix = _joined(strips, columns)
    product: Tensor
    if bias is None:
        product = ops.aten.mm.default(self, matrix)
    else:
        product = ops.aten.addmm.default(bias, self, matrix)
    if low is None and high is None:
        return product
    limited: Tensor = ops.aten.clamp.default(product, low, high)
    return limited


def strips(self: Tensor, width: int) -> Tensor:
    """The (count, depth, `width`) strips of a (depth, columns) matrix, one behind the other.

    Zeros fill the last one. Raises RuntimeError for what is no matrix, and for no width.
    """
    if self.dim() != 2 or width < 1:
        raise RuntimeError(
            f"strips: expected a matrix and a width of at least 1, got {list(self.shape)} and "
            f"{width}"
        )
    depth, columns = self.shape
    count = -(-columns // width)
    if count * width > columns:
        self = ops.aten.constant_pad_nd.default(self, [0, count * width - columns])
    apart = ops.aten.reshape.default(self, [depth, count, width])
    turned = ops.aten.permute.default(apart, [1, 0, 2])
    made: Tensor = ops.aten.clone.default(turned, memory_format=_CONTIGUOUS)
    return made


def _joined(strips: Tensor, columns: int) -> Tensor:
    """The matrix that strips are of."""
    if strips.dim() != 3 or not 0 <= columns <= strips.shape[0] * strips.shape[2]:
        raise RuntimeError(
            f"strips_product: expected strips of 3 dimensions with {columns} columns, got "
            f"{list(strips.shape)}"
        )
    count, depth, width = strips.shape
    side_by_side = ops.aten.permute.default(strips, [1, 0, 2])
    matrix = ops.aten.reshape.default(side_by_side, [depth, count * width])
    made: Tensor = ops.aten.slice.Tensor(matrix, 1, 0, columns)
    return made


# Their schemas.
STRIPS: dict[str, Callable[..., Tensor]] = {
    "strips_product(Tensor self, Tensor strips, Tensor? bias, SymInt columns, float? low=None,"
    " float? high=None) -> Tensor": strips_product,
    "strips(Tensor self, SymInt width) -> Tensor": strips,
}

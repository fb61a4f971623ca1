"""What a program's first call does with weights that it reads just this once."""

from __future__ import annotations

from aten._core.base.device import device
from aten._core.tensor.construct import empty_strided
from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.matrix.strips import multiply_piece, width_of_strips
from aten.graph.mapping import reread
from aten.registry import ops

_CPU = device("cpu")
# Bytes of a matrix laid out at a time: they stay in the processors' second caches.
_PIECE = 1 << 21


def product(
    left: Tensor, matrix: Tensor, bias: Tensor | None, columns: int, *limits: float | None
) -> Tensor:
    """`fused::strips_product` with a matrix that does not lie in strips yet, with the same bits.

    Some strips at a time are laid out and multiplied: none of them stays, nor does what was read of
    a file.
    """
    width = width_of_strips(matrix.dtype.name, columns)
    depth = matrix.shape[0]
    step = max(1, _PIECE // (depth * width * matrix.itemsize)) * width
    if step >= columns or not left.numel():
        return _whole(left, reread(matrix), bias, columns, *limits)
    # Of a matrix whose columns lie one behind the other, each piece is a stretch of the file.
    by_columns = matrix.stride(0) == 1
    source = matrix if by_columns else reread(matrix)
    out = empty_strided((left.shape[0], columns), (columns, 1), left.dtype, _CPU)
    for first in range(0, columns, step):
        piece = ops.aten.slice.Tensor(source, 1, first, first + step)
        strips = ops.fused.strips.default(reread(piece) if by_columns else piece, width)
        if not multiply_piece(out, left, strips, bias, first, *limits):
            return _whole(left, source, bias, columns, *limits)
    return out


def _whole(
    left: Tensor, matrix: Tensor, bias: Tensor | None, columns: int, *limits: float | None
) -> Tensor:
    strips = ops.fused.strips.default(matrix, width_of_strips(matrix.dtype.name, columns))
    made: Tensor = ops.fused.strips_product.default(left, strips, bias, columns, *limits)
    return made

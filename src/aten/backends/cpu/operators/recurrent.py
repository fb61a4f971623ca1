"""Recurrent networks over whole sequences, compiled, or by the definitions where that declines."""

from __future__ import annotations

from aten._core.base.dtypes import DTYPES
from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.matrix.recurrent import lstm_steps, shares_of
from aten.ops.networks import gates as definitions
from aten.ops.networks.gates import MANY_STEPS
from aten.registry import ops

_FLOAT32 = DTYPES["float32"]


def lstm_sequence(
    added: Tensor, hidden: Tensor, cell: Tensor, weight: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """All steps of an LSTM: see `aten.ops.networks.gates.lstm_sequence`."""
    operands = (added, hidden, cell, weight)
    ordinary = (
        added.dim() == 3
        and all(one.dtype is _FLOAT32 and one.numel() for one in operands)
        and _go_together(*operands)
    )
    if ordinary:
        batch, width = cell.shape
        weights = weight.contiguous()
        if len(added) >= MANY_STEPS:
            shares = shares_of(batch, width)
            shared = ops.aten.view.default(weights, (4, shares, width // shares, width))
            weights = ops.aten.permute.default(shared, (1, 3, 0, 2)).contiguous()
        sizes = (len(added), batch, width)
        hiddens, cells = (ops.aten.new_empty(cell, sizes) for _ in range(2))
        bent = ops.aten.new_empty(cell, added.shape)
        before = hidden.contiguous(), cell.contiguous()
        if lstm_steps(added.contiguous(), *before, weights, hiddens, cells, bent):
            return hiddens, cells, bent
    return definitions.lstm_sequence(*operands)


def _go_together(added: Tensor, hidden: Tensor, cell: Tensor, weight: Tensor) -> bool:
    if cell.dim() != 2 or hidden.shape != cell.shape:
        return False
    batch, width = cell.shape
    return added.shape[1:] == (batch, 4 * width) and weight.shape == (4 * width, width)

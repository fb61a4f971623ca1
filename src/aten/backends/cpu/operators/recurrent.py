"""Recurrent networks over whole sequences, compiled, or by the definitions where that declines."""

from __future__ import annotations

from aten._core.base.dtypes import DTYPES
from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.matrix.recurrent import lstm_steps, units_of_a_block
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
        and _go_together(added, hidden, cell)
        and weight.shape == (4 * cell.shape[1], cell.shape[1])
    )
    if ordinary:
        weights = weight.contiguous()
        if len(added) >= MANY_STEPS:
            weights = _in_blocks(weights, len(cell))
        made = _stepped(added, hidden, cell, weights)
        if made is not None:
            return made
    return definitions.lstm_sequence(*operands)


def lstm_blocks_sequence(
    added: Tensor, hidden: Tensor, cell: Tensor, blocks: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The same of weights in blocks: see `aten.ops.networks.gates.lstm_blocks_sequence`."""
    operands = (added, hidden, cell, blocks)
    ordinary = (
        added.dim() == 3
        and blocks.dim() == 4
        and blocks.is_contiguous()
        and all(one.dtype is _FLOAT32 and one.numel() for one in operands)
        and _go_together(added, hidden, cell)
        and blocks.shape[1:3] == (4, cell.shape[1])
        and len(blocks) == -(-cell.shape[1] // blocks.shape[3])
    )
    made = _stepped(*operands) if ordinary else None
    return definitions.lstm_blocks_sequence(*operands) if made is None else made


def _stepped(
    added: Tensor, hidden: Tensor, cell: Tensor, weights: Tensor
) -> tuple[Tensor, Tensor, Tensor] | None:
    """The steps by the kernel; None where it declines."""
    hiddens, cells = (ops.aten.new_empty(cell, (len(added), *cell.shape)) for _ in range(2))
    gates = ops.aten.new_empty(cell, added.shape)
    before = hidden.contiguous(), cell.contiguous()
    if not lstm_steps(added.contiguous(), *before, weights, hiddens, cells, gates):
        return None
    return hiddens, cells, gates


def _in_blocks(weights: Tensor, batch: int) -> Tensor:
    """Row-major weights, (4 * width, width), as the kernel reads them."""
    width = weights.shape[1]
    units = units_of_a_block(width, batch)
    whole, rest = divmod(width, units)
    made = ops.aten.new_empty(weights, (whole + (rest > 0), 4, width, units))
    gates = ops.aten.view.default(weights, (4, width, width))
    narrow, copy, permute = ops.aten.narrow.default, ops.aten.copy_, ops.aten.permute.default
    parted = narrow(gates, 1, 0, whole * units).view(4, whole, units, width)
    copy(narrow(made, 0, 0, whole), permute(parted, (1, 0, 3, 2)))
    if rest:
        last = ops.aten.zero_(made[whole])
        copy(narrow(last, 2, 0, rest), narrow(gates, 1, whole * units, rest).mT)
    return made


def _go_together(added: Tensor, hidden: Tensor, cell: Tensor) -> bool:
    if cell.dim() != 2 or hidden.shape != cell.shape:
        return False
    batch, width = cell.shape
    return added.shape[1:] == (batch, 4 * width)

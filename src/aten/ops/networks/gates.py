"""What gates of recurrent networks make of a state, and a layer's steps over a whole sequence.

They are operators of the namespace `fused`, which only cells and layers call. Those of `GATES` are
pointwise, each one walk over its operands, with derivatives that come from these definitions.
"""

from __future__ import annotations

from collections.abc import Callable

from aten._core.base.device import MEMORY_FORMATS
from aten._core.tensor.tensor import Tensor
from aten.prims import Value
from aten.prims import elementwise as p
from aten.registry import ops

_ROWS = MEMORY_FORMATS["contiguous_format"]
# Steps from which on weights are turned once for all of them.
MANY_STEPS = 4


def lstm_cell_state(entering: Value, keeping: Value, candidate: Value, state: Value) -> Value:
    """The cell state after a step of an LSTM; the first three are what its gates are made of."""
    return p.sigmoid(keeping) * state + p.sigmoid(entering) * p.tanh(candidate)


def lstm_hidden_state(leaving: Value, state: Value) -> Value:
    """What of the cell state an LSTM shows."""
    return p.sigmoid(leaving) * p.tanh(state)


def lstm_gates(made: Value, curved: Value) -> Value:
    """The gates of an LSTM, a sigmoid where `curved` is 0 and a tanh where it is 1.

    Both are quotients by 2 + exp(-kx) - 1, with k of 1 or 2, so that neither loses small values.
    """
    less = p.expm1(p.minimum(-(1 + curved) * made, 80.0))
    return (1 - curved - curved * less) / (2 + less)


def lstm_slopes(gates: Value, curved: Value) -> Value:
    """The derivatives of `lstm_gates`, from their results."""
    return gates - gates * gates + curved * (1 - gates)


def lstm_kept(entering: Value, keeping: Value, candidate: Value, state: Value) -> Value:
    """The cell state after a step of an LSTM, of gates."""
    return keeping * state + entering * candidate


def lstm_shown(leaving: Value, state: Value) -> Value:
    """What of the cell state an LSTM shows, of a gate."""
    return leaving * p.tanh(state)


def lstm_passed(leaving: Value, bent: Value) -> Value:
    """The derivative of what is shown by the cell state, of whose tanh is given."""
    return leaving * (1 - bent * bent)


def lstm_spread(factors: Value, inside: Value, shown: Value, within: Value) -> Value:
    """Gradients of what the gates are made of: of that of the cell state where `within` is 1."""
    return factors * p.where(within > 0, inside, shown)


def gru_candidate(reset: Value, input: Value, hidden: Value) -> Value:
    """What a GRU's state moves to, from what the input and the state before say."""
    return p.tanh(input + p.sigmoid(reset) * hidden)


def gru_hidden_state(update: Value, candidate: Value, state: Value) -> Value:
    """A GRU's state after a step, between the one before and `candidate`."""
    return candidate + p.sigmoid(update) * (state - candidate)


# Their schemas.
GATES: dict[str, Callable[..., Value]] = {
    "lstm_cell_state(Tensor entering, Tensor keeping, Tensor candidate, Tensor state) -> Tensor": (
        lstm_cell_state
    ),
    "lstm_hidden_state(Tensor leaving, Tensor state) -> Tensor": lstm_hidden_state,
    "lstm_gates(Tensor made, Tensor curved) -> Tensor": lstm_gates,
    "lstm_slopes(Tensor gates, Tensor curved) -> Tensor": lstm_slopes,
    "lstm_kept(Tensor entering, Tensor keeping, Tensor candidate, Tensor state) -> Tensor": (
        lstm_kept
    ),
    "lstm_shown(Tensor leaving, Tensor state) -> Tensor": lstm_shown,
    "lstm_passed(Tensor leaving, Tensor bent) -> Tensor": lstm_passed,
    "lstm_spread(Tensor factors, Tensor inside, Tensor shown, Tensor within) -> Tensor": (
        lstm_spread
    ),
    "gru_candidate(Tensor reset, Tensor input, Tensor hidden) -> Tensor": gru_candidate,
    "gru_hidden_state(Tensor update, Tensor candidate, Tensor state) -> Tensor": gru_hidden_state,
}


def lstm_sequence(
    added: Tensor, hidden: Tensor, cell: Tensor, weight: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """All steps of an LSTM over sequences of one length, (steps, sequences, width) each.

    `added` is what the inputs add to the gates, (steps, sequences, 4 * width), `hidden` and `cell`
    the states before, `weight` (4 * width, width). The results are the hidden states, the cell
    states, and the gates. It is one operator so that the way back through it makes the gradient of
    `weight` in one product, and of the gates rather than of what they are made of.
    """
    width = cell.shape[-1]
    turned, curved = ops.aten.t(weight), curved_gates(cell)
    # A product with few rows takes longer to turn the weights than to multiply with them.
    if added.shape[0] >= MANY_STEPS:
        turned = ops.aten.clone(turned, memory_format=_ROWS)
    sums, parts = ops.aten.addmm.default, ops.aten.split.Tensor
    bend, keep, show = ops.fused.lstm_gates, ops.fused.lstm_kept, ops.fused.lstm_shown
    hiddens, cells, gates = [], [], []
    for one in ops.aten.unbind(added):
        gate = bend(sums(one, hidden, turned), curved)
        entering, keeping, candidate, leaving = parts(gate, width, 1)
        cell = keep(entering, keeping, candidate, cell)
        hidden = show(leaving, cell)
        hiddens.append(hidden)
        cells.append(cell)
        gates.append(gate)
    return ops.aten.stack(hiddens), ops.aten.stack(cells), ops.aten.stack(gates)


def lstm_blocks_sequence(
    added: Tensor, hidden: Tensor, cell: Tensor, blocks: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """`lstm_sequence` where the weight lies in blocks of units, as processors read it.

    Of width w they are (count, 4, w, units): what makes gate g of unit b * units + u from the
    states before is `blocks[b, g, :, u]`. What the last block has beyond w units is not read.
    Compiled programs lay weights out like this once. Raises RuntimeError where sizes do not go
    together.
    """
    width = cell.shape[-1]
    if blocks.dim() != 4 or blocks.shape[1] != 4 or blocks.shape[0] * blocks.shape[3] < width:
        raise RuntimeError(
            f"lstm_blocks_sequence: expected blocks of (count, 4, {width}, units) with at least "
            f"{width} units in all, got {list(blocks.shape)}"
        )
    by_gates = ops.aten.permute.default(blocks, [1, 0, 3, 2])
    apart = ops.aten.reshape.default(by_gates, [4, -1, blocks.shape[2]])
    units = ops.aten.slice.Tensor(apart, 1, 0, width)
    weight = ops.aten.reshape.default(units, [4 * width, blocks.shape[2]])
    return lstm_sequence(added, hidden, cell, weight)


def curved_gates(cell: Tensor) -> Tensor:
    """For each of an LSTM's gates, in a row, 1 where it is a tanh and 0 where a sigmoid."""
    width = cell.shape[-1]
    curved = ops.aten.new_zeros(cell, (4 * width,))
    ops.aten.fill_.Scalar(ops.aten.narrow(curved, 0, 2 * width, width), 1)
    return curved


SEQUENCES: dict[str, Callable[..., tuple[Tensor, ...]]] = {
    "lstm_sequence(Tensor added, Tensor hidden, Tensor cell, Tensor weight)"
    " -> (Tensor, Tensor, Tensor)": lstm_sequence,
    "lstm_blocks_sequence(Tensor added, Tensor hidden, Tensor cell, Tensor blocks)"
    " -> (Tensor, Tensor, Tensor)": lstm_blocks_sequence,
}

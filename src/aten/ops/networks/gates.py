"""What gates of recurrent networks make of a state, and a layer's steps over a whole sequence.

They are operators of the namespace `fused`, which only cells and layers call. Those of `GATES` are
pointwise, each one walk over its operands, with derivatives that come from these definitions.
"""

from __future__ import annotations

from collections.abc import Callable

from aten._core.tensor.tensor import Tensor
from aten.prims import Value
from aten.prims import elementwise as p
from aten.registry import ops


def lstm_cell_state(entering: Value, keeping: Value, candidate: Value, state: Value) -> Value:
    """The cell state after a step of an LSTM; the first three are what its gates are made of."""
    return p.sigmoid(keeping) * state + p.sigmoid(entering) * p.tanh(candidate)


def lstm_hidden_state(leaving: Value, state: Value) -> Value:
    """What of the cell state an LSTM shows."""
    return p.sigmoid(leaving) * p.tanh(state)


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
    "gru_candidate(Tensor reset, Tensor input, Tensor hidden) -> Tensor": gru_candidate,
    "gru_hidden_state(Tensor update, Tensor candidate, Tensor state) -> Tensor": gru_hidden_state,
}


def lstm_sequence(
    added: Tensor, hidden: Tensor, cell: Tensor, weight: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """All steps of an LSTM over sequences of one length, (steps, sequences, width) each.

    `added` is what the inputs add to the gates, (steps, sequences, 4 * width), `hidden` and `cell`
    the states before, `weight` (4 * width, width). The results are the hidden states, the cell
    states, and what the gates were made of. It is one operator so that the way back through it
    makes the gradient of `weight` in one product.
    """
    turned = ops.aten.t(weight)
    hiddens, cells, gates = [], [], []
    for one in ops.aten.unbind(added):
        made = ops.aten.addmm(one, hidden, turned)
        entering, keeping, candidate, leaving = ops.aten.split(made, cell.shape[-1], 1)
        cell = ops.fused.lstm_cell_state(entering, keeping, candidate, cell)
        hidden = ops.fused.lstm_hidden_state(leaving, cell)
        hiddens.append(hidden)
        cells.append(cell)
        gates.append(made)
    return ops.aten.stack(hiddens), ops.aten.stack(cells), ops.aten.stack(gates)


SEQUENCES: dict[str, Callable[..., tuple[Tensor, ...]]] = {
    "lstm_sequence(Tensor added, Tensor hidden, Tensor cell, Tensor weight)"
    " -> (Tensor, Tensor, Tensor)": lstm_sequence,
}

"""Recurrent networks: single steps, and layers of them over sequences.

Sequences of one batch may differ in length: then the rows of all steps lie below each other, and
`sizes` says how many sequences go on at each step. A batch of equal lengths is a case of that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.registry import ops


class _Weights(NamedTuple):
    """What one direction of one layer is made of."""

    input: Tensor
    hidden: Tensor
    input_bias: Tensor | None = None
    hidden_bias: Tensor | None = None
    projection: Tensor | None = None


State = tuple[Tensor, ...]
# From what the input adds to the gates, and the state before, to the state after.
Step = Callable[[Tensor, State, _Weights], State]


def _linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    return ops.aten.linear(input, weight, bias)


def _parts(gates: Tensor, width: int) -> Sequence[Tensor]:
    parts: Sequence[Tensor] = ops.aten.split(gates, width, 1)
    return parts


def _sum(added: Tensor, state: State, weights: _Weights) -> Tensor:
    """What input and hidden state make together; the biases are in `added`."""
    return added.addmm(state[0], weights.hidden.t())


def _tanh_step(added: Tensor, state: State, weights: _Weights) -> State:
    return (_sum(added, state, weights).tanh(),)


def _relu_step(added: Tensor, state: State, weights: _Weights) -> State:
    return (_sum(added, state, weights).relu(),)


def _lstm_step(added: Tensor, state: State, weights: _Weights) -> State:
    """Hochreiter and Schmidhuber, Long Short-Term Memory (1997), with forget gates."""
    gates = _sum(added, state, weights)
    entering, keeping, candidate, leaving = _parts(gates, gates.shape[1] // 4)
    cell = ops.fused.lstm_cell_state(entering, keeping, candidate, state[1])
    hidden = ops.fused.lstm_hidden_state(leaving, cell)
    if weights.projection is not None:
        hidden = _linear(hidden, weights.projection)
    return hidden, cell


def _gru_step(added: Tensor, state: State, weights: _Weights) -> State:
    """Cho et al., Learning Phrase Representations using RNN Encoder-Decoder (2014)."""
    own = _linear(state[0], weights.hidden, weights.hidden_bias)
    width = own.shape[1] // 3
    chosen, moving = ops.aten.split_with_sizes(added, [2 * width, width], 1)
    own_chosen, own_moving = ops.aten.split_with_sizes(own, [2 * width, width], 1)
    reset, update = _parts(chosen + own_chosen, width)
    candidate = ops.fused.gru_candidate(reset, moving, own_moving)
    return (ops.fused.gru_hidden_state(update, candidate, state[0]),)


def _added(step: Step, input: Tensor, weights: _Weights) -> Tensor:
    """What inputs (rows, width) add to the gates. Only a GRU needs the biases apart."""
    bias = weights.input_bias
    if step is not _gru_step and bias is not None and weights.hidden_bias is not None:
        bias = bias + weights.hidden_bias
    return _linear(input, weights.input, bias)


def _check_cell(name: str, input: Tensor, hidden: Tensor, weights: _Weights) -> None:
    width, length = weights.input.shape[-1], weights.hidden.shape[-1]
    if input.shape[-1:] != (width,) or hidden.shape[-1:] != (length,):
        raise RuntimeError(
            f"{name}: expected an input of width {width} and a state of {length}, but got "
            f"{list(input.shape)} and {list(hidden.shape)}"
        )
    if input.dim() != 2 or input.shape[:-1] != hidden.shape[:-1]:
        raise RuntimeError(f"{name}: {list(input.shape)} inputs for {list(hidden.shape)} states")


def _cell(name: str, step: Step, input: Tensor, state: State, *weights: Any) -> State:
    given = _Weights(*weights)
    _check_cell(name, input, state[0], given)
    return step(_added(step, input, given), state, given)


@op
def rnn_tanh_cell(input: Tensor, hx: Tensor, *weights: Tensor | None) -> Tensor:
    return _cell("rnn_tanh_cell", _tanh_step, input, (hx,), *weights)[0]


@op
def rnn_relu_cell(input: Tensor, hx: Tensor, *weights: Tensor | None) -> Tensor:
    return _cell("rnn_relu_cell", _relu_step, input, (hx,), *weights)[0]


@op
def gru_cell(input: Tensor, hx: Tensor, *weights: Tensor | None) -> Tensor:
    return _cell("gru_cell", _gru_step, input, (hx,), *weights)[0]


@op
def lstm_cell(input: Tensor, hx: Sequence[Tensor], *weights: Tensor | None) -> State:
    _check_states("lstm_cell", hx)
    return _cell("lstm_cell", _lstm_step, input, tuple(hx), *weights)


def _check_states(name: str, hx: Sequence[Tensor]) -> None:
    if len(hx) != 2:
        raise RuntimeError(f"{name}: hx must be a hidden and a cell state, not {len(hx)} tensors")


def _along(
    step: Step, added: Tensor, sizes: Sequence[int], state: State, weights: _Weights, reverse: bool
) -> tuple[Tensor, State]:
    """The hidden states of all steps below each other, and the last states.

    Sequences are sorted by length: those that end leave at the back, and in reverse join there.
    """
    steps = ops.aten.split_with_sizes(added, sizes, 0)
    hidden: list[Tensor] = []
    ended: list[State] = []
    current = tuple(one.narrow(0, 0, sizes[-1] if reverse else sizes[0]) for one in state)
    for place in reversed(range(len(sizes))) if reverse else range(len(sizes)):
        going, size = current[0].shape[0], sizes[place]
        if size < going:
            ended.append(tuple(one.narrow(0, size, going - size) for one in current))
            current = tuple(one.narrow(0, 0, size) for one in current)
        elif size > going:
            joining = (one.narrow(0, going, size - going) for one in state)
            current = _below(current, tuple(joining))
        current = step(steps[place], current, weights)
        hidden.append(current[0])
    for rest in reversed(ended):
        current = _below(current, rest)
    return ops.aten.cat(hidden[::-1] if reverse else hidden, 0), current


def _lstm_along(
    rows: Tensor, count: int, state: State, weights: _Weights, reverse: bool
) -> tuple[Tensor, State]:
    """`_along` for an LSTM over `count` steps of as many sequences each, from its inputs."""
    shape = count, state[0].shape[0]
    if reverse:
        rows = rows.unflatten(0, shape).flip(0).flatten(0, 1)
    steps = _added(_lstm_step, rows, weights).unflatten(0, shape)
    hidden, cell, _ = ops.fused.lstm_sequence(steps, *state, weights.hidden)
    last = hidden[-1], cell[-1]
    return (hidden.flip(0) if reverse else hidden).flatten(0, 1), last


def _below(first: State, second: State) -> State:
    return tuple(ops.aten.cat(pair, 0) for pair in zip(first, second, strict=True))


def _grouped(
    name: str, params: Sequence[Tensor], count: int, has_biases: bool, projected: bool
) -> Iterator[_Weights]:
    """The weights of every direction of every layer. Raises RuntimeError for another number."""
    width = 2 + 2 * has_biases + projected
    if len(params) != count * width:
        raise RuntimeError(f"{name}: expected {count * width} weights, but got {len(params)}")
    for start in range(0, len(params), width):
        first, second, *rest = params[start : start + width]
        input_bias, hidden_bias = rest[:2] if has_biases else (None, None)
        projection = rest[-1] if projected else None
        yield _Weights(first, second, input_bias, hidden_bias, projection)


def _layers(
    name: str,
    step: Step,
    rows: Tensor,
    sizes: Sequence[int],
    states: State,
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> tuple[Tensor, ...]:
    """The last layer's hidden states, a row per step and sequence, and every layer's last states.

    Each of `states` is (layers * directions, sequences, width).
    """
    if not sizes:
        raise RuntimeError(f"{name}: expected sequences of at least one step")
    directions = 1 + bidirectional
    count = num_layers * directions
    if any(one.dim() != 3 or one.shape[:2] != (count, sizes[0]) for one in states):
        raise RuntimeError(
            f"{name}: expected states ({count}, {sizes[0]}, *), but got "
            f"{[list(one.shape) for one in states]}"
        )
    projected = states[0].shape[2] != states[-1].shape[2]
    weights = list(_grouped(name, params, count, has_biases, projected))
    last: list[State] = []
    for layer in range(num_layers):
        sides = []
        for direction in range(directions):
            place = layer * directions + direction
            own, state = weights[place], tuple(one.select(0, place) for one in states)
            _check_cell(name, rows, rows.new_empty((*rows.shape[:1], state[0].shape[1])), own)
            if step is _lstm_step and not projected and sizes[-1] == sizes[0]:
                side, after = _lstm_along(rows, len(sizes), state, own, bool(direction))
            else:
                added = _added(step, rows, own)
                side, after = _along(step, added, sizes, state, own, bool(direction))
            sides.append(side)
            last.append(after)
        rows = ops.aten.cat(sides, 1) if bidirectional else sides[0]
        if dropout and train and layer + 1 < num_layers:
            rows = ops.aten.dropout(rows, dropout, train)
    return rows, *(ops.aten.stack(state, 0) for state in zip(*last, strict=True))


def _over_batch(
    name: str, step: Step, input: Tensor, states: State, *rest: Any
) -> tuple[Tensor, ...]:
    """Layers over sequences of one length: (steps, batch, *), or (batch, steps, *)."""
    if input.dim() != 3:
        raise RuntimeError(f"{name}: expected a 3-d input, but got {list(input.shape)}")
    *options, batch_first = rest
    input = input.transpose(0, 1) if batch_first else input
    steps, batch, width = input.shape
    rows = input.reshape(steps * batch, width)
    out, *last = _layers(name, step, rows, [batch] * steps, states, *options)
    out = out.view((steps, batch, out.shape[1]))
    return out.transpose(0, 1) if batch_first else out, *last


def _over_packed(
    name: str, step: Step, data: Tensor, batch_sizes: Tensor, states: State, *rest: Any
) -> tuple[Tensor, ...]:
    """Layers over sequences of several lengths, packed: `batch_sizes` counts those at each step."""
    sizes = batch_sizes.tolist()
    if batch_sizes.dim() != 1 or sorted(sizes, reverse=True) != sizes or sum(sizes) != len(data):
        raise RuntimeError(
            f"{name}: batch_sizes must fall and sum up to {list(data.shape)[:1]}: {sizes}"
        )
    return _layers(name, step, data, sizes, states, *rest)


@op("lstm.input")
def lstm(input: Tensor, hx: Sequence[Tensor], *rest: Any) -> tuple[Tensor, ...]:
    """Hidden states of the last layer, and each layer's last hidden and cell state."""
    _check_states("lstm", hx)
    return _over_batch("lstm", _lstm_step, input, tuple(hx), *rest)


@op("lstm.data")
def lstm_data(
    data: Tensor, batch_sizes: Tensor, hx: Sequence[Tensor], *rest: Any
) -> tuple[Tensor, ...]:
    """`lstm.input` for packed sequences."""
    _check_states("lstm", hx)
    return _over_packed("lstm", _lstm_step, data, batch_sizes, tuple(hx), *rest)


@op("gru.input")
def gru(input: Tensor, hx: Tensor, *rest: Any) -> tuple[Tensor, ...]:
    """Hidden states of the last layer, and each layer's last one."""
    return _over_batch("gru", _gru_step, input, (hx,), *rest)


@op("gru.data")
def gru_data(data: Tensor, batch_sizes: Tensor, hx: Tensor, *rest: Any) -> tuple[Tensor, ...]:
    """`gru.input` for packed sequences."""
    return _over_packed("gru", _gru_step, data, batch_sizes, (hx,), *rest)


@op("rnn_tanh.input")
def rnn_tanh(input: Tensor, hx: Tensor, *rest: Any) -> tuple[Tensor, ...]:
    """Hidden states of the last layer, and each layer's last one."""
    return _over_batch("rnn_tanh", _tanh_step, input, (hx,), *rest)


@op("rnn_tanh.data")
def rnn_tanh_data(data: Tensor, batch_sizes: Tensor, hx: Tensor, *rest: Any) -> tuple[Tensor, ...]:
    """`rnn_tanh.input` for packed sequences."""
    return _over_packed("rnn_tanh", _tanh_step, data, batch_sizes, (hx,), *rest)


@op("rnn_relu.input")
def rnn_relu(input: Tensor, hx: Tensor, *rest: Any) -> tuple[Tensor, ...]:
    """Hidden states of the last layer, and each layer's last one."""
    return _over_batch("rnn_relu", _relu_step, input, (hx,), *rest)


@op("rnn_relu.data")
def rnn_relu_data(data: Tensor, batch_sizes: Tensor, hx: Tensor, *rest: Any) -> tuple[Tensor, ...]:
    """`rnn_relu.input` for packed sequences."""
    return _over_packed("rnn_relu", _relu_step, data, batch_sizes, (hx,), *rest)

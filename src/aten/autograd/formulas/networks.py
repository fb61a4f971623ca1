"""Formulas of recurrent networks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from aten._core.dispatch.dispatcher import OpOverload
from aten._core.tensor.tensor import Tensor
from aten.autograd.derivation import derived
from aten.registry import ops


@cache
def _slope(name: str, wanted: str) -> OpOverload:
    """What gives the gradient of an operand of `fused::name`."""
    found = derived(getattr(ops.fused, name).default, wanted).operator
    assert found is not None
    return found


def through_lstm(
    gradients: Sequence[Tensor | None],
    hidden: Tensor,
    cell: Tensor,
    weight: Tensor,
    hiddens: Tensor,
    cells: Tensor,
    gates: Tensor,
) -> tuple[Tensor | None, ...]:
    """Back through the steps of `fused::lstm_sequence`, the last one first.

    `gradients` are of its three results, None for none.
    """
    steps = ops.aten.unbind(gates)
    states = [cell, *ops.aten.unbind(cells)]
    of_hiddens, of_cells, of_gates = (_of_steps(one, len(steps)) for one in gradients)
    carried: Tensor | None = None
    kept: Tensor | None = None
    found: list[Tensor] = []
    for step in reversed(range(len(steps))):
        entering, keeping, candidate, leaving = ops.aten.split(steps[step], cell.shape[-1], 1)
        inside = _sum(of_cells[step], kept)
        shown = _sum(of_hiddens[step], carried)
        if shown is None:
            of_leaving = ops.aten.zeros_like(cell)
        else:
            of_leaving = _slope("lstm_hidden_state", "leaving")(shown, leaving, states[step + 1])
            through = _slope("lstm_hidden_state", "state")(shown, leaving, states[step + 1])
            inside = _sum(inside, through)
        if inside is None:
            inside = ops.aten.zeros_like(cell)
        of_entering = _slope("lstm_cell_state", "entering")(inside, entering, candidate)
        of_keeping = _slope("lstm_cell_state", "keeping")(inside, keeping, states[step])
        of_candidate = _slope("lstm_cell_state", "candidate")(inside, entering, candidate)
        kept = _slope("lstm_cell_state", "state")(inside, keeping)
        made = ops.aten.cat((of_entering, of_keeping, of_candidate, of_leaving), 1)
        of_made = of_gates[step]
        made = made if of_made is None else made + of_made
        carried = ops.aten.mm(made, weight)
        found.append(made)
    of_added = ops.aten.stack(found[::-1])
    shown_before = ops.aten.cat((ops.aten.unsqueeze(hidden, 0), hiddens[:-1]))
    of_weight = ops.aten.mm(of_added.flatten(0, 1).t(), shown_before.flatten(0, 1))
    return of_added, carried, kept, of_weight


def _of_steps(gradient: Tensor | None, count: int) -> Sequence[Tensor | None]:
    return [None] * count if gradient is None else ops.aten.unbind(gradient)


def _sum(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    if first is None or second is None:
        return second if first is None else first
    return first + second

"""Formulas of recurrent networks."""

from __future__ import annotations

from collections.abc import Sequence

from aten._core.tensor.tensor import Tensor
from aten.ops.networks.gates import curved_gates
from aten.registry import ops


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
    count, width = gates.shape[0], cell.shape[-1]
    parts = ops.aten.unflatten(gates, 2, (4, width))
    slopes = ops.fused.lstm_slopes(gates, curved_gates(cell))
    before = ops.aten.cat((ops.aten.unsqueeze(cell, 0), cells[:-1]))
    bent = ops.aten.tanh(cells)
    entering, keeping, candidate, leaving = ops.aten.unbind(parts, 2)
    # What the gradient of a state is multiplied with to be that of what a gate is made of.
    partners = ops.aten.stack((candidate, before, entering, bent), 2)
    factors = ops.aten.unbind(ops.aten.unflatten(slopes, 2, (4, width)) * partners)
    passed = ops.aten.unbind(ops.fused.lstm_passed(leaving, bent))
    kept_parts = ops.aten.unbind(keeping)
    within = ops.aten.new_ones(cell, (4, 1))
    ops.aten.fill_.Scalar(ops.aten.select(within, 0, 3), 0)
    of_hiddens, of_cells, of_gates = (_of_steps(one, count) for one in gradients)
    carried: Tensor | None = None
    kept: Tensor | None = None
    found: list[Tensor] = []
    for step in reversed(range(count)):
        inside = _sum(of_cells[step], kept)
        shown = _sum(of_hiddens[step], carried)
        if shown is None:
            shown = ops.aten.zeros_like(cell)
        if inside is None:
            inside = shown * passed[step]
        else:
            inside = ops.aten.addcmul(inside, shown, passed[step])
        made = ops.fused.lstm_spread(
            factors[step], ops.aten.unsqueeze(inside, 1), ops.aten.unsqueeze(shown, 1), within
        )
        made = ops.aten.flatten(made, 1)
        of_gate = of_gates[step]
        if of_gate is not None:
            made = made + of_gate * slopes[step]
        kept = inside * kept_parts[step]
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

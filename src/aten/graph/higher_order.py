"""Operators that take graphs: control flow, and regions that ran under another mode.

Each takes plain callables, so a printed program runs with these very functions.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from aten._core.base.keys import gradient_modes, set_gradient_modes
from aten._core.tensor.tensor import Tensor
from aten.registry import ops

Function = Callable[..., Any]


class Capture(Protocol):
    """What makes nodes of these operators, with a graph of each function, where it is in force."""

    def call(
        self, name: str, functions: Sequence[Function], operands: Sequence[Sequence[Any]]
    ) -> tuple[Any, ...]: ...


class _Captures(threading.local):
    def __init__(self) -> None:
        self.entered: list[Capture] = []


captures = _Captures()


def capturing() -> Capture | None:
    """The capture that is in force on this thread."""
    return captures.entered[-1] if captures.entered else None


def _results(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def cond(
    predicate: Any, true_graph: Function, false_graph: Function, operands: Sequence[Any] = ()
) -> tuple[Any, ...]:
    """The results of `true_graph` where the predicate holds, else those of `false_graph`."""
    capture = capturing()
    if capture is not None and isinstance(predicate, Tensor):
        return capture.call("cond", (true_graph, false_graph), ((predicate,), operands))
    chosen = true_graph if bool(predicate) else false_graph
    return _results(chosen(*operands))


def while_loop(
    condition: Function,
    body: Function,
    carried: Sequence[Any],
    additional: Sequence[Any] = (),
) -> tuple[Any, ...]:
    """Feeds `body` its own results for as long as `condition` holds; `additional` stay the same."""
    capture = capturing()
    if capture is not None:
        return capture.call("while_loop", (condition, body), (carried, additional))
    values = tuple(carried)
    while True:
        [holds] = _results(condition(*values, *additional))
        if not bool(holds):
            return values
        values = _results(body(*values, *additional))


def scan(
    combine: Function,
    initial: Sequence[Any],
    rows: Sequence[Any],
    additional: Sequence[Any] = (),
) -> tuple[Any, ...]:
    """Feeds `combine` what it carries and the rows of each tensor, one after the other.

    Of its results the first ones, as many as there are in `initial`, are carried on; the others are
    stacked. The last carried values and the stacks are what is returned.
    """
    capture = capturing()
    if capture is not None:
        return capture.call("scan", (combine,), (initial, rows, additional))
    carried, stacks = tuple(initial), []
    for row in zip(*(ops.aten.unbind(one) for one in rows), strict=True):
        results = _results(combine(*carried, *row, *additional))
        carried = results[: len(carried)]
        stacks.append(results[len(carried) :])
    return (*carried, *(ops.aten.stack(column) for column in zip(*stacks, strict=True)))


def map_impl(body: Function, rows: Sequence[Any], additional: Sequence[Any]) -> tuple[Any, ...]:
    """The results of `body` for each row of the tensors, stacked."""
    capture = capturing()
    if capture is not None:
        return capture.call("map_impl", (body,), (rows, additional))
    made = [
        _results(body(*row, *additional))
        for row in zip(*(ops.aten.unbind(one) for one in rows), strict=True)
    ]
    return tuple(ops.aten.stack(column) for column in zip(*made, strict=True))


def wrap_with_set_grad_enabled(enabled: bool, graph: Function, *operands: Any) -> tuple[Any, ...]:
    """The graph's results, computed where gradients are wanted or not."""
    recording, inference = gradient_modes()
    set_gradient_modes(bool(enabled), inference)
    try:
        return _results(graph(*operands))
    finally:
        set_gradient_modes(recording, inference)


def wrap_with_autocast(
    device_type: str,
    dtype: Any,
    enabled: bool,
    cache_enabled: bool | None,
    graph: Function,
    *operands: Any,
) -> tuple[Any, ...]:
    """The graph's results, computed under autocast, or with it switched off."""
    with _autocast[0](device_type, dtype, enabled, cache_enabled):
        return _results(graph(*operands))


_autocast: list[Callable[..., AbstractContextManager[Any]]] = []


def set_autocast(region: Callable[..., AbstractContextManager[Any]]) -> None:
    """Says what makes regions under autocast."""
    _autocast[:] = [region]


def tag_activation_checkpoint(graph: Function, *operands: Any, **options: Any) -> tuple[Any, ...]:
    """The graph's results; what is kept for backward does not change them."""
    return _results(graph(*operands))


def invoke_subgraph(graph: Function, identifier: str | None, *operands: Any) -> tuple[Any, ...]:
    """The graph's results. `identifier` names equal graphs alike."""
    return _results(graph(*operands))


FUNCTIONS: dict[str, Function] = {
    function.__name__: function
    for function in (
        cond,
        while_loop,
        scan,
        map_impl,
        wrap_with_set_grad_enabled,
        wrap_with_autocast,
        tag_activation_checkpoint,
        invoke_subgraph,
    )
}

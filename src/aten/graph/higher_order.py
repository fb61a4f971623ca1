"""Operators that take graphs: control flow, and regions that ran under another mode.

Each takes plain callables, so a printed program runs with these very functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten.graph.errors import ExportError

Function = Callable[..., Any]


def _results(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def cond(
    predicate: Any, true_graph: Function, false_graph: Function, operands: Sequence[Any] = ()
) -> tuple[Any, ...]:
    """The results of `true_graph` where the predicate holds, else those of `false_graph`."""
    chosen = true_graph if bool(predicate) else false_graph
    return _results(chosen(*operands))


def while_loop(
    condition: Function,
    body: Function,
    carried: Sequence[Any],
    additional: Sequence[Any] = (),
) -> tuple[Any, ...]:
    """Feeds `body` its own results for as long as `condition` holds; `additional` stay the same."""
    values = tuple(carried)
    while True:
        [holds] = _results(condition(*values, *additional))
        if not bool(holds):
            return values
        values = _results(body(*values, *additional))


def wrap_with_set_grad_enabled(enabled: bool, graph: Function, *operands: Any) -> tuple[Any, ...]:
    """The graph's results; recording for backward does not change them."""
    return _results(graph(*operands))


def wrap_with_autocast(
    device_type: str,
    dtype: Any,
    enabled: bool,
    cache_enabled: bool | None,
    graph: Function,
    *operands: Any,
) -> tuple[Any, ...]:
    """The graph's results where autocast was switched off; a region under autocast raises."""
    if enabled:
        raise ExportError(f"wrap_with_autocast: autocast to {dtype} is not supported in programs")
    return _results(graph(*operands))


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
        wrap_with_set_grad_enabled,
        wrap_with_autocast,
        tag_activation_checkpoint,
        invoke_subgraph,
    )
}

"""Whether traces and graphs of a program are the same program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from aten.export.tracing import Trace
from aten.export.unification import ALIAS, SLICE, Unified
from aten.graph.ir import Node, TensorMeta
from aten.graph.symbolic import Expression, SymbolicError

Point = Mapping[str, int]

# Which of these is called depends on strides, and strides of a size of 1 or 0 mean nothing: the
# elements are the same, and the calls that larger sizes need are right for these, too.
_COPIES = frozenset({"aten.clone.default", ALIAS})
_VIEWS = frozenset({"aten.view.default", "aten._unsafe_view.default", "aten.reshape.default"})


def same_graph(one: Unified, other: Unified) -> bool:
    """Whether two graphs of a program are the same, strides and expressions included."""

    def text(unified: Unified) -> list[str]:
        nodes = [*unified.inputs.values(), *unified.calls]
        made = [f"{node.name} {node.target} {node.args} {node.kwargs}" for node in nodes]
        made += [_record_text(node.meta.get("val")) for node in nodes]
        return [*made, str(unified.results)]

    return text(one) == text(other)


def _record_text(record: Any) -> str:
    if isinstance(record, TensorMeta):
        return f"{record} {record.stride} {record.storage_offset}"
    if isinstance(record, (list, tuple)):
        return str([_record_text(one) for one in record])
    return str(record)


def agrees(found: Unified, traced: Trace, point: Point) -> bool:
    """Whether a trace does what the graph does with these sizes.

    Strides are not looked at: where a size is 1 or 0 they mean nothing.
    """
    if len(traced.constants) != len(found.constants):
        return False
    calls = [node for node in found.calls if node.name in found.recorded]
    try:
        expected = _plain(
            [*found.inputs.values(), *(node for node, _ in found.constants)],
            [(node, found.arguments[node]) for node in calls],
            found.results,
            found.mutations,
            point,
        )
        got = _plain(
            [*traced.inputs.values(), *(node for node, _ in traced.constants)],
            [(node, [node.args, node.kwargs]) for node in traced.calls],
            traced.results,
            traced.mutations,
            point,
        )
    except SymbolicError:
        return False
    return expected == got


def _plain(
    inputs: Iterable[Node],
    calls: Iterable[tuple[Node, Any]],
    results: Iterable[Any],
    mutations: Mapping[Node, Node],
    point: Point,
) -> list[Any]:
    """Calls with what they give, results and writes, with numbers in the place of expressions."""
    names: dict[str, str] = {}
    made: list[Any] = []
    records = {one.name: _numbers(one.meta.get("val"), names, point) for one in inputs}
    for node, arguments in calls:
        record = records[node.name] = _numbers(node.meta.get("val"), names, point)
        takes_all = node.target == SLICE and record == records.get(arguments[0][0].name)
        if takes_all or node.target in _COPIES:
            names[node.name] = _numbers(arguments[0][0], names, point)
            continue
        names[node.name] = f"call {len(made)}"
        target = "a view" if node.target in _VIEWS else node.target
        made.append((target, record, _numbers(arguments, names, point)))
    made.append([_numbers(_size(one), names, point) for one in results])
    made.append({target.name: _numbers(one, names, point) for target, one in mutations.items()})
    return made


def _size(result: Any) -> Any:
    """A result, or what it is of the sizes, where it is computed of them."""
    record = result.meta.get("val") if isinstance(result, Node) else None
    return record if isinstance(record, Expression) else result


def _numbers(value: Any, names: Mapping[str, str], point: Point) -> Any:
    """A record or arguments with numbers in the place of expressions, and without strides."""
    if isinstance(value, Expression):
        return value.evaluate(point)
    if isinstance(value, TensorMeta):
        return value.dtype, [_numbers(size, names, point) for size in value.shape]
    if isinstance(value, Node):
        return names.get(value.name, value.name)
    if isinstance(value, dict):
        return {key: _numbers(one, names, point) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_numbers(one, names, point) for one in value]
    return value

"""What a program computes twice is computed once, and what it fills regardless is a constant."""

from __future__ import annotations

from typing import Any

from aten.compiler.calls import has_effect, is_written, operator_of
from aten.compiler.rewrites.rewriting import Rewriting, given, handed_out, written_values
from aten.compiler.values import SIZED_BY_CALL, is_own, is_row_major
from aten.graph.ir import Graph, Node, TensorMeta

# Factories that ask a tensor for its size, and what they fill with, where it is no argument.
_LIKES = {
    "aten.ones_like.default": 1,
    "aten.zeros_like.default": 0,
    "aten.full_like.default": None,
    "aten.new_ones.default": 1,
    "aten.new_zeros.default": 0,
    "aten.new_full.default": None,
}


def without_repeats(graph: Graph) -> Graph:
    """The graph with one call for all that have the same operator and operands.

    Calls that draw or write, or whose kernel somebody else registered, are as many as before, and
    so are results, what is written to and what these may share memory with: whoever gets a result
    may write to it. Which operators have fewer calls is noted as `made_once`.
    """
    apart = handed_out(graph) | written_values(graph)
    rewriting = Rewriting(graph)
    met: dict[Any, Node] = {}
    for node in graph.nodes:
        if is_written(node):
            # What is read from here on may be something else.
            met.clear()
        if node in apart or not _may_be_shared(node):
            rewriting.keep(node)
            continue
        key = (node.target, _key(rewriting.of(node.args)), _key(rewriting.of(node.kwargs)))
        if key in met:
            rewriting.current[node] = met[key]
            _note_once(met[key], node)
        else:
            met[key] = rewriting.keep(node)
    return rewriting.finished()


def _note_once(made: Node, node: Node) -> None:
    """Let a call say that another one's operator is not called: a program does not stand when that
    gets another kernel."""
    op = operator_of(node)
    if op is not None:
        made.meta = {**made.meta, "made_once": [op]}


def _may_be_shared(node: Node) -> bool:
    if node.target == "operator.getitem":
        return True
    return node.op == "call_function" and not has_effect(node) and is_own(node)


def _key(value: Any) -> Any:
    """Equal for arguments that are the same: numbers of one type and with the same bits."""
    if isinstance(value, Node):
        return id(value)
    if isinstance(value, list | tuple):
        return (type(value), *map(_key, value))
    if isinstance(value, dict):
        return tuple((name, _key(one)) for name, one in sorted(value.items()))
    return (type(value), repr(value))


def with_sizes_known(graph: Graph) -> Graph:
    """The graph with `aten::full` for factories that ask a tensor for nothing but its size."""
    rewriting = Rewriting(graph)
    for node in graph.nodes:
        if node.target not in _LIKES or not is_own(node) or not _is_plain(node):
            rewriting.keep(node)
            continue
        value = _LIKES[node.target]
        filled = given(node, "fill_value") if value is None else value
        if isinstance(filled, Node):
            rewriting.keep(node)
            continue
        meta = node.meta["val"]
        made = rewriting.call("aten.full.default", list(meta.shape), filled, dtype=meta.dtype)
        rewriting.current[node] = made
        _note_once(made, node)
    return rewriting.finished()


def _is_plain(node: Node) -> bool:
    """Whether its result is row-major, of a size that is known and on the host."""
    meta = node.meta["val"]
    return (
        isinstance(meta, TensorMeta)
        and not node.meta.get(SIZED_BY_CALL)
        and all(isinstance(size, int) for size in meta.shape)
        and is_row_major(meta)
        and meta.device.type == "cpu"
    )

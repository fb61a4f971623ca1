"""Convolutions whose result one convolution by channels alone reads become one call with it.

`fused::expanded_convolution` computes some channels of the first one, a band of rows at a time, and
what sees them at once: a result that is larger than a cache is never written.
"""

from __future__ import annotations

from math import prod
from typing import Any

from aten.compiler.rewriting import Rewriting, users_of
from aten.compiler.values import is_own, is_row_major, operator_of
from aten.graph.ir import Graph, Node, TensorMeta

_CONVOLUTION, _EPILOGUE = "aten.convolution.default", "fused.convolution_epilogue.default"
_EXPANDED = "fused.expanded_convolution.default"
# Elements of the first one's result from which on it is larger than what is near a processor.
_LARGE = 400_000
# Taps of a window of which few channels are seen.
_FEW_CHANNELS = 4


def with_expansions(graph: Graph) -> Graph:
    """The graph with one call for each such pair."""
    users = users_of(graph)
    pairs = {node: node.args[0] for node in graph.nodes if _sees_expansion(node, users)}
    if not pairs:
        return graph
    rewriting = Rewriting(graph)
    taken = set(pairs.values())
    for node in graph.nodes:
        if node in taken:
            continue
        made = rewriting.keep(node)
        if node not in pairs:
            continue
        image, expansion, bias, window, finish = _parts(pairs[node])
        _, weight, last_bias, last_window, last_finish = _parts(node)
        made.target = _EXPANDED
        numbers = (*window, *finish, *last_window, *last_finish)
        made.args = rewriting.of((image, expansion, weight, bias, last_bias, *numbers))
        made.meta = {**node.meta, "stands_for": [*_stood_for(pairs[node]), *_stood_for(node)]}
    return rewriting.finished()


def _parts(node: Node) -> tuple[Any, Any, Any, list[Any], tuple[Any, ...]]:
    """Image, weight, bias; stride, padding and dilation; activation and its numbers."""
    image, weight, bias, *others = node.args
    if node.target == _CONVOLUTION:
        return image, weight, bias, others[:3], ("none", ())
    return image, weight, bias, others[1:4], (others[5], others[6])


def _stood_for(node: Node) -> list[Any]:
    return node.meta.get("stands_for", [operator_of(node)])  # type: ignore[no-any-return]


def _sees_expansion(node: Node, users: dict[Node, list[Node]]) -> bool:
    first = node.args[0] if _suits(node) else None
    if not isinstance(first, Node) or not _suits(first) or users[first] != [node]:
        return False
    channels, inner, *window = node.args[1].meta["val"].shape
    sizes = first.meta["val"].shape
    _, seen, *first_window = first.args[1].meta["val"].shape
    return bool(
        _groups(first) == 1
        and _groups(node) == channels == sizes[1]
        and inner == 1
        and prod(sizes[1:]) >= _LARGE
        and min(window) > 1
        and (prod(first_window) == 1 or seen <= _FEW_CHANNELS)
    )


def _groups(node: Node) -> Any:
    return node.args[8] if node.target == _CONVOLUTION else node.args[7]


def _suits(node: Node) -> bool:
    """Whether it is a convolution of row-major float32 planes of known sizes, with no residual."""
    if node.target not in (_CONVOLUTION, _EPILOGUE) or node.kwargs:
        return False
    if node.target == _CONVOLUTION and (node.args[6] or not is_own(node)):
        return False
    if node.target == _EPILOGUE and node.args[3] is not None:
        return False
    nodes = [one for one in node.args[:3] if isinstance(one, Node)]
    metas = [one.meta["val"] for one in (*nodes, node)]
    return all(
        isinstance(one, TensorMeta)
        and one.dtype.name == "float32"
        and one.device.type == "cpu"
        and all(isinstance(size, int) for size in one.shape[1:])
        and is_row_major(one)
        for one in metas
    ) and all(len(one.shape) == 4 for one in (metas[0], metas[1], metas[-1]))

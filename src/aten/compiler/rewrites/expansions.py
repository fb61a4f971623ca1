"""Convolutions whose result one convolution by channels alone reads become one call with it.

`fused::expanded_convolution` computes some channels of the first one, a band of rows at a time, and
what sees them at once: a result that is larger than a cache is never written. Where only a
convolution of windows of one position reads what that gives, it is a part of the call, too:
`fused::inverted_residual`.
"""

from __future__ import annotations

from math import prod
from typing import Any

from aten.compiler.calls import operator_of
from aten.compiler.rewrites.choosing import Choices
from aten.compiler.rewrites.rewriting import Rewriting, users_of
from aten.compiler.values import is_own, is_row_major
from aten.graph.ir import Graph, Node, TensorMeta

_CONVOLUTION, _EPILOGUE = "aten.convolution.default", "fused.convolution_epilogue.default"
_EXPANDED = "fused.expanded_convolution.default"
_INVERTED = "fused.inverted_residual.default"
# Elements of the first one's result from which on it is larger than what is near a processor.
_LARGE = 150_000
# Taps of a window of which few channels are seen.
_FEW_CHANNELS = 4


def with_expansions(graph: Graph, steady: set[Node], choices: Choices) -> Graph:
    """The graph with one call for each such pair, and for what alone reads its result, where that
    is chosen."""
    users = users_of(graph)
    pairs: dict[Node, Node] = {}
    triples: dict[Node, Node] = {}
    for node in graph.nodes:
        if not _sees_expansion(node, users):
            continue
        first = node.args[0]
        last = [one for one in users.get(node, ()) if _projects(one, node, users)]
        if choices.fuses("expansion", [first, node, *last], steady, _is_large(first)):
            pairs[node] = first
            triples.update(dict.fromkeys(last, node))
    if not pairs:
        return graph
    rewriting = Rewriting(graph)
    taken = {*pairs.values(), *triples.values()}
    for node in graph.nodes:
        if node in taken:
            continue
        made = rewriting.keep(node)
        if node in triples:
            _invert(rewriting, made, node, triples[node], pairs[triples[node]])
        elif node in pairs:
            _expand(rewriting, made, node, pairs[node])
    return rewriting.finished()


def _expand(rewriting: Rewriting, made: Node, node: Node, first: Node) -> None:
    """Make a node the call of both."""
    image, expansion, bias, window, finish = _parts(first)
    _, weight, last_bias, last_window, last_finish = _parts(node)
    numbers = (*window, *finish, *last_window, *last_finish)
    made.target = _EXPANDED
    made.args = rewriting.of((image, expansion, weight, bias, last_bias, *numbers))
    made.meta = {**node.meta, "stands_for": [*_stood_for(first), *_stood_for(node)]}


def _invert(rewriting: Rewriting, made: Node, node: Node, second: Node, first: Node) -> None:
    """Make a node the call of all three."""
    _, projection, bias, *_ = _parts(node)
    residual = node.args[3] if node.target == _EPILOGUE else None
    _expand(rewriting, made, second, first)
    image, expansion, weight, *biases = made.args[:5]
    added = rewriting.of((bias, residual))
    made.target = _INVERTED
    made.args = (
        *(image, expansion, weight, rewriting.of(projection), *biases, *added),
        *made.args[5:],
    )
    made.meta = {**node.meta, "stands_for": [*made.meta["stands_for"], *_stood_for(node)]}


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
        and min(window) > 1
        and (prod(first_window) == 1 or seen <= _FEW_CHANNELS)
    )


def _is_large(first: Node) -> bool:
    return bool(prod(first.meta["val"].shape[1:]) >= _LARGE)


def _projects(node: Node, second: Node, users: dict[Node, list[Node]]) -> bool:
    """Whether it sees single positions of what `second` gives it alone, and adds no more than a
    residual that is like its result."""
    if (
        users[second] != [node]
        or not _suits(node, with_residual=True)
        or node.args[0] is not second
    ):
        return False
    _, weight, _, (stride, padding, _), (activation, _) = _parts(node)
    window = weight.meta["val"].shape[2:]
    return bool(
        _groups(node) == 1
        and activation == "none"
        and prod(window) == prod(stride) == 1
        and not any(padding)
    )


def _groups(node: Node) -> Any:
    return node.args[8] if node.target == _CONVOLUTION else node.args[7]


def _suits(node: Node, with_residual: bool = False) -> bool:
    """Whether it is a convolution of row-major float32 planes of known sizes, with no residual, or
    one that is like its result."""
    if node.target not in (_CONVOLUTION, _EPILOGUE) or node.kwargs:
        return False
    if node.target == _CONVOLUTION and (node.args[6] or not is_own(node)):
        return False
    residual = node.args[3] if node.target == _EPILOGUE else None
    if residual is not None and not with_residual:
        return False
    nodes = [one for one in (*node.args[:3], residual) if isinstance(one, Node)]
    metas = [one.meta["val"] for one in (*nodes, node)]
    if residual is not None and tuple(residual.meta["val"].shape) != tuple(metas[-1].shape):
        return False
    return all(
        isinstance(one, TensorMeta)
        and one.dtype.name == "float32"
        and one.device.type == "cpu"
        and all(isinstance(size, int) for size in one.shape[1:])
        and is_row_major(one)
        for one in metas
    ) and all(len(one.shape) == 4 for one in (metas[0], metas[1], metas[-1]))

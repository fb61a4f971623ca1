"""Products whose results are cut off, while they are in a cache.

`fused::strips_product` takes the limits of an activation that follows it, maybe behind views, where
nothing else reads what is cut off. Results are those of the activation.
"""

from __future__ import annotations

from typing import NamedTuple

from aten.compiler.rewrites.rewriting import Rewriting, users_of
from aten.compiler.values import is_own, operator_of
from aten.graph.ir import Graph, Node, TensorMeta

_PRODUCT = "fused.strips_product.default"
_VIEWS = frozenset({"aten.view.default", "aten._unsafe_view.default"})
_LEAST, _MOST = -1.0, 1.0  # of `hardtanh`, where none are given


class _Limited(NamedTuple):
    """What is cut off, and by what: the last view of a product, or itself; its limits."""

    source: Node
    activation: Node
    limits: tuple[float | None, float | None]


def with_limited_products(graph: Graph) -> Graph:
    """The graph with limits taken into products by matrices in strips."""
    users = users_of(graph)
    found = {
        node: limited
        for node in graph.nodes
        if node.target == _PRODUCT and (limited := _limited(node, users)) is not None
    }
    if not found:
        return graph
    taken = {one.activation: one.source for one in found.values()}
    rewriting = Rewriting(graph)
    for node in graph.nodes:
        if node in taken:
            rewriting.current[node] = rewriting.current[taken[node]]
            continue
        made = rewriting.keep(node)
        if node in found:
            made.args = (*made.args, *found[node].limits)
            stands_for = [*made.meta.get("stands_for", ()), operator_of(found[node].activation)]
            made.meta = {**made.meta, "stands_for": stands_for}
    return rewriting.finished()


def _limited(product: Node, users: dict[Node, list[Node]]) -> _Limited | None:
    source = product
    follower = _only_user(source, users)
    while follower is not None and follower.target in _VIEWS and is_own(follower):
        source, follower = follower, _only_user(follower, users)
    if follower is None or not is_own(follower):
        return None
    limits = _limits(follower)
    if limits is None or not _looks_like(follower, source):
        return None
    # What is handed out is no view of something.
    is_result = any(one.op == "output" for one in users.get(follower, ()))
    return None if is_result and source is not product else _Limited(source, follower, limits)


def _limits(node: Node) -> tuple[float | None, float | None] | None:
    """What an activation leaves its operand between; None for what is no such activation."""
    if node.target == "aten.relu.default":
        return 0.0, None
    if node.target == "aten.relu6.default":
        return 0.0, 6.0
    if node.target != "aten.hardtanh.default":
        return None
    given = dict(zip(("min_val", "max_val"), node.args[1:], strict=False)) | node.kwargs
    low, high = float(given.get("min_val", _LEAST)), float(given.get("max_val", _MOST))
    return (low, high) if low <= high else None


def _looks_like(node: Node, other: Node) -> bool:
    found, expected = node.meta["val"], other.meta["val"]
    return (
        isinstance(found, TensorMeta)
        and found.shape == expected.shape
        and found.stride == expected.stride
        and found.dtype is expected.dtype
    )


def _only_user(node: Node, users: dict[Node, list[Node]]) -> Node | None:
    found = users.get(node, [])
    return found[0] if len(found) == 1 else None

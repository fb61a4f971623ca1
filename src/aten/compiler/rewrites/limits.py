"""Products whose results are cut off, while they are in a cache.

`fused::strips_product` takes the limits of an activation that follows it, maybe behind views, where
nothing else reads what is cut off. Results are those of the activation.
"""

from __future__ import annotations

from typing import NamedTuple

from aten.compiler.calls import operator_of
from aten.compiler.rewrites.epilogues import activation_of
from aten.compiler.rewrites.rewriting import Rewriting, looks_like, only_user, users_of
from aten.compiler.values import is_own
from aten.graph.ir import Graph, Node

_PRODUCT = "fused.strips_product.default"
_VIEWS = frozenset({"aten.view.default", "aten._unsafe_view.default"})


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
    follower = only_user(source, users)
    while follower is not None and follower.target in _VIEWS and is_own(follower):
        source, follower = follower, only_user(follower, users)
    if follower is None or not is_own(follower):
        return None
    limits = _limits(follower)
    if limits is None or not _lies_like(follower, source):
        return None
    # What is handed out is no view of something.
    is_result = any(one.op == "output" for one in users.get(follower, ()))
    return None if is_result and source is not product else _Limited(source, follower, limits)


def _lies_like(one: Node, other: Node) -> bool:
    return looks_like(one, other) and one.meta["val"].stride == other.meta["val"].stride


def _limits(node: Node) -> tuple[float | None, float | None] | None:
    """What an activation leaves its operand between; None for what is no such activation."""
    name, values = activation_of(node) or ("", ())
    if name == "relu":
        return 0.0, None
    if name != "hardtanh":
        return None
    low, high = values
    return (low, high) if low <= high else None

"""Sums of bags of several tables, which threads share as one piece of work.

`fused::embedding_bags` gives what `aten::_embedding_bag` gives of each table, with the same bits. A
table alone has too few rows to be shared, and many of them take longer to call than to add up.
"""

from __future__ import annotations

from aten.compiler.calls import has_effect, operator_of
from aten.compiler.rewrites.rewriting import Rewriting, given, users_of
from aten.compiler.values import is_own
from aten.graph.ir import Graph, Node, TensorMeta

_BAG, _BAGS = "aten._embedding_bag.default", "fused.embedding_bags.default"
_GET = "operator.getitem"
# Tables from which on one call takes less than one for each.
_SEVERAL = 3


def with_bags_together(graph: Graph) -> Graph:
    """The graph with one call for sums of bags none of which waits for what comes of another."""
    users = users_of(graph)
    rewriting = Rewriting(graph)
    waiting: list[Node] = []
    results: dict[Node, Node] = {}
    for node in graph.nodes:
        if node in results:
            continue
        is_bag = _is_sum(node, users)
        if waiting and _ends(node, is_bag, waiting, results):
            _call(rewriting, waiting, results)
        if not is_bag:
            rewriting.keep(node)
            continue
        waiting.append(node)
        results[users[node][0]] = node
    return rewriting.finished()


def _ends(node: Node, is_bag: bool, waiting: list[Node], results: dict[Node, Node]) -> bool:
    """Whether the bags that wait are called before a node."""
    if node.op == "output" or any(results.get(one) in waiting for one in node.all_input_nodes):
        return True
    if is_bag:
        return _last_offset(node) is not _last_offset(waiting[0])
    return node.op == "call_function" and has_effect(node)


def _call(rewriting: Rewriting, waiting: list[Node], results: dict[Node, Node]) -> None:
    """One call in the place of those that wait, of which nothing is left to do."""
    firsts = {bag: first for first, bag in results.items()}
    if len(waiting) < _SEVERAL:
        for bag in waiting:
            rewriting.keep(bag)
            rewriting.keep(firsts[bag])
        waiting.clear()
        return
    lists = [rewriting.of([bag.args[place] for bag in waiting]) for place in range(3)]
    metas = [firsts[bag].meta["val"] for bag in waiting]
    meta = {"val": metas, "stands_for": [operator_of(waiting[0])]}
    last = _last_offset(waiting[0])
    made = Node(waiting[0].name, "call_function", _BAGS, (*lists, last), {}, meta)
    rewriting.nodes.append(made)
    for place, bag in enumerate(waiting):
        first = firsts[bag]
        one = Node(first.name, "call_function", _GET, (made, place), {}, first.meta)
        rewriting.nodes.append(one)
        rewriting.current[first] = one
    waiting.clear()


def _is_sum(node: Node, users: dict[Node, list[Node]]) -> bool:
    """Whether it gives sums of bags of a float32 table of the host, and no more of it is used."""
    if node.target != _BAG or not is_own(node):
        return False
    asked = [(one.target, one.args[1:]) for one in users.get(node, [])]
    metas = [one.meta["val"] for one in node.all_input_nodes]
    return (
        asked == [(_GET, (0,))]
        and len(node.args) >= 3
        and given(node, "mode") == 0
        and given(node, "per_sample_weights") is None
        and given(node, "padding_idx") == -1
        and all(isinstance(one, TensorMeta) and one.device.type == "cpu" for one in metas)
        and metas[0].dtype.name == "float32"
    )


def _last_offset(bag: Node) -> bool:
    return bool(given(bag, "include_last_offset"))

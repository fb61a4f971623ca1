"""What row norms read is row-major: they would read across memory otherwise.

Sums whose elements lie in another order than their dimensions become row-major where only row norms
and further such sums read them. A network that transposes an image once and adds to it ever after
keeps that order in all sums, as its operators do one by one. One copy ends that. Other operands of
norms are copied: by tiles, which takes a fraction of what such a norm does.
"""

from __future__ import annotations

from aten._core.base.device import MEMORY_FORMATS
from aten.compiler.rewrites.rewriting import Rewriting, users_of
from aten.compiler.values import is_own, is_row_major
from aten.graph.ir import Graph, Node, TensorMeta

_SUM, _NORM = "aten.add.Tensor", "aten.native_layer_norm.default"
_CONTIGUOUS = MEMORY_FORMATS["contiguous_format"]


def with_row_major_sums(graph: Graph) -> Graph:
    """The graph with copies of what such sums add, where there are fewer of these than sums."""
    sums = _sums(graph)
    copied = {
        one for node in sums for one in node.all_input_nodes if one not in sums and not _is_row(one)
    }
    if len(copied) >= len(sums):
        return graph
    rewriting = Rewriting(graph)
    copies: dict[Node, Node] = {}
    for node in graph.nodes:
        if node not in sums:
            rewriting.keep(node)
            continue
        operands = []
        for one in node.args[:2]:
            if one in copied and one not in copies:
                copies[one] = _copy(rewriting, one)
            operands.append(copies.get(one) or rewriting.of(one))
        rewriting.current[node] = rewriting.call(_SUM, *operands)
    return rewriting.finished()


def with_row_major_norms(graph: Graph) -> Graph:
    """The graph with copies of what row norms read in another order."""
    rewriting = Rewriting(graph)
    copies: dict[Node, Node] = {}
    for node in graph.nodes:
        source = node.args[0] if node.target == _NORM and is_own(node) else None
        if not isinstance(source, Node) or not _is_turned([source]) or not _has_gaps(source):
            rewriting.keep(node)
            continue
        if source not in copies:
            copies[source] = _copy(rewriting, source)
        made = rewriting.keep(node)
        made.args = (copies[source], *made.args[1:])
    return rewriting.finished() if copies else graph


def _has_gaps(node: Node) -> bool:
    """Whether the elements of a row lie apart: one of a single element does not matter."""
    meta = node.meta["val"]
    return bool(meta.shape and meta.shape[-1] > 1 and meta.stride[-1] != 1)


def _copy(rewriting: Rewriting, node: Node) -> Node:
    source = rewriting.of(node)
    made = rewriting.call("aten.clone.default", source, memory_format=_CONTIGUOUS)
    made.meta["alone"] = "a copy into another order goes by tiles"
    return made


def _sums(graph: Graph) -> set[Node]:
    """Sums in another order that nothing but row norms reads, and other ones of these."""
    users = users_of(graph)
    found: set[Node] = set()
    for node in reversed(graph.nodes):
        if _is_sum(node) and all(
            one in found or (one.target == _NORM and one.args[0] is node and is_own(one))
            for one in users.get(node, ())
        ):
            found.add(node)
    return found


def _is_sum(node: Node) -> bool:
    """Whether it adds two floating-point tensors of the CPU to one that is not row-major."""
    if node.target != _SUM or len(node.args) != 2 or not is_own(node):
        return False
    if node.kwargs.get("alpha", 1) != 1:
        return False
    if not all(isinstance(one, Node) for one in node.args):
        return False
    return _is_turned([*node.args, node])


def _is_turned(nodes: list[Node]) -> bool:
    """Whether they are of one floating-point type, and the last is not row-major."""
    metas = [one.meta["val"] for one in nodes]
    return (
        all(isinstance(one, TensorMeta) and one.device.type == "cpu" for one in metas)
        and len({one.dtype for one in metas}) == 1
        and metas[0].dtype.name in ("float32", "float64")
        and all(isinstance(size, int) for one in metas for size in (*one.shape, *one.stride))
        and not is_row_major(metas[-1])
    )


def _is_row(node: Node) -> bool:
    return is_row_major(node.meta["val"])

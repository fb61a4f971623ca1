"""Products of matrices with steady right operands: these are laid out once as kernels read them.

`fused::strips_product` is the product with a matrix in strips of columns. Kernels read such a strip
from end to end, and what they come to next is fetched while they multiply; of a matrix as it lies,
each call would pack all of it anew. Results have the bits that they would have had without.
"""

from __future__ import annotations

from aten._core.base.device import MEMORY_FORMATS
from aten.backends.cpu.kernels.matrix.strips import width_of_strips
from aten.compiler.rewriting import Rewriting
from aten.compiler.values import is_as_made, operator_of
from aten.graph.ir import Graph, Node, TensorMeta

_CONTIGUOUS = MEMORY_FORMATS["contiguous_format"]
_PRODUCT = "fused.strips_product.default"
_MATRICES, _ADDED = "aten.mm.default", "aten.addmm.default"


def with_weights_in_strips(graph: Graph, steady: set[Node]) -> Graph:
    """The graph with products by the matrices `steady`, which are computed once, in strips."""
    rewriting = Rewriting(graph)
    laid: dict[tuple[str, str], Node] = {}
    for node in graph.nodes:
        made = rewriting.keep(node)
        if node.target not in (_MATRICES, _ADDED) or not _takes_strips(node, steady):
            continue
        bias, left, weight = (None, *node.args) if node.target == _MATRICES else node.args
        rewriting.drop(made)
        # Each product has a transpose of its own, of the same weight.
        key = (weight.target, repr((weight.args, weight.kwargs)))
        if key not in laid:
            laid[key] = _in_strips(rewriting, weight)
        made.target = _PRODUCT
        made.args = (*rewriting.of((left, laid[key], bias)), weight.meta["val"].shape[1])
        made.kwargs = {}
        made.meta = {**node.meta, "stands_for": [operator_of(node)]}
        rewriting.nodes.append(made)
    return rewriting.finished() if laid else graph


def _in_strips(rewriting: Rewriting, weight: Node) -> Node:
    """The (count, depth, width) strips of a matrix, of which zeros fill the last one."""
    call, meta = rewriting.call, weight.meta["val"]
    depth, columns = meta.shape
    width = width_of_strips(meta.dtype.name, columns)
    count = -(-columns // width)
    matrix = rewriting.of(weight)
    if count * width > columns:
        matrix = call("aten.constant_pad_nd.default", matrix, [0, count * width - columns])
    apart = call("aten.reshape.default", matrix, [depth, count, width])
    turned = call("aten.permute.default", apart, [1, 0, 2])
    return call("aten.clone.default", turned, memory_format=_CONTIGUOUS)


def _takes_strips(node: Node, steady: set[Node]) -> bool:
    """Whether it is a product of ours by a steady matrix, and what it adds is one row."""
    *added, left, weight = node.args[:3]
    if node.target == _MATRICES:
        added = []
    nodes = [*added, left, weight]
    metas = [one.meta["val"] for one in nodes if isinstance(one, Node)]
    if len(metas) < len(nodes) or weight not in steady or not _is_own(node):
        return False
    *biases, _, matrix = metas
    return (
        all(isinstance(one, TensorMeta) and one.device.type == "cpu" for one in metas)
        and {one.dtype.name for one in metas} in ({"float32"}, {"float64"})
        and all(isinstance(size, int) for size in (*matrix.shape, *matrix.stride))
        and min(matrix.shape) > 1
        and all(tuple(one.shape) == (matrix.shape[1],) for one in biases)
        and all(node.kwargs.get(name, 1) == 1 for name in ("beta", "alpha"))
        and len(node.args) <= 3
    )


def _is_own(node: Node) -> bool:
    op = operator_of(node)
    return op is not None and is_as_made(op)

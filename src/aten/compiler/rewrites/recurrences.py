"""LSTMs with steady weights, which are laid out once as the kernel of their steps reads them.

`fused::lstm_blocks_sequence` is `fused::lstm_sequence` of a weight in blocks of units. Each call of
the latter would lay it out anew. Results have the same bits.
"""

from __future__ import annotations

from aten._core.base.device import MEMORY_FORMATS
from aten.backends.cpu.kernels.matrix.recurrent import units_of_a_block
from aten.compiler.calls import operator_of
from aten.compiler.rewrites.rewriting import Rewriting
from aten.compiler.values import is_own
from aten.graph.ir import Graph, Node, TensorMeta
from aten.ops.networks.gates import MANY_STEPS

_SEQUENCE, _OF_BLOCKS = "fused.lstm_sequence.default", "fused.lstm_blocks_sequence.default"
# Sequences of a batch whose size is not known.
_SOME_SEQUENCES = 8


def with_weights_in_blocks(graph: Graph, steady: set[Node]) -> Graph:
    """The graph with LSTMs by the weights `steady`, which are computed once, in blocks."""
    rewriting = Rewriting(graph)
    laid: dict[tuple[Node, int], Node] = {}
    for node in graph.nodes:
        made = rewriting.keep(node)
        if node.target != _SEQUENCE or not _takes_blocks(node, steady):
            continue
        rewriting.drop(made)
        *before, weight = node.args
        width = weight.meta["val"].shape[1]
        batch = node.args[2].meta["val"].shape[0]
        units = units_of_a_block(width, batch if isinstance(batch, int) else _SOME_SEQUENCES)
        if (weight, units) not in laid:
            laid[weight, units] = _in_blocks(rewriting, weight, units)
        made.target, made.args = _OF_BLOCKS, (*rewriting.of(tuple(before)), laid[weight, units])
        made.meta = {"stands_for": [operator_of(node)], **node.meta}
        rewriting.nodes.append(made)
    return rewriting.finished() if laid else graph


def _in_blocks(rewriting: Rewriting, weight: Node, units: int) -> Node:
    """(count, 4, width, units), of which zeros fill the last block."""
    call = rewriting.call
    width = weight.meta["val"].shape[1]
    count = -(-width // units)
    gates = call("aten.reshape.default", rewriting.of(weight), [4, width, width])
    if count * units > width:
        gates = call("aten.constant_pad_nd.default", gates, [0, 0, 0, count * units - width])
    parted = call("aten.reshape.default", gates, [4, count, units, width])
    turned = call("aten.permute.default", parted, [1, 0, 3, 2])
    return call("aten.clone.default", turned, memory_format=MEMORY_FORMATS["contiguous_format"])


def _takes_blocks(node: Node, steady: set[Node]) -> bool:
    """Whether its float32 weight is steady, and enough steps read it."""
    metas = [one.meta["val"] for one in node.args if isinstance(one, Node)]
    if len(metas) < len(node.args) or node.args[3] not in steady or not is_own(node):
        return False
    added, _, _, weight = metas
    sizes = weight.shape
    return (
        all(isinstance(one, TensorMeta) and one.device.type == "cpu" for one in metas)
        and {one.dtype.name for one in metas} == {"float32"}
        and all(isinstance(size, int) and size > 0 for size in sizes)
        and (not isinstance(added.shape[0], int) or added.shape[0] >= MANY_STEPS)
    )

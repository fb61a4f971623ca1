"""Rewrites of a recorded graph that come before its operators are joined.

Each takes a graph and gives one; all are listed in `prepared`.
"""

from __future__ import annotations

from math import prod

from aten.compiler.calls import has_effect, is_drawn, is_written, operator_of
from aten.compiler.rewrites.bags import with_bags_together
from aten.compiler.rewrites.choosing import Choices
from aten.compiler.rewrites.epilogues import with_epilogues, with_padding
from aten.compiler.rewrites.expansions import with_expansions
from aten.compiler.rewrites.layouts import with_row_major_norms, with_row_major_sums
from aten.compiler.rewrites.limits import with_limited_products
from aten.compiler.rewrites.products import with_weights_in_strips
from aten.compiler.rewrites.recurrences import with_weights_in_blocks
from aten.compiler.rewrites.repeats import with_sizes_known, without_repeats
from aten.compiler.rewrites.rewriting import (
    Rewriting,
    handed_out,
    users_of,
    written_inputs,
    written_values,
)
from aten.compiler.values import is_own
from aten.graph.ir import Graph, Node

_MAX_POOL = "aten.max_pool2d_with_indices.default"
# Elements of a factory's result that may stay in memory between calls.
_FEW = 1 << 20


def prepared(graph: Graph, steady: frozenset[str], strips: bool, choices: Choices) -> Graph:
    """`graph` as it is partitioned: batch norms, paddings, sums and activations taken into
    convolutions, weights of products and LSTMs laid out as kernels read them if `strips` asks for
    it, nothing unused and nothing twice.

    What depends on the constants named `steady` alone is computed once. Where there are two ways,
    `choices` are asked.
    """
    graph = with_sizes_known(without_repeats(known_moments(graph, steady)))
    graph = with_row_major_sums(without_unused(graph))
    graph = with_row_major_norms(graph)
    graph = with_epilogues(with_padding(with_bags_together(without_places(graph))))
    if not strips:
        return graph
    graph = with_expansions(graph, _steady_nodes(graph, steady), choices)
    graph = with_weights_in_blocks(graph, _steady_nodes(graph, steady))
    graph = with_weights_in_strips(graph, _steady_nodes(graph, steady), choices)
    return with_limited_products(graph)


def _steady_nodes(graph: Graph, steady: frozenset[str]) -> set[Node]:
    """The constants of these names that nothing writes to, and what is computed of them alone."""
    inputs = {one for one in graph.placeholders if one.name in steady} - written_inputs(graph)
    return inputs.union(constant_part(graph, inputs))


def known_moments(graph: Graph, steady: frozenset[str]) -> Graph:
    """Batch norms whose moments are given become a scale and a shift for each channel, which a
    convolution before them takes into its weight and bias where these are steady.

    Results are those of the batch norm but for rounding.
    """
    users = users_of(graph)
    rewriting = Rewriting(graph)
    for node in graph.nodes:
        if node in rewriting.current:
            continue
        if not _has_known_moments(node, users):
            rewriting.keep(node)
            continue
        scale, shift = _affine(rewriting, node)
        source = node.args[0]
        (first,) = users[node]
        if _takes_scale(source, users) and _are_steady(source, node, steady):
            rewriting.current[first] = _scaled(rewriting, source, scale, shift)
        else:
            rewriting.current[first] = _normalized(rewriting, node, scale, shift)
        rewriting.current[node] = rewriting.current[first]
    return rewriting.finished()


def _has_known_moments(node: Node, users: dict[Node, list[Node]]) -> bool:
    """Whether it is a batch norm of floating-point numbers that uses the moments it is given, and
    of which nothing but the normalized values is used."""
    if node.target == "aten.native_batch_norm.default":
        is_training = node.args[5]
    elif node.target == "aten._native_batch_norm_legit_no_training.default":
        is_training = False
    else:
        return False
    found = users.get(node, [])
    return (
        not is_training
        and len(found) == 1
        and found[0].target == "operator.getitem"
        and found[0].args[1] == 0
        and all(isinstance(one, Node) for one in node.args[3:5])
        and {one.meta["val"].dtype.name for one in node.all_input_nodes} <= {"float32", "float64"}
        and len({one.meta["val"].dtype for one in node.all_input_nodes}) == 1
    )


def _affine(rewriting: Rewriting, node: Node) -> tuple[Node, Node]:
    """What the channels are multiplied by, and what is added to them."""
    _, weight, bias, mean, variance = rewriting.of(node.args[:5])
    call = rewriting.call
    scale = call("aten.rsqrt.default", call("aten.add.Tensor", variance, node.args[-1]))
    if weight is not None:
        scale = call("aten.mul.Tensor", scale, weight)
    moved = call("aten.mul.Tensor", mean, scale)
    shift = call("aten.neg.default", moved)
    return scale, shift if bias is None else call("aten.sub.Tensor", bias, moved)


def _normalized(rewriting: Rewriting, node: Node, scale: Node, shift: Node) -> Node:
    source = rewriting.of(node.args[0])
    sizes = [-1, *[1] * (len(source.meta["val"].shape) - 2)]
    scale, shift = (rewriting.call("aten.view.default", one, sizes) for one in (scale, shift))
    scaled = rewriting.call("aten.mul.Tensor", source, scale)
    return rewriting.call("aten.add.Tensor", scaled, shift)


def _takes_scale(source: Node, users: dict[Node, list[Node]]) -> bool:
    """Whether it is a convolution that only the batch norm reads, and that is not transposed."""
    return (
        source.target == "aten.convolution.default"
        and len(users[source]) == 1
        and source.args[6] is False
    )


def _are_steady(source: Node, node: Node, steady: frozenset[str]) -> bool:
    """Whether weights and moments are steady constants: then they are scaled just once."""
    return all(
        one.op == "placeholder" and one.name in steady
        for one in (*source.all_input_nodes[1:], *node.all_input_nodes[1:])
    )


def _scaled(rewriting: Rewriting, source: Node, scale: Node, shift: Node) -> Node:
    image, weight, bias, *others = rewriting.of(source.args)
    sizes = [-1, *[1] * (len(weight.meta["val"].shape) - 1)]
    call = rewriting.call
    weight = call("aten.mul.Tensor", weight, call("aten.view.default", scale, sizes))
    if bias is not None:
        shift = call("aten.add.Tensor", shift, call("aten.mul.Tensor", bias, scale))
    rewriting.drop(rewriting.current[source])
    return call("aten.convolution.default", image, weight, shift, *others)


def without_places(graph: Graph) -> Graph:
    """The graph with `fused::max_pool2d` for poolings of which nobody asks where elements are."""
    users = users_of(graph)
    rewriting = Rewriting(graph)
    for node in graph.nodes:
        if node in rewriting.current:
            continue
        made = rewriting.keep(node)
        if node.target != _MAX_POOL or not is_own(node) or not _gives_values(users.get(node, [])):
            continue
        (values,) = users[node]
        made.target = "fused.max_pool2d.default"
        made.meta = {**values.meta, "stands_for": [operator_of(node)]}
        rewriting.current[values] = made
    return rewriting.finished()


def _gives_values(users: list[Node]) -> bool:
    """Whether all that is used of several results is the first one, and in one place."""
    return [(one.target, one.args[1:]) for one in users] == [("operator.getitem", (0,))]


def without_unused(graph: Graph) -> Graph:
    """The graph without calls of which nothing is used, and that neither write nor draw."""
    wanted: set[Node] = set()
    kept = []
    for node in reversed(graph.nodes):
        is_used = node in wanted or is_written(node) or is_drawn(node)
        if node.op == "call_function" and not is_used:
            continue
        wanted.update(node.all_input_nodes)
        kept.append(node)
    rewriting = Rewriting(graph)
    rewriting.nodes = kept[::-1]
    return rewriting.finished()


def constant_part(graph: Graph, constants: set[Node]) -> list[Node]:
    """Calls that depend on nothing but constants, which the program does not write to: they give
    the same whenever it runs. Random numbers are none of them, nor is what is written to, nor what
    a result may share memory with: whoever gets it may write to it."""
    same = constants - written_inputs(graph)
    given = handed_out(graph) | written_values(graph)
    found = []
    for node in graph.nodes:
        if node.op != "call_function" or node in given or has_effect(node):
            continue
        operands = node.all_input_nodes
        if same.issuperset(operands) if operands else _is_small_factory(node):
            same.add(node)
            found.append(node)
    return found


def _is_small_factory(node: Node) -> bool:
    """Whether it makes the same elements in every call, and so few that they may stay."""
    op = operator_of(node)
    if op is None or op.entry.kind != "factory" or op.name.startswith("empty"):
        return False
    sizes = node.meta["val"].shape
    return all(isinstance(size, int) for size in sizes) and prod(sizes) <= _FEW


def writes(graph: Graph) -> bool:
    """Whether a graph writes to its inputs."""
    return any(map(is_written, graph.nodes))

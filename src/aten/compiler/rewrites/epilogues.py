"""Convolutions take what is around them: zeros that their image is padded with, a residual that is
added, and an activation.

`fused::convolution_epilogue` is what these are one after the other; the CPU does them before sums
leave its registers and caches. A value that something else reads, too, is not taken.
"""

from __future__ import annotations

from dataclasses import dataclass

from aten.compiler.calls import operator_of
from aten.compiler.rewrites.rewriting import Rewriting, given, looks_like, only_user, users_of
from aten.compiler.values import is_own
from aten.graph.ir import Graph, Node

_CONVOLUTION = "aten.convolution.default"
_EPILOGUE = "fused.convolution_epilogue.default"
# Activations whose operators take no numbers.
_PLAIN: dict[str, tuple[str, tuple[float, ...]]] = {
    "aten.relu.default": ("relu", ()),
    "aten.relu6.default": ("hardtanh", (0.0, 6.0)),
    "aten.sigmoid.default": ("sigmoid", ()),
    "aten.silu.default": ("silu", ()),
    "aten.hardswish.default": ("hardswish", ()),
}


@dataclass(slots=True)
class _Chain:
    """A convolution and what it takes; `nodes` in their order, the convolution first.

    `padded` are images with zeros around them that it adds itself.
    """

    nodes: list[Node]
    padded: Node | None = None
    residual: Node | None = None
    activation: str = "none"
    values: tuple[float, ...] = ()


def with_padding(graph: Graph) -> Graph:
    """The graph without paddings by zeros that convolutions alone read, and can make themselves:
    those that have as many on both sides of an image. The others are for `with_epilogues`."""
    users = users_of(graph)
    rewriting = Rewriting(graph)
    for node in graph.nodes:
        if _is_even(node) and all(_takes_padding(one, node) for one in users.get(node, ())):
            continue
        made = rewriting.keep(node)
        padded = node.args[0] if node.target == _CONVOLUTION else None
        if isinstance(padded, Node) and padded not in rewriting.current and _is_even(padded):
            image, weight, bias, stride, padding, *others = made.args
            added = padded.args[1][::-2]
            padding = [one + other for one, other in zip(padding, added, strict=True)]
            image = rewriting.of(padded.args[0])
            made.args = (image, weight, bias, stride, padding, *others)
    return rewriting.finished()


def _is_even(node: Node) -> bool:
    """Whether it pads images on both sides alike, by zeros."""
    return _is_padding(node) and node.args[1][::2] == node.args[1][1::2]


def _is_padding(node: Node) -> bool:
    """Whether it pads images by zeros."""
    if node.target != "aten.constant_pad_nd.default" or not is_own(node):
        return False
    sizes = node.args[1]
    # What depends on sizes of a call is another node.
    return all(isinstance(size, int) for size in sizes) and (
        given(node, "value") == 0
        and len(sizes) == 2 * (len(node.meta["val"].shape) - 2)
        and all(size >= 0 for size in sizes)
    )


def _takes_padding(node: Node, padded: Node) -> bool:
    return (
        node.target == _CONVOLUTION
        and node.args[0] is padded
        and padded not in node.args[1:3]
        and node.args[6] is False
        and is_own(node)
    )


def with_epilogues(graph: Graph) -> Graph:
    """The graph with one call for each convolution and what it takes."""
    users = users_of(graph)
    place = {node: count for count, node in enumerate(graph.nodes)}
    chains = {}
    taken: set[Node] = set()
    for node in graph.nodes:
        if node.target == _CONVOLUTION and _suits(node):
            chain = _chain(node, users, place, taken)
            if len(chain.nodes) > 1 or chain.padded is not None:
                taken.update(chain.nodes)
                chains[chain.nodes[-1]] = chain
                if chain.padded is not None:
                    taken.add(chain.padded)
    if not chains:
        return graph
    rewriting = Rewriting(graph)
    for node in graph.nodes:
        if node in chains:
            _emit(rewriting, chains[node])
        elif node not in taken:
            rewriting.keep(node)
    return rewriting.finished()


def _suits(node: Node) -> bool:
    """Whether it is a convolution of float32, not transposed, in kernels of the package's own."""
    metas = [one.meta["val"] for one in node.args[:3] if isinstance(one, Node)]
    if len(metas) < len(node.all_input_nodes):
        return False
    return (
        node.args[6] is False
        and all(one.dtype.name == "float32" and one.device.type == "cpu" for one in metas)
        and is_own(node)
    )


def _chain(
    start: Node, users: dict[Node, list[Node]], place: dict[Node, int], taken: set[Node]
) -> _Chain:
    chain = _Chain([start])
    image = start.args[0]
    if _is_padding(image) and users[image] == [start] and _takes_padding(start, image):
        chain.padded = image
    follower = only_user(start, users)
    if follower is not None and follower not in taken and _is_sum(follower):
        (other,) = (one for one in follower.args[:2] if one is not start)
        # Of two convolutions that are added, the later one takes the other.
        if place.get(other, -1) < place[start] or other.op != "call_function":
            chain.residual = other
            chain.nodes.append(follower)
            follower = only_user(follower, users)
    if follower is None or follower in taken or not is_own(follower):
        return chain
    found = activation_of(follower)
    if found is not None:
        chain.activation, chain.values = found
        chain.nodes.append(follower)
    return chain


def _is_sum(node: Node) -> bool:
    """Whether it adds two tensors that are as its result is."""
    return (
        node.target == "aten.add.Tensor"
        and node.kwargs.get("alpha", 1) == 1
        and len(node.args) == 2
        and all(isinstance(one, Node) for one in node.args)
        and node.args[0] is not node.args[1]
        and all(looks_like(one, node) for one in node.args)
        and is_own(node)
    )


def activation_of(node: Node) -> tuple[str, tuple[float, ...]] | None:
    """Its name and numbers; None for what is none."""
    if node.target in _PLAIN:
        return _PLAIN[node.target]
    if node.target == "aten.hardtanh.default":
        low, high = given(node, "min_val"), given(node, "max_val")
        return "hardtanh", (float(low), float(high))
    if node.target == "aten.gelu.default":
        by_tanh = given(node, "approximate") == "tanh"
        return "gelu_tanh" if by_tanh else "gelu", ()
    return None


def _emit(rewriting: Rewriting, chain: _Chain) -> None:
    """One call in the place of the chain; the chain, where results would lie otherwise."""
    first, last = chain.nodes[0], chain.nodes[-1]
    image, weight, bias, stride, padding, dilation, _, _, groups = rewriting.of(first.args)
    residual = rewriting.of(chain.residual)
    before = [] if chain.padded is None else [chain.padded]
    if chain.padded is not None:
        image = rewriting.of(chain.padded.args[0])
        first_sides, last_sides = chain.padded.args[1][-2::-2], chain.padded.args[1][::-2]
        padding = [
            size + more
            for sides in (first_sides, last_sides)
            for size, more in zip(padding, sides, strict=True)
        ]
    made = rewriting.call(
        _EPILOGUE,
        *(image, weight, bias, residual, stride, padding, dilation, groups),
        *(chain.activation, chain.values),
    )
    if made.meta["val"].stride == last.meta["val"].stride:
        made.meta["stands_for"] = [operator_of(one) for one in (*before, *chain.nodes)]
        rewriting.current[last] = made
        return
    rewriting.drop(made)
    for node in (*before, *chain.nodes):
        rewriting.keep(node)

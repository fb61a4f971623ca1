"""How a fused kernel walks its operands: axes, kept and reduced dimensions, strides, order.

All folds of one kernel run over the same dimensions of one iteration shape. Every value's axes are
traced to that shape, through broadcasts and folds, so that each operand's strides along it are
known; then dimensions that all operands step through evenly are joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aten.loops.program import FOLDS, SCANS
from aten.prims import Graph, Node
from aten.prims.prim import Shape

_LIKE_FOLDS = FOLDS | {"extent"}
_ALONG_DIMENSIONS = _LIKE_FOLDS | SCANS.keys() | {"position"}
Axes = tuple[int | None, ...]


class UnsupportedGraphError(NotImplementedError):
    """The graph does not fit one kernel: its folds run over different dimensions."""


@dataclass(slots=True)
class Dimension:
    """One loop: its size, and each operand's stride along it, in bytes."""

    size: int
    strides: list[int]


@dataclass(slots=True)
class Space:
    """The iteration shape of a graph, and which of its axes are folded."""

    shape: Shape
    reduced: tuple[int, ...]
    axes: dict[int, Axes]


@dataclass(slots=True)
class Operand:
    """An input or output of a graph as memory: its shape and byte strides, as the graph sees it."""

    node: Node
    strides: tuple[int, ...]


def find_space(graph: Graph) -> Space:
    """The iteration space of `graph`. Raises UnsupportedGraphError where there is not just one."""
    nodes = graph.nodes()
    folds = [node for node in nodes if node.prim in _ALONG_DIMENSIONS]
    if folds:
        shape, reduced = folds[0].inputs[0].shape, tuple(folds[0].params["dims"])
    else:
        shape, reduced = max((node.shape for node in graph.outputs), key=len), ()
    for fold in folds:
        if fold.inputs[0].shape != shape or tuple(fold.params["dims"]) != reduced:
            raise UnsupportedGraphError(f"{graph.name}: folds over different dimensions")
    identity = list(range(len(shape)))
    axes: dict[int, list[int | None]] = {id(node): [None] * len(node.shape) for node in nodes}
    for fold in folds:
        axes[id(fold.inputs[0])] = list(identity)
    if not folds:
        axes.update((id(node), list(identity)) for node in graph.outputs if node.shape == shape)
    _propagate(nodes, axes)
    return Space(shape, reduced, {key: tuple(found) for key, found in axes.items()})


def _propagate(nodes: list[Node], axes: dict[int, list[int | None]]) -> None:
    """Carry axes between operands and results, both ways, until nothing new is learnt."""
    shared = [
        (axes[id(operand)], axes[id(node)], pairs)
        for node in nodes
        for operand in node.inputs
        if (pairs := _shared_dimensions(operand, node))
    ]
    learnt = True
    while learnt:
        learnt = False
        for sweep in (shared, reversed(shared)):
            for from_, to, pairs in sweep:
                for inner, outer in pairs:
                    if from_[inner] != to[outer] and None in (from_[inner], to[outer]):
                        known = to[outer] if from_[inner] is None else from_[inner]
                        from_[inner] = to[outer] = known
                        learnt = True


def _shared_dimensions(operand: Node, node: Node) -> list[tuple[int, int]]:
    """Which dimensions of an operand are which of the result: they run along the same axis."""
    if node.prim == "broadcast_in_dim":
        return [
            (dim, place)
            for dim, place in enumerate(node.params["broadcast_dimensions"])
            if operand.shape[dim] == node.shape[place]
        ]
    if node.prim in _LIKE_FOLDS:
        kept = [dim for dim in range(len(operand.shape)) if dim not in node.params["dims"]]
        return list(zip(kept, range(len(node.shape)), strict=True))
    if operand.shape == node.shape:
        return [(dim, dim) for dim in range(len(node.shape))]
    return []


def axis_strides(operand: Operand, space: Space) -> list[int]:
    """The operand's byte stride along each axis of the iteration space; 0 where it has none."""
    strides = [0] * len(space.shape)
    found = space.axes.get(id(operand.node), ())
    for axis, size, stride in zip(found, operand.node.shape, operand.strides, strict=False):
        if axis is not None and size != 1:
            strides[axis] = stride
    return strides


def is_row(node: Node, space: Space) -> bool:
    """Whether a value does not vary along the reduced axes."""
    return not set(space.axes.get(id(node), ())) & set(space.reduced)


def dimensions(
    space: Space, operands: Sequence[Operand], *, keep_order: bool
) -> tuple[list[Dimension], list[Dimension]]:
    """Kept and reduced dimensions, innermost last, in memory order and joined where possible.

    With `keep_order` the reduced ones stay in the order of the shape, for positions among them.
    """
    strides = [axis_strides(operand, space) for operand in operands]
    every = [
        Dimension(size, [operand[axis] for operand in strides])
        for axis, size in enumerate(space.shape)
    ]
    reduced = [every[axis] for axis in sorted(space.reduced)]
    kept = [dimension for axis, dimension in enumerate(every) if axis not in space.reduced]
    return joined(in_memory_order(kept)), joined(
        reduced if keep_order else in_memory_order(reduced)
    )


def in_memory_order(found: list[Dimension]) -> list[Dimension]:
    """Largest strides first, by the first operand that moves along either dimension."""

    def farther(dimension: Dimension) -> tuple[int, ...]:
        return tuple(-stride for stride in dimension.strides)

    return sorted((one for one in found if one.size != 1), key=farther)


def joined(found: list[Dimension]) -> list[Dimension]:
    """`found`, neighbours that all step through evenly made one, and those of size one gone."""
    made: list[Dimension] = []
    for dimension in found:
        if dimension.size == 1:
            continue
        if made and all(
            outer == inner * dimension.size
            for outer, inner in zip(made[-1].strides, dimension.strides, strict=True)
        ):
            made[-1] = Dimension(made[-1].size * dimension.size, dimension.strides)
        else:
            made.append(dimension)
    return made


def access(stride: int, width: int) -> str:
    """How a loop steps through an operand of elements `width` bytes wide."""
    if stride == width:
        return "unit"
    return "zero" if stride == 0 else "any"

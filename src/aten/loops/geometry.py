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
    identity: Axes = tuple(range(len(shape)))
    axes: dict[int, Axes] = {}
    for fold in folds:
        axes[id(fold.inputs[0])] = identity
    if not folds:
        axes.update((id(node), identity) for node in graph.outputs if node.shape == shape)
    _propagate(nodes, reduced, axes)
    return Space(shape, reduced, axes)


def _propagate(nodes: list[Node], reduced: tuple[int, ...], axes: dict[int, Axes]) -> None:
    """Carry axes from users to operands and back until nothing new is learnt."""
    while True:
        known = len(axes)
        for node in reversed(nodes):
            _to_operands(node, axes)
        for node in nodes:
            _to_result(node, reduced, axes)
        if len(axes) == known:
            return


def _to_operands(node: Node, axes: dict[int, Axes]) -> None:
    found = axes.get(id(node))
    if found is None or node.prim in _LIKE_FOLDS:
        return
    if node.prim == "broadcast_in_dim":
        dimensions = node.params["broadcast_dimensions"]
        axes.setdefault(id(node.inputs[0]), tuple(found[dim] for dim in dimensions))
        return
    for operand in node.inputs:
        if operand.shape == node.shape:
            axes.setdefault(id(operand), found)


def _to_result(node: Node, reduced: tuple[int, ...], axes: dict[int, Axes]) -> None:
    if id(node) in axes or not node.inputs:
        return
    operand = next((one for one in node.inputs if id(one) in axes), None)
    if operand is None:
        return
    found = axes[id(operand)]
    if node.prim in _LIKE_FOLDS:
        axes[id(node)] = tuple(axis for axis in found if axis not in reduced)
    elif node.prim == "broadcast_in_dim":
        placed: list[int | None] = [None] * len(node.shape)
        for axis, dim in zip(found, node.params["broadcast_dimensions"], strict=True):
            placed[dim] = axis
        axes[id(node)] = tuple(placed)
    elif operand.shape == node.shape:
        axes[id(node)] = found


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
    return _joined(_ordered(kept)), _joined(reduced if keep_order else _ordered(reduced))


def _ordered(found: list[Dimension]) -> list[Dimension]:
    """Largest strides first, by the first operand that moves along either dimension."""

    def farther(dimension: Dimension) -> tuple[int, ...]:
        return tuple(-stride for stride in dimension.strides)

    return sorted((one for one in found if one.size != 1), key=farther)


def _joined(found: list[Dimension]) -> list[Dimension]:
    joined: list[Dimension] = []
    for dimension in found:
        if dimension.size == 1:
            continue
        if joined and all(
            outer == inner * dimension.size
            for outer, inner in zip(joined[-1].strides, dimension.strides, strict=True)
        ):
            joined[-1] = Dimension(joined[-1].size * dimension.size, dimension.strides)
        else:
            joined.append(dimension)
    return joined


def access(stride: int, width: int) -> str:
    """How a loop steps through an operand of elements `width` bytes wide."""
    if stride == width:
        return "unit"
    return "zero" if stride == 0 else "any"

"""How a fused kernel walks its operands: axes, kept and reduced dimensions, strides, order.

All folds of one kernel run over the same dimensions of one iteration shape. Every value's axes are
traced to that shape, through broadcasts and folds, so that each operand's strides along it are
known; then dimensions that all operands step through evenly are joined. What cannot be traced, or
leaves an output's element unwritten or written twice, is refused before anything runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aten.loops.program import FOLDS, SCANS
from aten.prims import Graph, Node
from aten.prims.prim import Shape

_ALONG_DIMENSIONS = FOLDS | SCANS.keys() | {"position", "extent"}
Axes = tuple[int | None, ...]


class UnsupportedGraphError(NotImplementedError):
    """The graph does not fit one kernel: no one walk meets each element of each output once."""


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
    shared = _shared_axes(nodes, axes)
    _propagate(shared)
    if _placed(graph, shape, axes):
        _propagate(shared)
    space = Space(shape, reduced, {key: tuple(found) for key, found in axes.items()})
    _require_one_walk(graph, space, shared)
    return space


@dataclass(slots=True)
class _Shared:
    """The axes of an operand and of what is made of it, and the dimensions they have in common."""

    node: Node
    operand: list[int | None]
    result: list[int | None]
    pairs: list[tuple[int, int]]


def _shared_axes(nodes: list[Node], axes: dict[int, list[int | None]]) -> list[_Shared]:
    return [
        _Shared(node, axes[id(operand)], axes[id(node)], pairs)
        for node in nodes
        for operand in node.inputs
        if (pairs := _shared_dimensions(operand, node))
    ]


def _propagate(shared: list[_Shared]) -> None:
    """Carry axes between operands and results, both ways, until nothing new is learnt."""
    learnt = True
    while learnt:
        learnt = False
        for sweep in (shared, reversed(shared)):
            for one in sweep:
                from_, to = one.operand, one.result
                for inner, outer in one.pairs:
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
    if node.prim in FOLDS:
        kept = [dim for dim in range(len(operand.shape)) if dim not in node.params["dims"]]
        return list(zip(kept, range(len(node.shape)), strict=True))
    if operand.shape == node.shape:
        return [(dim, dim) for dim in range(len(node.shape))]
    return []


def _placed(graph: Graph, shape: Shape, axes: dict[int, list[int | None]]) -> bool:
    """Let outputs of the whole shape, repeated along a dimension, run along just that one; says
    whether there were any."""
    found = False
    for node in graph.outputs:
        along = axes[id(node)]
        if node.shape != shape or None not in along:
            continue
        for dim in range(len(shape)):
            if along[dim] is None and dim not in along:
                along[dim] = dim
                found = True
    return found


def _require_one_walk(graph: Graph, space: Space, shared: list[_Shared]) -> None:
    """Raises UnsupportedGraphError unless one walk reads what is meant and fills every output."""
    for one in shared:
        for inner, outer in one.pairs:
            if one.node.shape[outer] != 1 and one.operand[inner] != one.result[outer]:
                raise UnsupportedGraphError(
                    f"{graph.name}: in dimension {outer} of {one.node.prim}, a value of shape "
                    f"{list(one.node.shape)}, meet dimensions {one.operand[inner]} and "
                    f"{one.result[outer]} of {list(space.shape)}; `spread` puts a fold back where "
                    f"it came from"
                )
    nodes = graph.nodes()
    used = {id(node) for node in graph.outputs}
    used.update(id(operand) for node in nodes for operand in node.inputs)
    for node in nodes:
        if id(node) in used:
            _require_axes(graph, node, space)
    for place in range(len(graph.outputs)):
        _require_filled(graph, place, space)


def _require_axes(graph: Graph, node: Node, space: Space) -> None:
    """Raises UnsupportedGraphError unless each dimension runs along an axis of its own."""
    along = list(_moving_axes(node, space))
    if len(set(along)) == len(along) and all(
        axis is not None and space.shape[axis] == size
        for axis, size in zip(space.axes[id(node)], node.shape, strict=True)
        if size != 1
    ):
        return
    raise UnsupportedGraphError(
        f"{graph.name}: {node.prim}, a value of shape {list(node.shape)}, cannot be walked along "
        f"{list(space.shape)}: its dimensions run along {along}, and each must have one of its own"
    )


def _require_filled(graph: Graph, place: int, space: Space) -> None:
    """Raises UnsupportedGraphError unless an output has one element for each point of the walk:
    for those of all dimensions, or of the kept ones."""
    node = graph.outputs[place]
    along = set(_moving_axes(node, space))
    every = {axis for axis, size in enumerate(space.shape) if size != 1}
    if along in (every, every - set(space.reduced)):
        return
    raise UnsupportedGraphError(
        f"{graph.name}: result {place} of shape {list(node.shape)} does not have one element for "
        f"each point of {list(space.shape)}"
        + (f" folded over {list(space.reduced)}" if space.reduced else "")
    )


def _moving_axes(node: Node, space: Space) -> Iterator[int | None]:
    """The axes along which a value has more, or fewer, elements than one."""
    for axis, size in zip(space.axes[id(node)], node.shape, strict=True):
        if size != 1:
            yield axis


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
    space: Space, operands: Sequence[Operand], *, keep_order: bool, by_output: bool = False
) -> tuple[list[Dimension], list[Dimension]]:
    """Kept and reduced dimensions, innermost last, in memory order and joined where possible.

    With `keep_order` the reduced ones stay in the order of the shape, for positions among them.
    With `by_output` the order is that of the last operand.
    """
    strides = [axis_strides(operand, space) for operand in operands]
    every = [
        Dimension(size, [operand[axis] for operand in strides])
        for axis, size in enumerate(space.shape)
    ]
    reduced = [every[axis] for axis in sorted(space.reduced)]
    if any(one.size == 0 for one in reduced):
        # One loop that is not entered: others around it would be, as often as their sizes say.
        # What moves along any of them moves along it: there is nothing to read ahead of the loop.
        steps = zip(*(one.strides for one in reduced), strict=True)
        nearest = [min(filter(None, each), key=abs, default=0) for each in steps]
        reduced = [Dimension(0, nearest)]
    kept = [dimension for axis, dimension in enumerate(every) if axis not in space.reduced]
    return joined(in_memory_order(kept, by_output=by_output)), joined(
        reduced if keep_order else in_memory_order(reduced, by_output=by_output)
    )


def in_memory_order(found: list[Dimension], *, by_output: bool = False) -> list[Dimension]:
    """Largest strides first, by the first operand that moves along either dimension; or by the
    last operand before the others."""

    def farther(dimension: Dimension) -> tuple[int, ...]:
        steps = tuple(-abs(stride) for stride in dimension.strides)
        return (steps[-1], *steps) if by_output else steps

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

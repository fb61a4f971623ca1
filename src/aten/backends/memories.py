"""Tensors of a plan, and which of them are better copied.

Loops that step over gaps are not vectorized: where an operand is read more than once, a copy
without gaps is cheaper, and so are results that are made as the operand lies, and copied last.
Sums depend on whether a row's elements are neighbours, so the length and the step of a row decide
whether they become such, and not what lies beside it; where the step is no small one, elements
stay apart, and rows beside each other become neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from aten._core.base.dtypes import dtype
from aten.backends.fold_order import depending_on_folds
from aten.loops.geometry import Operand, Space, is_row
from aten.loops.program import FOLDS, SCANS
from aten.loops.structural import row_major
from aten.prims import Graph, Node

# Elements of a row that is long, and steps between them that are small ones; those of rows whose
# order does not matter.
_LONG_ROW = 64
_NEAR = 4
_RATHER_NEAR = 16
# Elements of an operand that is copied for speed alone.
_MOST_COPIED = 1 << 24
# Elements that the nearest cache does not hold whatever their order.
_LEAST_COPIED = 1 << 13
# Steps of a graph that are many: exponentials are as many, mean and deviation are not.
_MANY_STEPS = 40
# Folds that give the same bits in any order.
_UNORDERED = {"amax", "amin"}


@dataclass(slots=True)
class Memory:
    """A tensor of a plan: its place in the plan's list, its element type, sizes and strides."""

    source: int
    dtype: dtype
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    def operand(self, node: Node) -> Operand:
        """As an operand of a graph, strides in bytes."""
        return Operand(node, tuple(stride * self.dtype.itemsize for stride in self.strides))


def in_order_of(sizes: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of `sizes` without gaps, dimensions in memory in the order that `strides` has."""
    order = sorted(range(len(sizes)), key=lambda axis: (-strides[axis], axis))
    packed = row_major([sizes[axis] for axis in order])
    return tuple(packed[order.index(axis)] for axis in range(len(sizes)))


def straightened(graph: Graph, space: Space, memories: list[Memory]) -> dict[int, tuple[int, ...]]:
    """Operands that are copied first and results that are copied last, by their places, and the
    strides of what they are copied to or from."""
    nodes = graph.nodes()
    if any(node.prim in SCANS for node in nodes):
        return _scanned(graph, space, memories)
    folds = [node for node in nodes if node.prim in FOLDS]
    depending = depending_on_folds(nodes)
    ordered = any(node.prim not in _UNORDERED for node in folds)
    count = len(graph.inputs)
    full = [count + place for place, node in enumerate(graph.outputs) if not is_row(node, space)]
    found: dict[int, tuple[int, ...]] = {}
    # Folds that may be cut into pieces have an order for each step; they read an operand once.
    if not full and ordered and not any(id(node) in depending for node in folds):
        return found
    if not folds or any(
        not _is_row_major(memories[place].strides, memories[place]) for place in full
    ):
        return found
    for place, node in enumerate(graph.inputs):
        memory = memories[place]
        if node.shape != space.shape or is_row(node, space) or 0 in memory.strides:
            continue
        better = _better_strides(memory, space, ordered=ordered)
        if better:
            found[place] = better
        strides = in_order_of(memory.sizes, better or memory.strides)
        if place == 0 and len(nodes) >= _MANY_STEPS and not _is_row_major(strides, memory):
            found |= {result: strides for result in full if memories[result].sizes == memory.sizes}
    return found


def _scanned(graph: Graph, space: Space, memories: list[Memory]) -> dict[int, tuple[int, ...]]:
    """Operands that lie in another order than their results, which are row-major: neighbours in
    these would be read from a line each. An element's bits are those of any order."""
    found: dict[int, tuple[int, ...]] = {}
    if any(not _is_row_major(one.strides, one) for one in memories[len(graph.inputs) :]):
        return found
    for place, node in enumerate(graph.inputs):
        memory = memories[place]
        long = [axis for axis, size in enumerate(memory.sizes) if size > 1]
        if node.shape != space.shape or not long:
            continue
        step = memory.strides[long[-1]]
        nearer = any(0 < memory.strides[axis] < step for axis in long)
        if nearer and _LEAST_COPIED <= prod(memory.sizes) <= _MOST_COPIED:
            found[place] = row_major(memory.sizes)
    return found


def _is_row_major(strides: tuple[int, ...], memory: Memory) -> bool:
    """Whether a tensor of these sizes is that, whatever it says of dimensions of size one."""
    wanted = row_major(memory.sizes)
    return all(
        size == 1 or step == right
        for size, step, right in zip(memory.sizes, strides, wanted, strict=True)
    )


def _better_strides(memory: Memory, space: Space, *, ordered: bool) -> tuple[int, ...]:
    """Those of a copy, or none where there is to be no copy."""
    sizes, strides = memory.sizes, memory.strides
    reduced = [axis for axis in space.reduced if sizes[axis] > 1]
    if len(reduced) != 1:
        return ()
    (along,) = reduced
    others = [axis for axis in range(len(sizes)) if axis != along]
    near = [strides[axis] for axis in others if sizes[axis] > 1]
    if sizes[along] < _LONG_ROW or strides[along] == 1:
        return ()
    # Where copies leave bits as they are, a large operand is not worth its memory once more.
    is_near = strides[along] < _NEAR
    if not (ordered and is_near) and prod(sizes) > _MOST_COPIED:
        return ()
    if is_near or (not ordered and (strides[along] < _RATHER_NEAR or 1 not in near)):
        order = [*others, along]
        packed = row_major([sizes[axis] for axis in order])
    elif near and 1 not in near:
        order = [along, *others]
        packed = row_major([sizes[axis] for axis in order])
        packed = (max(_NEAR, packed[0]), *packed[1:])
    else:
        return ()
    return tuple(packed[order.index(axis)] for axis in range(len(sizes)))

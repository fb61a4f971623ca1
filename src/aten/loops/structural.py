"""Structural primitives as walks: what a device without kernels of its own runs of them.

A primitive becomes a few *steps*, each one walk over windows on operands and result. Where these
lie is said by strides and offsets alone for what joins, pads, turns around, contracts and folds
windows; `gather` and `scatter` have index expressions (`addressing`). Of an index that leaves its
operand the nearest element is met: whoever runs a step compares indices with sizes before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from aten._core.base.dtypes import DTYPES, dtype
from aten.loops.addressing import ELEMENT, element, inside, is_placed, number, place
from aten.prims import Graph, GraphInterpreter, Node, Number, Prim, Value
from aten.prims import elementwise as p
from aten.prims.prim import Shape
from aten.prims.structure import window_count

Dims = Sequence[int]
_HALVES = frozenset({"float16", "bfloat16"})
# Of fewer elements a fold is no loop worth having.
_SHORT_FOLD = 8


@dataclass(slots=True)
class Window:
    """What a step sees of a tensor: sizes, strides and an offset from its first element, all in
    elements. `source` counts the primitive's tensors, then its result."""

    source: int
    dtype: dtype
    sizes: Shape
    strides: Shape
    offset: int = 0

    def reach(self) -> tuple[int, int]:
        """The first and the last element that the walk may meet, from the tensor's first."""
        ends = [(size - 1) * step for size, step in zip(self.sizes, self.strides, strict=True)]
        low = sum(min(one, 0) for one in ends)
        return self.offset + low, self.offset + sum(max(one, 0) for one in ends)

    def moved(self, sizes: Dims, strides: Dims, offset: int = 0) -> Window:
        """Another window on the same tensor, `offset` elements behind this one."""
        return Window(self.source, self.dtype, tuple(sizes), tuple(strides), self.offset + offset)


@dataclass(slots=True)
class Step:
    """One walk. `windows` are those of the graph's inputs, then of its outputs.

    `serial` dimensions are walked one place after the other; `numbers` go into index expressions.
    A fold `across` goes on with all neighbours of a row of the result together.
    """

    graph: Graph
    windows: list[Window]
    numbers: list[int] = field(default_factory=list)
    serial: tuple[int, ...] = ()
    across: bool = False

    @property
    def indexed(self) -> list[Window]:
        """The windows that are met at computed addresses."""
        if not self.numbers:
            return []
        nodes = self.graph.nodes()
        bases = {id(one.inputs[0]) for one in nodes if one.prim == ELEMENT.name}
        inputs = self.graph.inputs
        found = [
            window for node, window in zip(inputs, self.windows, strict=False) if id(node) in bases
        ]
        outputs = zip(self.graph.outputs, self.windows[len(inputs) :], strict=True)
        return found + [window for node, window in outputs if is_placed(node)]


@dataclass(slots=True)
class Steps:
    """The steps of a primitive, its result, row-major and without gaps, and what is kept between
    them: tensors counted after the result."""

    steps: list[Step]
    result: Window
    kept: list[Window] = field(default_factory=list)

    def require_inside(self, inputs: Sequence[Window]) -> None:
        """Raises RuntimeError where a walk would leave a tensor: operands do not go together."""
        tensors = [*inputs, self.result, *self.kept]
        for step in self.steps:
            indexed = {id(one) for one in step.indexed}
            for window in step.windows:
                low, high = window.reach()
                if id(window) in indexed:
                    size, stride = step.numbers
                    high += (size - 1) * stride // window.dtype.itemsize
                whole = tensors[window.source]
                if 0 not in window.sizes and (low < whole.offset or high > whole.reach()[1]):
                    listed = ", ".join(str(list(one.sizes)) for one in inputs)
                    raise RuntimeError(
                        f"{step.graph.name}: operands of sizes {listed} do not go together"
                    )


def row_major(sizes: Dims) -> Shape:
    """Strides of `sizes` without gaps, the last dimension innermost."""
    strides, stride = [], 1
    for size in reversed(sizes):
        strides.append(stride)
        stride *= max(size, 1)
    return tuple(reversed(strides))


def _result(source: int, element_type: dtype, sizes: Dims) -> Window:
    return Window(source, element_type, tuple(sizes), row_major(sizes))


def _map(name: str, function: Callable[..., Value], inputs: list[Window], out: Window) -> Step:
    """A walk that writes what `function` makes of one element of each input."""
    interpreter = GraphInterpreter()
    values = [interpreter.input(at, window.dtype, window.sizes) for at, window in enumerate(inputs)]
    graph = Graph(name, [one.payload for one in values], [function(*values).payload])
    return Step(graph, [*inputs, out])


def _copy(name: str, source: Window, target: Window) -> Step:
    return _map(name, lambda value: value, [source], target)


def _along(window: Window, dim: int, sizes: Shape) -> Window:
    """The window as it is met at the places of an index: not moved along `dim`."""
    strides = tuple(0 if at == dim else step for at, step in enumerate(window.strides))
    return window.moved(sizes, strides)


def dimension(name: str, dim: int, rank: int) -> int:
    """`dim` counted from the first of so many. Raises IndexError where there is none."""
    if not -max(rank, 1) <= dim < max(rank, 1):
        raise IndexError(f"prims.{name}: dimension {dim} of {rank}")
    return dim % max(rank, 1)


def gather(a: Window, index: Window, *, dim: int) -> Steps:
    """`prims::gather`; numbers are the size and the stride along `dim`."""
    dim = dimension("gather", dim, len(a.sizes))
    result = _result(2, a.dtype, index.sizes)
    if not index.sizes:
        return Steps([_copy("gather", a, result)], result)

    def taken(window: Value, where: Value) -> Value:
        size, step = (number(window, at) for at in range(2))
        return element(window, inside(where, size) * step)

    step = _map("gather", taken, [_along(a, dim, index.sizes), index], result)
    step.numbers = [a.sizes[dim], a.strides[dim] * a.dtype.itemsize]
    return Steps([step], result)


_COMBINED = {"sum": "add", "prod": "mul", "amax": "maximum", "amin": "minimum"}


def scatter(a: Window, index: Window, src: Window, *, dim: int, combine: str) -> Steps:
    """`prims::scatter`: a copy, in which elements are placed in the order of the index."""
    dim = dimension("scatter", dim, len(a.sizes))
    result = _result(3, a.dtype, a.sizes)
    copied = _copy("scatter_from", a, result)
    sizes = index.sizes
    if not sizes:
        sizes, dim = (1,), 0
    target = _along(result.moved(a.sizes or (1,), result.strides or (1,)), dim, sizes)
    inputs = [index.moved(sizes, index.strides or (1,)), src.moved(sizes, src.strides or (1,))]
    if combine != "replace":
        inputs.append(target)

    def placed(where: Value, value: Value, *before: Value) -> Value:
        size, step = (number(where, at) for at in range(2))
        offset = inside(where, size) * step
        for window in before:
            value = _combined(combine, element(window, offset), value)
        return place(value, offset)

    step = _map("scatter", placed, inputs, target)
    step.numbers = [(a.sizes or (1,))[dim], (result.strides or (1,))[dim] * a.dtype.itemsize]
    step.serial = (dim,)
    return Steps([copied, step], result)


def _combined(combine: str, before: Value, value: Value) -> Value:
    element_type = value.dtype
    if element_type.name == "bool":
        return before | value if combine in ("sum", "amax") else before & value
    if element_type.name in _HALVES:
        before, value = (
            p.convert_element_type(one, dtype=DTYPES["float32"]) for one in (before, value)
        )
    made = Prim.table[_COMBINED[combine]](before, value)
    return p.convert_element_type(made, dtype=element_type)


def dot_general(
    a: Window,
    b: Window,
    *,
    contract_a: Dims,
    contract_b: Dims,
    batch_a: Dims,
    batch_b: Dims,
) -> Steps:
    """`prims::dot_general`: sums of products, which fold the contracted dimensions."""
    free_a, free_b = _free(a, batch_a, contract_a), _free(b, batch_b, contract_b)
    sizes = [a.sizes[dim] for dim in (*batch_a, *free_a)]
    sizes += [b.sizes[dim] for dim in free_b]
    inner = [a.sizes[dim] for dim in contract_a]
    left = [a.strides[dim] for dim in (*batch_a, *free_a)] + [0] * len(free_b)
    left += [a.strides[dim] for dim in contract_a]
    right = [b.strides[dim] for dim in batch_b] + [0] * len(free_a)
    right += [b.strides[dim] for dim in (*free_b, *contract_b)]
    walked = (*sizes, *inner)
    result = _result(2, a.dtype, sizes)
    windows = [a.moved(walked, left), b.moved(walked, right)]
    return Steps([_sums_of_products("dot_general", windows, result)], result)


def _free(window: Window, batch: Dims, contract: Dims) -> list[int]:
    return [dim for dim in range(len(window.sizes)) if dim not in (*batch, *contract)]


def _sums_of_products(name: str, windows: list[Window], result: Window) -> Step:
    """Products of all windows, folded over the dimensions that the result does not have."""
    dims = tuple(range(len(result.sizes), len(windows[0].sizes)))

    def summed(*factors: Value) -> Value:
        wide = [_widened(one) for one in factors]
        product = wide[0] * wide[1] if wide[0].dtype.name != "bool" else wide[0] & wide[1]
        if not dims:
            return p.convert_element_type(product, dtype=result.dtype)
        fold = Prim.table["sum" if product.dtype.name != "bool" else "amax"]
        return p.convert_element_type(fold(product, dims=dims), dtype=result.dtype)

    step = _map(name, summed, windows, result)
    step.across = bool(dims) and _goes_across(windows, len(result.sizes))
    return step


def _goes_across(windows: list[Window], rank: int) -> bool:
    """Whether a row of the result is a better walk than what is folded: neighbours in an operand,
    or a fold of few elements."""
    if not rank:
        return False
    return any(one.strides[rank - 1] == 1 for one in windows) or windows[0].sizes[-1] < _SHORT_FOLD


def _widened(value: Value) -> Value:
    if value.dtype.name not in _HALVES:
        return value
    return p.convert_element_type(value, dtype=DTYPES["float32"])


def conv_general(
    input: Window,
    weight: Window,
    *,
    stride: Dims,
    low: Dims,
    high: Dims,
    dilation: Dims,
    input_dilation: Dims,
    groups: int,
) -> Steps:
    """`prims::conv_general`: sums of products of windows of the padded input, kept in between."""
    gaps = [one - 1 for one in input_dilation]
    padded = pad(input, value=0, low=(0, 0, *low), high=(0, 0, *high), interior=(0, 0, *gaps))
    wide = Window(3, input.dtype, padded.result.sizes, padded.result.strides)
    for step in padded.steps:
        step.windows[-1].source = wide.source
    batch, _, *spatial = wide.sizes
    outs, inner, *window = weight.sizes
    counts = [window_count(*one) for one in zip(spatial, window, stride, dilation, strict=True)]
    if groups < 1 or outs % groups or inner * groups != wide.sizes[1]:
        raise RuntimeError(
            f"prims.conv_general: {wide.sizes[1]} channels and weights of sizes "
            f"{list(weight.sizes)} do not make {groups} groups"
        )
    each = outs // groups
    walked = (batch, groups, each, *counts, inner, *window)
    moves = [one * by for one, by in zip(wide.strides[2:], stride, strict=True)]
    spread = [one * by for one, by in zip(wide.strides[2:], dilation, strict=True)]
    of_group = inner * wide.strides[1]
    seen = wide.moved(walked, (wide.strides[0], of_group, 0, *moves, wide.strides[1], *spread))
    none = [0] * len(counts)
    kernels = weight.moved(
        walked, (0, each * weight.strides[0], weight.strides[0], *none, *weight.strides[1:])
    )
    result = _result(2, input.dtype, (batch, outs, *counts))
    grouped = result.moved(
        (batch, groups, each, *counts), row_major((batch, groups, each, *counts))
    )
    steps = [*padded.steps, _sums_of_products("conv_general", [seen, kernels], grouped)]
    return Steps(steps, result, [wide])


def pad(a: Window, *, value: Number, low: Dims, high: Dims, interior: Dims) -> Steps:
    """`prims::pad`: all of the value, then what stays of the operand, apart as it is to be."""
    spread = [size + max(size - 1, 0) * gap for size, gap in zip(a.sizes, interior, strict=True)]
    sizes = [size + x + y for size, x, y in zip(spread, low, high, strict=True)]
    result = _result(1, a.dtype, sizes)
    steps = [_filled("pad_with", value, result)] if math.prod(sizes) else []
    kept, begin, first = [], 0, 0
    for dim, (x, gap) in enumerate(zip(low, interior, strict=True)):
        # The first element that stays, and where it goes; those that stay end with the result.
        lost = -(min(x, 0) // (gap + 1))
        at = x + lost * (gap + 1)
        room = -(-max(sizes[dim] - at, 0) // (gap + 1))
        kept.append(max(min(a.sizes[dim] - lost, room), 0))
        begin += at * result.strides[dim]
        first += lost * a.strides[dim]
    if math.prod(kept):
        apart = [step * (gap + 1) for step, gap in zip(result.strides, interior, strict=True)]
        target = result.moved(kept, apart, begin)
        steps.append(_copy("pad", a.moved(kept, a.strides, first), target))
    return Steps(steps, result)


def _filled(name: str, value: Number, result: Window) -> Step:
    made = GraphInterpreter().constant(value, result.dtype).payload
    return Step(Graph(name, [], [spread_node(made, result.sizes)]), [result])


def spread_node(node: Node, sizes: Shape) -> Node:
    """A constant that is the same everywhere in `sizes`; other nodes have these themselves."""
    if node.shape == sizes:
        return node
    params = {"shape": sizes, "broadcast_dimensions": ()}
    return Node("broadcast_in_dim", (node,), params, node.dtype, sizes)


def cat(*tensors: Window, dim: int) -> Steps:
    """`prims::cat`: a copy of each tensor to its part of the result."""
    sizes = list(tensors[0].sizes)
    dim = dimension("cat", dim, len(sizes))
    sizes[dim] = sum(one.sizes[dim] for one in tensors)
    result = _result(len(tensors), tensors[0].dtype, sizes)
    steps, begin = [], 0
    for one in tensors:
        if math.prod(one.sizes):
            target = result.moved(one.sizes, result.strides, begin * result.strides[dim])
            steps.append(_copy("cat", one, target))
        begin += one.sizes[dim]
    return Steps(steps, result)


def rev(a: Window, *, dims: Dims) -> Steps:
    """`prims::rev`: a walk from the other end."""
    result = _result(1, a.dtype, a.sizes)
    every = [dimension("rev", dim, len(a.sizes)) for dim in dims]
    if not math.prod(a.sizes):
        return Steps([], result)
    begin = sum((a.sizes[dim] - 1) * a.strides[dim] for dim in every)
    strides = [-step if dim in every else step for dim, step in enumerate(a.strides)]
    return Steps([_copy("rev", a.moved(a.sizes, strides, begin), result)], result)


# What has steps; the others need a kernel for each device, or are made of these.
LOWERED: dict[str, Callable[..., Steps]] = {
    one.__name__: one for one in (gather, scatter, dot_general, conv_general, pad, cat, rev)
}

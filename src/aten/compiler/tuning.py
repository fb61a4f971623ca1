"""`mode="max-autotune"`: both ways to compute a stretch of a program are measured.

The stretch becomes two small programs over random numbers of the same sizes, one as the rewrite
would have it and one without, and they take turns. As within a program, what a call reads was just
written, and its weights have not been read for a while. What was measured once is known to all
programs of the process that use as many threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

from aten._core.tensor.construct import empty_strided
from aten._core.tensor.tensor import Tensor
from aten._core.threads.parallel import get_num_threads
from aten.compiler.programs import CompiledProgram
from aten.compiler.rewrites.choosing import Choices
from aten.grad_mode import inference_mode, no_grad
from aten.graph.ir import Graph, Node, TensorMeta, concrete, map_nodes
from aten.random import fork_rng
from aten.registry import ops

# Seconds of a comparison, and rounds at least and at most.
_SECONDS = 0.03
_FEWEST, _MOST = 5, 200
# Elements of what is read between two calls: more than caches that a processor has for itself.
_ELSEWHERE = 1 << 22
# By how much the way that is against the rule has to be faster.
_MARGIN = 0.97


class _Seconds(NamedTuple):
    """Of the fastest call of each way."""

    fused: float
    apart: float


_known: dict[Any, _Seconds] = {}


class MeasuredChoices(Choices):
    """Choices of what is faster. Stretches whose sizes are not known follow the rule."""

    def fuses(self, kind: str, nodes: Sequence[Node], steady: set[Node], rule: bool) -> bool:
        operands = _operands(nodes)
        if not all(map(_is_known, (*operands, *nodes))):
            return rule
        key = (kind, get_num_threads(), _spelled(nodes, operands, steady))
        if key not in _known:
            _known[key] = _measured(kind, nodes, operands, steady)
        seconds = _known[key]
        found = self._better(seconds, rule)
        self.notes.append(
            f"measured: {nodes[-1].name} {'with' if found else 'without'} {kind}, "
            f"{1e6 * seconds.fused:.0f} us with and {1e6 * seconds.apart:.0f} us without it"
        )
        return found

    def _better(self, seconds: _Seconds, rule: bool) -> bool:
        if rule:
            return seconds.apart >= _MARGIN * seconds.fused
        return seconds.fused < _MARGIN * seconds.apart


class _Forced(Choices):
    """One kind of rewrite always or never, others by their rules."""

    def __init__(self, kind: str, wanted: bool) -> None:
        super().__init__()
        self._kind = kind
        self._wanted = wanted

    def fuses(self, kind: str, nodes: Sequence[Node], steady: set[Node], rule: bool) -> bool:
        return self._wanted if kind == self._kind else rule


def _operands(nodes: Sequence[Node]) -> list[Node]:
    """What the stretch reads and does not compute, each once."""
    read = dict.fromkeys(one for node in nodes for one in node.all_input_nodes)
    return [one for one in read if one not in nodes]


def _is_known(node: Node) -> bool:
    """Whether it is a tensor of floating-point numbers whose sizes are numbers."""
    meta = node.meta.get("val")
    return (
        isinstance(meta, TensorMeta)
        and meta.dtype.is_floating_point
        and all(isinstance(size, int) for size in (*meta.shape, *meta.stride))
    )


def _spelled(nodes: Sequence[Node], operands: Sequence[Node], steady: set[Node]) -> Any:
    """What decides how long a stretch takes."""
    places = {node: f"%{place}" for place, node in enumerate((*operands, *nodes))}
    calls = [(one.target, repr(map_nodes((one.args, one.kwargs), places.get))) for one in nodes]
    read = [(repr(one.meta["val"]), one in steady) for one in operands]
    return tuple(calls), tuple(read)


def _measured(
    kind: str, nodes: Sequence[Node], operands: Sequence[Node], steady: set[Node]
) -> _Seconds:
    given = [one for one in operands if one not in steady]
    constants = [one for one in operands if one in steady]
    graph = _stretch(nodes, [*given, *constants])
    with inference_mode(False), no_grad(), fork_rng():
        tensors = [_drawn(one.meta["val"]) for one in given]
        weights = [_drawn(one.meta["val"]) for one in constants]

        def program(wanted: bool) -> Callable[[], Any]:
            made = CompiledProgram(graph, weights, (), choices=_Forced(kind, wanted))
            return lambda: made.values(tensors)

        elsewhere = ops.aten.ones.default([_ELSEWHERE])

        def as_within() -> None:
            elsewhere.sum()
            for one in tensors:
                one.neg_()

        return _compared(program(True), program(False), as_within)


def _stretch(nodes: Sequence[Node], inputs: Sequence[Node]) -> Graph:
    """The nodes as a program of their own."""
    graph = Graph()
    current: dict[Node, Node] = {}
    for one in inputs:
        current[one] = Node(one.name, "placeholder", one.name, meta=one.meta)
    for one in nodes:
        args, kwargs = map_nodes((one.args, one.kwargs), current.__getitem__)
        current[one] = Node(one.name, one.op, one.target, args, kwargs, one.meta)
    result = Node("output", "output", "output", ((current[nodes[-1]],),))
    graph.nodes = [*current.values(), result]
    return graph


def _drawn(meta: TensorMeta) -> Tensor:
    """A tensor like this one, whose sizes are numbers."""
    shape, stride = (
        [int(concrete(one, {})) for one in given] for given in (meta.shape, meta.stride)
    )
    made = empty_strided(shape, stride, meta.dtype, meta.device)
    drawn: Tensor = made.uniform_(-1, 1)
    return drawn


def _compared(
    fused: Callable[[], Any], apart: Callable[[], Any], before_each: Callable[[], None]
) -> _Seconds:
    """Both in turn, after a call of each that lays out weights and makes kernels."""
    best = [float("inf"), float("inf")]
    for call in (fused, apart):
        call()
    begun = perf_counter()
    for count in range(_MOST):
        for place, call in enumerate((fused, apart)):
            before_each()
            before = perf_counter()
            call()
            best[place] = min(best[place], perf_counter() - before)
        if count + 1 >= _FEWEST and perf_counter() - begun > _SECONDS:
            break
    return _Seconds(*best)

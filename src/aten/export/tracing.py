"""One run of a function on fake tensors, with every operator it calls in a graph."""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Mapping, Sequence
from types import CodeType
from typing import Any

from aten._core.base.errors import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    NoElementsError,
)
from aten._core.base.keys import gradient_modes
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.tensor.tensor import Tensor
from aten.export.common_forms import DecomposeForFiles, common_form, core_form
from aten.export.dimensions import CaptureError
from aten.export.places import Place, Provenance, place_of_error, provenance
from aten.export.regions import Region, RegionRecorder, Regions
from aten.grad_mode import set_grad_enabled
from aten.graph.ir import Node, TensorMeta, map_nodes
from aten.graph.pytree import TreeSpec, flattened
from aten.ops.unknown_sizes import saying_now
from aten.registry import USER_DEFINED, ops
from aten.transforms import FakeTensorMode, Functionalize

_DATA_ERRORS = (DataDependentOutputException, DynamicOutputShapeException, NoElementsError)
_COPY = "aten::copy_"
_DETACH = "aten.detach.default"
_SEEDED = "nondeterministic_seeded"


class Tracer(RegionRecorder):
    """Records calls with where they came from, and the last value of what is written to.

    Attributes:
        mutations: placeholders that the function writes to, with what they hold at the end.
        came_from: the provenance of each call.
    """

    def __init__(self, until: CodeType, modules: Mapping[int, str] | None, to: str | None) -> None:
        super().__init__()
        self.to = to
        self.until = until
        self.modules = modules
        self.mutations: dict[Node, Node] = {}
        self.came_from: dict[Node, Provenance] = {}
        self.taken: set[str] = set()
        # Calls that give the same: the first one's result by what is called, and the first ones.
        self.firsts: dict[str, tuple[Node, Tensor]] = {}
        self.first_of: dict[Node, Node] = {}
        # What calls with gradients use of what was computed without.
        self.ends: dict[Node, Node] = {}

    def inner(self) -> Tracer:
        made = Tracer(self.until, self.modules, self.to)
        made.taken = self.taken
        return made

    def graph_name(self, wanted: str) -> str:
        count = 0
        while f"{wanted}_{count}" in self.taken:
            count += 1
        self.taken.add(f"{wanted}_{count}")
        return f"{wanted}_{count}"

    def free_name(self, target: str) -> str:
        name = super().free_name(target)
        while name in self.taken:
            name = super().free_name(target)
        self.taken.add(name)
        return name

    def placeholder(self, name: str, value: Tensor) -> Node:
        node = Node(name, "placeholder", name)
        self.taken.add(name)
        self.inputs.append(node)
        self.name(value, node)
        return node

    def call(self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.paused:
            return op(*args, **kwargs)
        if op.qualified_name == _COPY:
            return self.written(args[0], args[1])
        common = common_form(op) if self.to != "prims" else None
        if common is not None:
            with self:
                return common(*args, **kwargs)
        results = op(*args, **kwargs)
        form = core_form(op, args, kwargs, results) if self.to == "core" else None
        return self.recorded(*(form or (op, args, kwargs)), results)

    def recorded(
        self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], results: Any
    ) -> Any:
        made = super().recorded(op, args, kwargs, results)
        if isinstance(results, Tensor):
            self.note_same(op, self.calls[-1], results)
        return made

    def note_same(self, op: OpOverload, node: Node, result: Tensor) -> None:
        """Notes calls that give what others gave: data choose the same sizes by them."""
        sizes = saying_now()
        # Of memory nobody wrote to, drawn numbers and functions of others nobody knows.
        unknown = op.entry.kind in ("factory", USER_DEFINED) or _SEEDED in op.entry.tags
        if sizes is None or unknown:
            return

        def first(one: Node) -> Node:
            return self.first_of.get(one, one)

        called = f"{node.target} {map_nodes(node.args, first)} {map_nodes(node.kwargs, first)}"
        known, same = self.firsts.setdefault(called, (node, result))
        self.first_of[node] = known
        if known is not node and op.entry.kind != "view":
            sizes.same(result, same)

    def written(self, target: Tensor, value: Tensor) -> Tensor:
        """What a tensor from outside holds at the end."""
        node = super().find(target)
        if node is None or node in self.constants_met():
            raise CaptureError(
                f"the function writes to a tensor of {list(target.shape)} that is neither an "
                f"argument nor a buffer: register it as a buffer"
            )
        if node.op != "placeholder":
            raise CaptureError(f"the function writes to memory that {node.name} is a view of")
        self.mutations[node] = self.held(value)
        return target

    def constants_met(self) -> set[Node]:
        return {node for node in self.inputs if node.target.startswith("constant_")}

    def find(self, value: Tensor) -> Node | None:
        """The node of a tensor; of one that was written to, what it holds at the end."""
        node = super().find(value)
        return self.mutations.get(node, node) if node is not None else None

    def noted(self, value: Any) -> Any:
        """As recorders have it; gradients end at what was computed where none were wanted."""
        made = super().noted(value)
        if not isinstance(value, Tensor) or not gradient_modes()[0]:
            return made
        return self.detached(made)

    def held(self, value: Tensor) -> Node:
        """What is copied to a tensor from outside, which takes no gradients."""
        made: Node = super().noted(value)
        return made

    def detached(self, node: Node) -> Node:
        record = node.meta.get("val")
        if node.meta.get("gradients", True) or not isinstance(record, TensorMeta):
            return node
        if not (record.dtype.is_floating_point or record.dtype.is_complex):
            return node
        if node not in self.ends:
            self.ends[node] = self.add("call_function", _DETACH, (node,))
            self.ends[node].meta["val"] = record
        return self.ends[node]

    def add(
        self,
        op: str,
        target: str,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Node:
        node = super().add(op, target, args, kwargs)
        if op == "call_function" and not gradient_modes()[0]:
            node.meta["gradients"] = False
        if op == "call_function" and self.modules is not None:
            self.came_from[node] = provenance(sys._getframe(1), self.until, self.modules)
        return node


class Trace:
    """What one run gave.

    Attributes:
        inputs: placeholders of the tensors given, by their names.
        calls: nodes of calls, in their order, those that nobody uses among them.
        constants: tensors that the function used besides, with their placeholders.
        mutations: placeholders that are written to, with what they hold at the end.
        results: leaves of what it returned: nodes for tensors, and plain values.
        out_spec: how these are nested.
        came_from: where each call came from.
        regions: functions that operators take, by the names of their graphs.
    """

    regions: dict[str, Region]

    def __init__(self, tracer: Tracer, results: list[Any], out_spec: TreeSpec) -> None:
        constants = tracer.constants_met()
        self.inputs = {node.name: node for node in tracer.inputs if node not in constants}
        met = [node for node in tracer.inputs if node in constants]
        self.constants = list(zip(met, tracer.constants, strict=True))
        self.calls = tracer.calls
        self.mutations = tracer.mutations
        self.results = results
        self.out_spec = out_spec
        self.came_from = tracer.came_from
        self.regions = tracer.regions

    def place(self, node: Node) -> Place | None:
        found = self.came_from.get(node)
        return found.place if found is not None else None


Called = Callable[[FakeTensorMode], Any]


def trace(
    function: Callable[..., Any],
    named: Sequence[tuple[str, Tensor]],
    mode: FakeTensorMode,
    modules: Mapping[int, str] | None,
    to: str | None = None,
    assigned: Callable[[], Mapping[str, Tensor]] = dict,
    gradients: bool = True,
) -> Trace:
    """Runs a function of no arguments that uses the named fake tensors.

    `modules` are the paths of modules by identity, or None where nobody asks where calls come from.
    `to` is the set of operators that others are taken apart to: "core", "prims", or None.
    `assigned`, asked when the function has run, gives the tensors that it put into the place of
    named ones. `gradients` is whether the function is run where they are wanted.

    Raises CaptureError where what the function does depends on the values of tensors, and what the
    function raises.
    """
    tracer = Tracer(trace.__code__, modules, to)
    functional = Functionalize()
    with set_grad_enabled(gradients), mode:
        for name, value in named:
            tracer.placeholder(name, value)
        with tracer:
            try:
                with Regions(tracer, functional, mode), functional:
                    if to is None:
                        results = function()
                    else:
                        with DecomposeForFiles(to):
                            results = function()
                leaves, out_spec = flattened(results)
                leaves = [
                    functional.returned(one) if isinstance(one, Tensor) else one for one in leaves
                ]
                held = {name: functional.returned(one) for name, one in assigned().items()}
                # What is copied to at the end is read before.
                memory = {_memory(value) for name, value in named if name in held}
                leaves = [_apart(one, memory) for one in leaves]
                held = {name: _apart(one, memory) for name, one in held.items()}
            except _DATA_ERRORS as error:
                raise _data_error(error) from error
            noted = [_noted(tracer, one) for one in leaves]
            placeholders = {node.name: node for node in tracer.inputs}
            for name, value in held.items():
                tracer.mutations[placeholders[name]] = tracer.held(value)
    return Trace(tracer, noted, out_spec)


def _memory(tensor: Tensor) -> int:
    return id(tensor.untyped_storage())


def _apart(leaf: Any, memory: Container[int]) -> Any:
    """A copy of a tensor in memory that is going to be written to."""
    if not isinstance(leaf, Tensor) or _memory(leaf) not in memory:
        return leaf
    return ops.aten.clone(leaf)


def _noted(tracer: Tracer, leaf: Any) -> Any:
    if isinstance(leaf, Tensor):
        return tracer.noted(leaf)
    if leaf is None or isinstance(leaf, (bool, int, float, str)):
        return leaf
    raise CaptureError(f"the function returns a {type(leaf).__name__}, not tensors and numbers")


def _data_error(error: Exception) -> CaptureError:
    place = place_of_error(error.__traceback__)
    where = "" if place is None else f"{place}: {place.source!r}: "
    for note in getattr(error, "__notes__", ()):
        # Scripted functions are nowhere on the stack.
        where = f"{note}: " if note.startswith("in the script") else where
    return CaptureError(
        f"{where}the program asks for the values of a tensor, which are not known before it runs "
        f"({error}). What is to be decided by data is said with aten.where or aten.cond"
    )

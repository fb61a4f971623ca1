"""Primitives as launches of generated code, on devices whose memory the host cannot address.

A device gives a generator, which turns a `Program` into whatever it runs, and `launch`, which asks
a stream for it. What is launched is told by handles, bytes and counts: nothing is an address.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from aten import registry
from aten._core.base.device import device
from aten._core.base.dtypes import dtype
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.tensor.tensor import Tensor
from aten.backends.contract import DeviceBackend, LoopGenerator
from aten.backends.memories import Memory
from aten.backends.plans import Parts, plan_graph, plan_steps
from aten.backends.prims import function_of
from aten.backends.streams import current_stream
from aten.backends.structural_loops import check_indices, lowered
from aten.backends.terms import LaunchTerms
from aten.loops.pipeline import prepare
from aten.loops.program import Program
from aten.loops.structural import LOWERED
from aten.prims import Graph, GraphInterpreter, Prim, Value
from aten.registry import ops

_MAXIMUM_PLANS = 512
_INDEXED = ("gather", "scatter")


@dataclass(frozen=True, slots=True)
class Part:
    """What of a device's memory an operand of a launch begins at: a handle and a byte in it."""

    handle: Any
    offset: int
    dtype: dtype


@dataclass(frozen=True, slots=True)
class Launch:
    """One run of generated code.

    `code` is what the generator made of `program`. The others are those of `LaunchTerms`.
    """

    label: str
    code: Any
    program: Program
    sizes: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]
    reduced: tuple[int, ...]
    sources: tuple[int, ...] = field(repr=False)
    offsets: tuple[int, ...] = field(repr=False)
    work: int = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Described:
    """Tensors that a plan allocates."""

    dtype: dtype
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    def allocated(self, place: device) -> Tensor:
        made: Tensor = ops.aten.empty_strided(
            self.sizes, self.strides, dtype=self.dtype, device=place
        )
        return made


class _Plan:
    """Launches and what they need; the parts are those of the CPU's plans, and nothing is an
    address."""

    def __init__(
        self,
        launches: Sequence[Launch],
        outputs: Sequence[Any],
        temporaries: Sequence[Any],
        inputs: int,
        single: bool,
        device_type: int,
        executes: bool,
    ) -> None:
        self.launches = launches
        self.fresh = [_Described(*one) for one in (*outputs, *temporaries)]

    def run(self, backend: DeviceBackend, tensors: Sequence[Tensor]) -> Tensor:
        """The result for tensors like those that the plan was made for."""
        place = tensors[0].device
        made = [one.allocated(place) for one in self.fresh]
        every = [*tensors, *made]
        stream = current_stream(backend, place.index or 0)
        for launch in self.launches:
            parts = [
                _part(every[source], offset)
                for source, offset in zip(launch.sources, launch.offsets, strict=True)
            ]
            backend.launch(launch, parts, stream)
        return made[0]


def _part(tensor: Tensor, offset: int) -> Part:
    begin = tensor.storage_offset() * tensor.itemsize + offset
    return Part(tensor.untyped_storage().handle, begin, tensor.dtype)


def launched_kernels(
    backend: DeviceBackend, generator: LoopGenerator
) -> dict[str, Callable[..., Any]]:
    """A kernel for each primitive that becomes loops."""
    found: dict[str, Callable[..., Any]] = {
        prim.name: _Launched(backend, generator, prim.name).call
        for prim in Prim.table.values()
        if prim.kind != "shape"
    }
    found |= {name: _Launched(backend, generator, name).call for name in LOWERED}
    return found


class _Launched:
    """The kernel of one primitive: its plans by what the tensors and parameters are."""

    def __init__(self, backend: DeviceBackend, generator: LoopGenerator, name: str) -> None:
        self.backend = backend
        self.generator = generator
        self.name = name
        self.plans: dict[Any, _Plan] = {}

    def call(self, *given: Any, **named: Any) -> Tensor:
        op = registry.operator(f"prims::{self.name}")
        arguments = [*given, *named.values()]
        names = [one.name for one in op._schema.arguments]
        by_name = {**dict(zip(names, given, strict=False)), **named}
        tensors = [one for value in arguments for one in _tensors_of(value)]
        if self.name in _INDEXED:
            check_indices(self.name, tensors[0], tensors[1], by_name["dim"])
        key = tuple((name, _key_of(value)) for name, value in by_name.items())
        plan = self.plans.get(key)
        if plan is None:
            if len(self.plans) >= _MAXIMUM_PLANS:
                self.plans.clear()
            plan = self.plans[key] = self._plan(op, by_name, tensors)
        return plan.run(self.backend, tensors)

    def _plan(self, op: OpOverload, named: dict[str, Any], tensors: list[Tensor]) -> _Plan:
        generator, programs = self.generator, list[Program]()

        def generate(program: Program) -> tuple[Any, Any]:
            programs.append(program)
            return generator(program), None

        def launch(terms: LaunchTerms, code: Any, owner: Any) -> Launch:
            return Launch(code=code, program=programs[-1], **terms.as_dict())

        parts = Parts(_Plan, launch)
        common: dict[str, Any] = {
            "generate": generate,
            "device_type": 0,
            "target": generator.target,
            "parts": parts,
        }
        if self.name in LOWERED:
            steps, inputs = lowered(LOWERED[self.name], op, list(named.values()))
            made: Any = plan_steps(steps, inputs, prepared=self._prepared, **common)
        else:
            graph = self._prepared(_graph_of(self.name, op, named))
            memories = [
                Memory(place, one.dtype, tuple(one.shape), one.stride())
                for place, one in enumerate(tensors)
            ]
            made = plan_graph(graph, memories, single=True, **common)
        return made  # type: ignore[no-any-return]

    def _prepared(self, graph: Graph) -> Graph:
        return prepare(graph, self.generator.lacking())


def _graph_of(name: str, op: OpOverload, named: dict[str, Any]) -> Graph:
    """The graph of one primitive of elements, or of one fold."""
    interpreter, inputs = GraphInterpreter(), list[Value]()
    values = dict(named)
    for key, value in named.items():
        if isinstance(value, Tensor):
            inputs.append(interpreter.input(len(inputs), value.dtype, tuple(value.shape)))
            values[key] = inputs[-1]
    made = function_of(Prim.table[name], op)(**values)
    return Graph(name, [one.payload for one in inputs], [made.payload])


def _tensors_of(value: Any) -> list[Tensor]:
    if isinstance(value, (list, tuple)):
        return [one for one in value if isinstance(one, Tensor)]
    return [value] if isinstance(value, Tensor) else []


def _key_of(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.dtype, tuple(value.shape), value.stride()
    if isinstance(value, (list, tuple)):
        return tuple(map(_key_of, value))
    return type(value), value

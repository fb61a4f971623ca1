"""A device without memory: what a program would launch on it is noted, and nothing runs.

Operators become launches as on any device that generates code (`aten.backends.contract`): whole
groups by their plan, all others by their primitives. What comes out are buffers, and launches of
the CPU's kernels over them, in order.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from aten._core.base.device import device
from aten._core.tensor.tensor import Tensor
from aten.backends.contract import DeviceBackend, LoopGenerator, register
from aten.backends.cpu.codegen import compile_program, lacking
from aten.backends.cpu.target import HOST
from aten.backends.launching import Launch, Part
from aten.backends.memories import Memory
from aten.backends.plans import Parts, plan_graph
from aten.backends.terms import LaunchTerms
from aten.graph.writing.payloads import bytes_of
from aten.loops.pipeline import prepare
from aten.loops.program import Program
from aten.loops.target import Target
from aten.prims import Graph, GraphInterpreter
from aten.registry import ops

NAME = "traced"
_COMPONENT = "PrivateUse3"
# A launch of a plan, and the text of its kernel's program.
_Launched = tuple[LaunchTerms, str]
# By the text of a program, which of its operands it writes to.
_written: dict[str, tuple[int, ...]] = {}


class DataNeededError(RuntimeError):
    """An operator looks at values, which are not there."""


@dataclass(eq=False, slots=True)
class Buffer:
    """Memory of the device: its size in bytes, and what is in it from the start, if anything."""

    nbytes: int
    content: bytes | None = None


@dataclass(slots=True)
class Traced:
    """One launch: the text of its kernel's program, the walk, and a place for each operand."""

    program: str
    sizes: Sequence[int]
    strides: Sequence[Sequence[int]]
    reduced: Sequence[int]
    places: list[tuple[Buffer, int]]


class _Generator(LoopGenerator):
    target: Target = HOST

    def __call__(self, program: Program) -> str:
        compile_program(program)
        text = str(program)
        stored = {
            one.memory.name
            for block in program.blocks
            for one in block.instructions
            if one.operation == "store" and one.memory is not None
        }
        names = [one.name for one in program.operands]
        _written[text] = tuple(place for place, name in enumerate(names) if name in stored)
        return text

    def lacking(self) -> Collection[str]:
        return lacking()


@dataclass(eq=False)
class TracingDevice(DeviceBackend):
    """The device; `launches` is what was asked of it so far."""

    name = NAME
    launches: list[Traced] = field(default_factory=list)

    def allocate(self, nbytes: int, index: int) -> Buffer:
        return Buffer(nbytes)

    def copy(self, target: Buffer, source: Buffer, nbytes: int) -> None:
        raise DataNeededError("memory is copied as a whole")

    def copy_from_host(self, target: Tensor, source: Tensor) -> None:
        laid = ops.aten.empty_strided(target.shape, target.stride(), dtype=source.dtype)
        buffer = handle_of(target)
        content = bytes(bytes_of(laid.copy_(source)))
        begin = target.storage_offset() * target.itemsize
        before = buffer.content if buffer.content is not None else bytes(buffer.nbytes)
        buffer.content = before[:begin] + content + before[begin + len(content) :]

    def copy_to_host(self, target: Tensor, source: Tensor) -> None:
        raise DataNeededError("what it does depends on values")

    def copy_within(self, target: Tensor, source: Tensor) -> None:
        value = GraphInterpreter().input(0, source.dtype, tuple(source.shape))
        graph = prepared(Graph("copy", [value.payload], [value.payload]))
        self.plan(graph, [source], [target])

    def generator(self) -> LoopGenerator:
        return _Generator()

    def launch(self, launch: Launch, parts: Sequence[Part], stream: Any) -> None:
        places = [(part.handle, part.offset) for part in parts]
        self.launches.append(
            Traced(launch.code, launch.sizes, launch.strides, launch.reduced, places)
        )

    def plan(self, graph: Graph, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> None:
        """Launch what computes a graph of primitives, which the results have room for."""
        memories = [
            Memory(place, one.dtype, tuple(one.shape), one.stride())
            for place, one in enumerate(inputs)
        ]
        planned: Any = plan_graph(
            graph,
            memories,
            generate=generate,
            device_type=0,
            single=len(outputs) == 1,
            target=HOST,
            strides=[one.stride() for one in outputs],
            parts=parts(),
        )
        self.run(planned, inputs, outputs)

    def run(
        self,
        planned: tuple[list[_Launched], Sequence[Any]],
        inputs: Sequence[Tensor],
        outputs: Sequence[Tensor],
    ) -> None:
        """Note the launches of a plan on these tensors."""
        launches, temporaries = planned
        made = [
            ops.aten.empty_strided(sizes, strides, dtype=element, device=NAME)
            for element, sizes, strides in temporaries
        ]
        every = [*inputs, *outputs, *made]
        for terms, program in launches:
            places = [
                (
                    handle_of(every[source]),
                    every[source].storage_offset() * every[source].itemsize + offset,
                )
                for source, offset in zip(terms.sources, terms.offsets, strict=True)
            ]
            self.launches.append(Traced(program, terms.sizes, terms.strides, terms.reduced, places))


def handle_of(tensor: Tensor) -> Buffer:
    """The buffer that a tensor of the device lies in."""
    found: Any = tensor.untyped_storage().handle
    assert isinstance(found, Buffer)
    return found


def written(program: str) -> tuple[int, ...]:
    """The operands that the kernel of a program writes to."""
    return _written[program]


def parts() -> Parts:
    """What plans are made of that `TracingDevice.run` takes."""
    return Parts(_planned, _launch)


def generate(program: Program) -> tuple[Any, Any]:
    """The text of a program whose kernel has been compiled, as plans ask for addresses."""
    return _Generator()(program), None


def prepared(graph: Graph) -> Graph:
    """A graph in terms of what the generator knows."""
    return prepare(graph, lacking())


def _planned(
    launches: list[_Launched], outputs: Sequence[Any], temporaries: Sequence[Any], *_: Any
) -> tuple[list[_Launched], Sequence[Any]]:
    return launches, temporaries


def _launch(terms: LaunchTerms, program: str, owner: None) -> _Launched:
    return terms, program


_device: list[TracingDevice] = []


def tracing_device() -> TracingDevice:
    """The process's device, which is put in place when it is first asked for."""
    if not _device:
        made = TracingDevice()
        register(made, _COMPONENT)
        _device.append(made)
    return _device[0]


def place() -> device:
    """The device as tensors say it."""
    tracing_device()
    return device(NAME)

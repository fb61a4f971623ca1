"""A device with streams and a code generator, and without a kernel of its own.

Programs of loops become functions over NumPy arrays. A launch is a task in a stream's queue, which
runs when somebody waits for the device. Memory is a handle that only this file looks into.

    python examples/backend_loops.py
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy

import aten
from aten import backends
from aten.loops.structural import LOWERED
from aten.prims import Prim, StructuralPrim


class Memory:
    """A handle: bytes that only this file looks at."""

    def __init__(self, nbytes: int) -> None:
        self.__bytes = numpy.zeros(-(-nbytes // 16) * 16, numpy.uint8)

    def elements(self, name: str) -> Any:
        """All of it as elements of a type of NumPy's."""
        return self.__bytes.view(numpy.dtype(name))

    def take(self, source: Memory, nbytes: int) -> None:
        self.__bytes[:nbytes] = source.__bytes[:nbytes]


class Stream:
    """What was asked for and is not done yet, in order."""

    def __init__(self) -> None:
        self.tasks: list[Callable[[], None]] = []
        self.done = 0

    def ask(self, task: Callable[..., None], *given: Any) -> None:
        self.tasks.append(partial(task, *given))

    def wait(self, other: Stream) -> None:
        """Go on only when all that `other` was asked for until now is done."""
        self.ask(other.finish, other.done + len(other.tasks))

    def finish(self, count: float = float("inf")) -> None:
        """Do what was asked for, up to the task of this number."""
        while self.tasks and self.done < count:
            self.done += 1
            self.tasks.pop(0)()


class Code(backends.LoopGenerator):
    """Makes code of a program: a function that runs it for one launch."""

    def __call__(self, program: Any) -> Callable[..., None]:
        return partial(run, program)


def run(program: Any, launch: backends.Launch, parts: Sequence[backends.Part]) -> None:
    """One launch: each block for all kept points at once."""
    Run(program, launch, parts).all()


class Run:
    """The values of a run. Kept dimensions come first, the reduced ones of row values are 1."""

    def __init__(
        self, program: Any, launch: backends.Launch, parts: Sequence[backends.Part]
    ) -> None:
        rank, count = program.reduced_rank, len(parts)
        words = list(launch.reduced)
        walk = words[: 1 + rank * (1 + count)] if rank else []
        self.extent = walk[0] if rank else 0
        self.numbers = words[len(walk) :]
        self.kept = tuple(reversed(launch.sizes))
        self.reduced = tuple(walk[1 : 1 + rank])
        self.program = program
        self.values: dict[int, Any] = {}
        self.memory: dict[str, tuple[Any, Any, int]] = {}
        for place, (operand, part) in enumerate(zip(program.operands, parts, strict=True)):
            steps = [step[place] for step in reversed(launch.strides)]
            inner = walk[1 + rank * (1 + place) : 1 + rank * (2 + place)]
            # Byte addresses: of all kept points, and what each reduced element adds.
            at = part.offset + grid(self.kept, steps).reshape((*self.kept, *[1] * rank))
            along = grid(self.reduced, inner)
            elements = part.handle.elements(operand.dtype.name)
            self.memory[operand.name] = (elements, (at, along), operand.dtype.itemsize)

    def all(self) -> None:
        for block in self.program.blocks:
            body = block.instructions
            if block.kind == "row":
                self.block(body, None)
            elif any(one.operation == "store" and one.offset is not None for one in body):
                # Two elements may go to one place: one after the other.
                for place in numpy.ndindex(self.reduced):
                    self.block(body, tuple(slice(one, one + 1) for one in place))
            else:
                self.block(body, ...)

    def block(self, body: Sequence[Any], where: Any) -> None:
        """Instructions for the reduced elements at `where`; None for row values."""
        for one in body:
            if one.memory is not None:
                self.access(one, where)
            elif one.is_fold or one.is_scan:
                self.values[id(one)] = self.folded(one)
            else:
                self.values[id(one)] = self.computed(one)

    def access(self, one: Any, where: Any) -> None:
        elements, (at, along), width = self.memory[one.memory.name]
        address = at if where is None else at + along[where]
        if one.offset is not None:
            address = address + self.values[id(one.offset)]
        if one.operation == "load":
            self.values[id(one)] = elements[address // width]
        else:
            elements[address // width] = self.values[id(one.operands[0])]

    def folded(self, one: Any) -> Any:
        """A fold, which leaves sizes of 1, or its running values."""
        value = numpy.broadcast_to(self.values[id(one.operands[0])], (*self.kept, *self.reduced))
        dims = tuple(range(len(self.kept), value.ndim))
        made = Prim.table[one.operation].reference(value, dims=dims)
        return made if one.is_scan else made.reshape((*self.kept, *[1] * len(dims)))

    def computed(self, one: Any) -> Any:
        name, operands = one.operation, [self.values[id(value)] for value in one.operands]
        if name == "constant":
            return numpy.asarray(one.params["value"], one.dtype.name)
        if name == "number":
            return numpy.asarray(self.numbers[one.params["place"]], numpy.int64)
        if name == "extent":
            return numpy.asarray(self.extent, one.dtype.name)
        if name == "position":
            return numpy.arange(numpy.prod(self.reduced)).reshape(self.reduced)
        params = {key: value for key, value in one.params.items() if key not in Prim.hints}
        with numpy.errstate(all="ignore"):
            return Prim.table[name].reference(*operands, **params)


def grid(sizes: Sequence[int], steps: Sequence[int]) -> Any:
    """For each place in `sizes`, how many bytes it lies behind the first one."""
    total = numpy.zeros(tuple(sizes), numpy.int64)
    for dim, (size, step) in enumerate(zip(sizes, steps, strict=True)):
        shape = [size if at == dim else 1 for at in range(len(sizes))]
        total = total + (numpy.arange(size) * step).reshape(shape)
    return total


class LoopDevice(backends.DeviceBackend):
    """Copies and launches: every operator that becomes loops runs."""

    name = "loopy"

    def __init__(self) -> None:
        self.streams = [Stream()]

    def allocate(self, nbytes: int, index: int) -> Memory:
        return Memory(nbytes)

    def copy(self, target: Memory, source: Memory, nbytes: int) -> None:
        self.synchronize(0)
        target.take(source, nbytes)

    def new_stream(self) -> Stream:
        self.streams.append(Stream())
        return self.streams[-1]

    def default_stream(self, index: int) -> Stream:
        return self.streams[0]

    def synchronize(self, index: int) -> None:
        for stream in self.streams:
            stream.finish()

    def generator(self) -> Code:
        return Code()

    def on_host(self) -> list[str]:
        """What is no loop: sorting, factorizations, Fourier transforms."""
        return [
            prim.name
            for prim in StructuralPrim.table.values()
            if prim.name not in (*LOWERED, "windows") and prim.expansion is None
        ]

    def launch(
        self, launch: backends.Launch, parts: Sequence[backends.Part], stream: Stream
    ) -> None:
        stream.ask(launch.code, launch, parts)

    def copy_from_host(self, target: aten.Tensor, source: aten.Tensor) -> None:
        self.ask(write, target, numpy.array(source.numpy()))

    def copy_to_host(self, target: aten.Tensor, source: aten.Tensor) -> None:
        elements, places = window(source)
        target.copy_(aten.from_numpy(numpy.asarray(elements[places])))

    def copy_within(self, target: aten.Tensor, source: aten.Tensor) -> None:
        self.ask(move, target, *window(source))

    def ask(self, task: Callable[..., None], target: aten.Tensor, *given: Any) -> None:
        stream = backends.current_stream(self, target.device.index or 0)
        stream.ask(task, *window(target), *given)


def window(tensor: aten.Tensor) -> tuple[Any, Any]:
    """Elements of the tensor's memory, and at which places those of the tensor are."""
    elements = tensor.untyped_storage().handle.elements(tensor.dtype.name)
    return elements, tensor.storage_offset() + grid(tuple(tensor.shape), tensor.stride())


def write(elements: Any, places: Any, values: Any) -> None:
    elements[places] = values


def move(elements: Any, places: Any, others: Any, at: Any) -> None:
    elements[places] = others[at]


DEVICE = LoopDevice()
backends.register(DEVICE, "PrivateUse3")


def main() -> None:
    x = aten.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]]).to("loopy")
    print(aten.softmax(x @ x.T, dim=-1).to("cpu"))
    second = DEVICE.new_stream()
    second.wait(DEVICE.default_stream(0))
    with backends.use_stream(DEVICE, second):
        doubled = x + x
    DEVICE.default_stream(0).wait(second)
    print(len(second.tasks), "tasks wait")
    print(doubled[:, [2, 0]].tolist())


if __name__ == "__main__":
    main()

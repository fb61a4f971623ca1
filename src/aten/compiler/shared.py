"""Programs as shared libraries that C programs call, without Python and without this package.

A program is captured for inputs of one size and traced on a device without memory: every operator
becomes launches of generated kernels, products and convolutions too, which are plain loops here.
The library has the kernels, the weights, and one function that runs the launches in order, on one
thread, in memory that its caller gives.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from aten._core.tensor.tensor import Tensor
from aten.backends.cpu import images, jit, linking, shared_objects
from aten.compiler import ahead
from aten.compiler.convolutions import convolution_epilogue
from aten.compiler.driver import Place, driver
from aten.compiler.files.ahead_writing import zeros
from aten.compiler.functions import CompiledFunction
from aten.compiler.fusing import FusedGroup
from aten.compiler.programs import CompiledProgram
from aten.compiler.tracing_device import (
    NAME,
    Buffer,
    DataNeededError,
    Traced,
    generate,
    handle_of,
    parts,
    tracing_device,
    written,
)
from aten.grad_mode import no_grad
from aten.graph.ir import Graph, Node, map_nodes
from aten.graph.operators import resolve_graph
from aten.graph.program import ExportedProgram, ProgramModule
from aten.registry import ops

_ALIGNMENT = 64
_EPILOGUE = "fused.convolution_epilogue.default"
_CONVOLUTION = "aten.convolution.default"
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# C's words for element types.
_TYPES = {
    "float32": "float",
    "float64": "double",
    "int8": "int8_t",
    "int16": "int16_t",
    "int32": "int32_t",
    "int64": "int64_t",
    "uint8": "uint8_t",
    "bool": "uint8_t",
    "float16": "uint16_t",
    "bfloat16": "uint16_t",
}


class SharedLibraryError(RuntimeError):
    """The program cannot be a shared library; the message names the operator."""


class _Argument(NamedTuple):
    """A parameter of the library's function: its name, and the tensor that it is for."""

    name: str
    tensor: Tensor


class Library(NamedTuple):
    """What was written.

    Attributes:
        path, header: the files.
        kernels, launches: how many kernels there are, and calls of them.
        workspace: the bytes of memory that a call needs.
    """

    path: str
    header: str
    kernels: int
    launches: int
    workspace: int


def write_library(
    program: ExportedProgram, path: str | os.PathLike[str], size: int | None = None
) -> Library:
    """Write `libNAME.so` and `NAME.h` beside it, for inputs of one size.

    Args:
        program: the program.
        path: the library. Functions in it begin with its name, without `lib` and its ending.
        size: that of dynamic dimensions; None is one that the program was exported for.

    Raises:
        SharedLibraryError: an operator of the program needs more than kernels of this code
            generator; the message names it.
        LinkError: the machine code is of another processor than x86-64.
        OSError: a file cannot be written.
    """
    name = _name_of(path)
    objects = jit.keep_objects()
    inputs = zeros(program, size)
    traced = _traced(program, inputs)
    spread = _spread(traced)
    text = driver(name, traced.launches, spread.places, spread.arguments, _symbols(objects))
    session = jit.session()
    code = session.machine.emit_object(session.optimized(text))
    used = {one.program for one in traced.launches}
    kernels = {symbol: content for text, (symbol, content) in objects.items() if text in used}
    image = linking.linked(
        {**kernels, f"{name}_run": code}, weights="aten_weights", beyond=images.PAGE
    )
    library = os.fspath(path)
    exported = {f"{name}_run": image.symbols[f"{name}_run"]}
    content = shared_objects.shared_object(
        os.path.basename(library), image, exported, bytes(spread.weights)
    )
    header = str(Path(library).with_name(f"{name}.h"))
    Path(library).write_bytes(content)
    Path(header).write_text(_header(name, traced, spread.workspace, program))
    return Library(library, header, len(kernels), len(traced.launches), spread.workspace)


def _name_of(path: str | os.PathLike[str]) -> str:
    stem = os.path.basename(os.fspath(path)).partition(".")[0].removeprefix("lib")
    name = re.sub(r"\W", "_", stem, flags=re.ASCII)
    return name if _WORD.fullmatch(name) else f"_{name}"


def _symbols(objects: Mapping[str, tuple[str, bytes]]) -> dict[str, str]:
    return {text: symbol for text, (symbol, _) in objects.items()}


class _Trace(NamedTuple):
    launches: list[Traced]
    inputs: list[_Argument]
    outputs: list[_Argument]


def _traced(program: ExportedProgram, inputs: Sequence[Any]) -> _Trace:
    module = ProgramModule(program)
    compiled = CompiledFunction(lambda *given: module.program.flat_call(given), dynamic=False)
    with no_grad():
        compiled(*inputs)
    programs = compiled.programs()
    if len(programs) != 1 or not isinstance(programs[0], CompiledProgram):
        raise SharedLibraryError(f"the program is not captured: {'; '.join(compiled.breaks)}")
    first = programs[0]
    if first.writes:
        raise SharedLibraryError("the program writes to its buffers or inputs")
    if not isinstance(first.results, (list, tuple)) or not all(
        isinstance(one, Tensor) for one in first.results
    ):
        raise SharedLibraryError("the program gives something else than tensors")
    whole = CompiledProgram(
        first.recorded, first.constants, first.results, least=1, strips=False, has_gathers=False
    )
    target = tracing_device()
    begin = len(target.launches)
    tensors = [ops.aten.empty_like(one, device=NAME) for one in inputs if isinstance(one, Tensor)]
    constants = [one.detach().to(NAME) for one in (*whole.constants, *whole.preparation())]
    # What moving weights there would launch is in their content.
    del target.launches[begin:]
    made = _run(whole, [*tensors, *constants])
    results = _fresh(made, [*tensors, *constants])
    launches = list(target.launches[begin:])
    del target.launches[begin:]
    names = _distinct([*(name for name, _ in program.input_metadata), *program.output_names])
    given = [name for name, one in zip(names, inputs, strict=False) if isinstance(one, Tensor)]
    return _Trace(
        launches,
        list(map(_Argument, given, tensors)),
        list(map(_Argument, names[len(inputs) :], results)),
    )


def _distinct(names: Sequence[str]) -> list[str]:
    """Names as words of C, each once."""
    made: list[str] = []
    for name in names:
        word = re.sub(r"\W", "_", name, flags=re.ASCII)
        word = word if _WORD.fullmatch(word) else f"_{word}"
        while word in made or word == "workspace":
            word += "_"
        made.append(word)
    return made


def _run(program: CompiledProgram, values: Sequence[Tensor]) -> list[Tensor]:
    """The program's graph on tensors of the tracing device."""
    graph: Graph = program.graph
    groups = {f"fused.{one.label}": one for one in program.partition.fused.values()}
    plain = [node.target for node in graph.nodes if node.op == "call_function"]
    if graph.subgraphs:
        raise SharedLibraryError("the program has programs within")
    functions = resolve_graph(_without(graph, groups)) if plain else {}
    found: dict[Node, Any] = dict(zip(graph.placeholders, values, strict=True))

    def given(value: Any) -> Any:
        return map_nodes(value, found.__getitem__)

    for node in graph.nodes:
        if node.op != "call_function":
            continue
        args, kwargs = given(node.args), given(node.kwargs)
        try:
            if node.target in groups:
                found[node] = _run_group(groups[node.target], args)
            elif (convolution := _convolution(node, args)) is not None:
                found[node] = convolution_epilogue(*convolution)
            else:
                found[node] = functions[node.target](*args, **kwargs)
        except DataNeededError as error:
            raise SharedLibraryError(
                f"{node.target} cannot be in a shared library: {error}"
            ) from None
        except (NotImplementedError, RuntimeError, IndexError, TypeError) as error:
            raise SharedLibraryError(
                f"{node.target} cannot be in a shared library: {str(error).splitlines()[0]}"
            ) from None
    return list(given(graph.output_node.args[0]))


def _convolution(node: Node, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The arguments of `convolution_epilogue` for a call that it serves."""
    if node.kwargs or node.target not in (_EPILOGUE, _CONVOLUTION):
        return None
    if node.target == _CONVOLUTION:
        image, weight, bias, *steps, transposed, outer, groups = args
        if transposed or any(outer):
            return None
        args = (image, weight, bias, None, *steps, groups, "none", ())
    return args if args[0].dim() == len(args[4]) + 2 else None


def _without(graph: Graph, groups: Mapping[str, FusedGroup]) -> Graph:
    made = Graph()
    made.nodes = [node for node in graph.nodes if node.target not in groups]
    return made


def _run_group(group: FusedGroup, tensors: Sequence[Tensor]) -> Any:
    planned = group.planned(list(tensors), generate, parts())
    outputs = [
        ops.aten.empty_strided(
            tuple(one.meta["val"].shape),
            tuple(one.meta["val"].stride),
            dtype=one.meta["val"].dtype,
            device=NAME,
        )
        for one in group.outputs
    ]
    tracing_device().run(planned, tensors, outputs)
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def _fresh(results: Sequence[Tensor], operands: Sequence[Tensor]) -> list[Tensor]:
    """The results, each row-major in a buffer of its own."""
    taken = {id(handle_of(one)) for one in operands}
    made = []
    for one in results:
        buffer = handle_of(one)
        whole = one.is_contiguous() and buffer.nbytes == one.numel() * one.itemsize
        if not whole or one.storage_offset() or id(buffer) in taken:
            laid = ops.aten.empty(one.shape, dtype=one.dtype, device=NAME)
            one = laid.copy_(one)
        taken.add(id(handle_of(one)))
        made.append(one)
    return made


class _Spread(NamedTuple):
    """Where each buffer is: in the workspace, among the weights, or what the caller gives."""

    places: dict[Buffer, Place]
    arguments: list[str]
    workspace: int
    weights: bytearray


def _spread(traced: _Trace) -> _Spread:
    places: dict[Buffer, Place] = {}
    arguments = []
    for one in (*traced.inputs, *traced.outputs):
        arguments.append(one.name)
        places[handle_of(one.tensor)] = Place(one.name, 0)
    weights = bytearray()
    for launch in traced.launches:
        if any(launch.places[at][0].content is not None for at in written(launch.program)):
            raise SharedLibraryError("the program writes to what it has from the start")
    last: dict[Buffer, int] = {}
    for step, launch in enumerate(traced.launches):
        last.update((buffer, step) for buffer, _ in launch.places)
    free = _Free()
    for step, launch in enumerate(traced.launches):
        for buffer, _ in launch.places:
            if buffer in places:
                continue
            if buffer.content is not None:
                weights += bytes(-len(weights) % _ALIGNMENT)
                places[buffer] = Place("aten_weights", len(weights))
                weights += buffer.content
            else:
                places[buffer] = Place("workspace", free.take(buffer.nbytes))
        for buffer, _ in launch.places:
            if last[buffer] == step and places[buffer].base == "workspace":
                free.give(places[buffer].offset)
                last[buffer] = -1
    return _Spread(places, arguments, free.top, weights)


class _Free:
    """Memory that is handed out and comes back, as little as first fits need."""

    def __init__(self) -> None:
        self.top = 0
        self._taken: dict[int, int] = {}

    def take(self, nbytes: int) -> int:
        length = max(-(-nbytes // _ALIGNMENT) * _ALIGNMENT, _ALIGNMENT)
        begin = 0
        for place, size in sorted(self._taken.items()):
            if place - begin >= length:
                break
            begin = place + size
        self._taken[begin] = length
        self.top = max(self.top, begin + length)
        return begin

    def give(self, begin: int) -> None:
        del self._taken[begin]


def _header(name: str, traced: _Trace, workspace: int, program: ExportedProgram) -> str:
    upper = name.upper()
    features = ", ".join(sorted(ahead.this_processor().features))
    lines = [
        f"/* {name}: a program compiled by `aten compile --shared`.",
        " *",
        f" * For x86-64 processors with: {features}.",
        " * Arrays are row-major. Calls of several threads need a workspace each. */",
        f"#ifndef {upper}_H",
        f"#define {upper}_H",
        "",
        "#include <stddef.h>",
        "#include <stdint.h>",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        "/* Bytes of the workspace, which begins at a multiple of 64. */",
        f"#define {upper}_WORKSPACE_BYTES ((size_t){max(workspace, _ALIGNMENT)})",
    ]
    for one in (*traced.inputs, *traced.outputs):
        lines.append(f"#define {upper}_{one.name.upper()}_COUNT ((size_t){one.tensor.numel()})")
    lines += ["", "/*"]
    for word, arguments in (("reads", traced.inputs), ("writes", traced.outputs)):
        for one in arguments:
            sizes = ", ".join(map(str, one.tensor.shape))
            lines.append(f" * {word} {one.name}: {one.tensor.dtype.name}[{sizes}]")
    lines.append(" */")
    parameters = [f"const {_type(one)} *{one.name}" for one in traced.inputs]
    parameters += [f"{_type(one)} *{one.name}" for one in traced.outputs]
    lines.append(f"void {name}_run({', '.join([*parameters, 'void *workspace'])});")
    lines += ["", "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""]
    return "\n".join(lines)


def _type(argument: _Argument) -> str:
    return _TYPES.get(argument.tensor.dtype.name, "void")

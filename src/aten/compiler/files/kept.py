"""Programs that an earlier process captured: read, and not captured, planned and compiled anew.

A file in the cache has what `aten.compile` made of an exported program for arguments of one kind:
the graph as it runs, with the plans of its kernels, what it computes of weights, and machine code.
Its name is a hash of all that decides this: program, arguments, settings, processor, and the code
of this package. `keeping` writes such files, after the first call of a program that was captured.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import sys
from functools import cached_property
from importlib.util import find_spec

from aten import config
from aten._core.base.device import device, thread_device
from aten._core.base.dtypes import DTYPES, get_default_dtype
from aten._core.base.keys import gradient_modes
from aten._core.dispatch.registrations import all_registrations, fallbacks
from aten._core.memory.code import Code
from aten._core.tensor import tensor
from aten._core.tensor.construct import empty_strided
from aten._core.tensor.tensor import Tensor
from aten._core.threads.parallel import get_num_threads
from aten.backends.cpu import brought, cache, images
from aten.backends.cpu.kernels.folding.plan import is_plain
from aten.backends.cpu.kernels.matrix.matrix_tiles import vector_bytes
from aten.compiler.ahead import this_processor
from aten.compiler.files.frozen import Group, OperandsError, decoded
from aten.compiler.ready import Preparation, ReadyProgram
from aten.grad_mode import inference_mode
from aten.graph.ir import Graph, Node
from aten.graph.operators import PYTHON_FUNCTIONS, resolve
from aten.graph.program import ProgramModule
from aten.registry import are_as_made

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from aten.graph.program import ExportedProgram
    from aten.utils._pytree import TreeSpec

# Before the description: its length.
LENGTH = struct.Struct("<Q")
_MOST_BYTES = 1 << 27
_CPU = device("cpu")
_NAMESPACES = frozenset({"aten", "prims", "fused"})
_BACKENDS = frozenset({"", "CPU", "Meta"})
_CONTAINERS = frozenset({None, tuple, list, dict})
_VALUES = frozenset({bool, int, float, complex, str, bytes, type(None)})
# What a damaged description may raise. Files have checksums: none is met but by accident.
_WRONG = (
    struct.error,
    *(ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError),
)
# By the widest vectors that may be used.
_stamps: dict[str, str] = {}


class KeptProgram(ReadyProgram):
    """A program that an earlier process captured, with what this one's program has of tensors.

    Attributes:
        captured: captures it anew.
    """

    writes = False
    captured: Callable[[], Any]

    def __init__(
        self, description: Mapping[str, Any], constants: Sequence[Tensor], owner: Code
    ) -> None:
        places = description["kernels"]
        addresses = {key: owner.address + place for key, (place, _) in places.items()}
        groups = [Group(one, addresses, owner) for one in description["groups"]]
        reader = _GraphReader()
        graph = reader.graph(description["nodes"])
        count = description["inputs"]
        inputs = graph.placeholders[count : count + len(constants)]
        first = reader.graph(description["constant"], inputs)
        kernels = {f"fused.{one.label}": one.kernel for one in groups}
        functions = resolve([one for one in graph.targets() if one not in kernels]) | kernels
        preparation = Preparation(first, constants)
        super().__init__(graph, functions, constants, preparation, _results(description["results"]))
        self._instead: ReadyProgram | None = None
        self._operators = frozenset(description["operators"])
        names = {bytes.fromhex(key): name for key, (_, name) in places.items()}
        found = {bytes.fromhex(key): address for key, address in addresses.items()}
        calls = {call: bytes.fromhex(key) for call, key in description["calls"].items()}
        told = (names, calls, description["plans"])
        brought.bring(found, description["vector_bytes"], owner, *told)

    def values(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """See `ReadyProgram.values`."""
        if self._instead is not None:
            return self._instead.values(inputs)
        try:
            return super().values(inputs)
        except OperandsError:
            # An operator gives results of another layout than was recorded. Nothing was written.
            found = self.origin
            if not isinstance(found, ReadyProgram):
                raise
            self._instead = found
            return found.values(inputs)

    @cached_property
    def origin(self) -> Any:
        """The program as it is captured, for whoever wants to know how this one came about."""
        return self.captured()

    def stands(self) -> bool:
        """Whether the kernels stand for what their operators' rows hold."""
        return are_as_made(self._operators)


class _GraphReader:
    """Graphs of one file: nodes of the second one may read inputs of the first."""

    def __init__(self) -> None:
        self._known: dict[str, Node] = {}

    def graph(self, written: Sequence[Any], inputs: Sequence[Node] = ()) -> Graph:
        """A graph that begins with these inputs."""
        made = Graph()
        made.nodes = [*inputs, *map(self._node, written)]
        return made

    def _node(self, written: Sequence[Any]) -> Node:
        name, op, target, args, kwargs = written
        args = tuple(self._value(one) for one in args)
        named = {key: self._value(one) for key, one in kwargs.items()}
        made = self._known[name] = Node(name, op, target, args, named)
        return made

    def _value(self, written: Any) -> Any:
        if isinstance(written, list):
            return [self._value(one) for one in written]
        if isinstance(written, dict):
            ((kind, value),) = written.items()
            if kind == "node":
                return self._known[value]
            if kind == "tuple":
                return tuple(self._value(one) for one in value)
        return decoded(written)


def _results(written: Any) -> Any:
    """The nest of a program's results, with a tensor in the place of each."""
    if isinstance(written, list):
        return [_results(one) for one in written]
    if not isinstance(written, dict):
        return written
    ((kind, value),) = written.items()
    if kind == "tensor":
        return empty_strided((0,), (1,), DTYPES["float32"], _CPU)
    if kind == "tuple":
        return tuple(_results(one) for one in value)
    return {key: _results(one) for key, one in value}


def read(name: str, module: Any) -> KeptProgram | None:
    """The program of a file of this name in the cache, with the tensors of an exported program."""
    content = cache.read(name, _MOST_BYTES)
    if content is None:
        return None
    try:
        (length,) = LENGTH.unpack_from(content)
        description = json.loads(content[LENGTH.size : LENGTH.size + length])
        state = state_of(module.program)
        with inference_mode(False):
            constants = [state[one].detach() for one in description["constants"]]
        image = images.Image(
            content[LENGTH.size + length :], description["code"], description["functions"], {}
        )
        return KeptProgram(description, constants, images.loaded(image))
    except (*_WRONG, OSError):  # Nothing that a capture would not make good.
        return None


def state_of(program: ExportedProgram) -> dict[str, Tensor]:
    """A program's tensors by their names."""
    return {**program.constants, **program.state_dict}


def name_of(
    function: Any, leaves: Sequence[Any], structure: TreeSpec, surroundings: tuple[Any, ...]
) -> str | None:
    """The name of the file for such a call of an exported program in these surroundings; None where
    what is made of it is not kept: for other functions and tensors, and where somebody has
    registered kernels."""
    if type(function) is not ProgramModule or cache.directory() is None:
        return None
    if not _calls_own(function.program.graph):
        return None
    if not _is_plain_structure(structure) or not all(map(_is_plain_leaf, leaves)):
        return None
    state = state_of(function.program)
    records, _ = gradient_modes()
    if records and any(one.requires_grad for one in (*leaves, *state.values()) if _is_tensor(one)):
        return None
    if not all(map(is_plain, state.values())) or _has_foreign_kernels():
        return None
    try:
        hashed = hashlib.sha256(f"{stamp()} {surroundings}".encode())
    except OSError:  # The package is in no folder: nothing tells when its code changes.
        return None
    for text in _described(function.program, leaves, structure, state):
        hashed.update(text.encode())
        hashed.update(b"\n")
    return f"{hashed.hexdigest()}.program"


def _described(
    program: ExportedProgram,
    leaves: Sequence[Any],
    structure: TreeSpec,
    state: Mapping[str, Tensor],
) -> Iterator[str]:
    """All that decides what a call comes to, but for code and processor."""
    modes = (get_default_dtype(), thread_device(), gradient_modes())
    yield repr((*modes, get_num_threads(), vector_bytes()))
    yield repr(structure)
    for value in leaves:
        yield _tensor(value) if isinstance(value, Tensor) else repr((type(value), value))
    for name, value in state.items():
        yield f"{name} {_tensor(value)}"
    signature = program.graph_signature
    yield repr((signature.input_specs, signature.output_specs, program.call_spec))
    yield repr((program.guards, program.range_constraints))
    yield from _nodes(program.graph)


def _tensor(value: Tensor) -> str:
    meta = (value.dtype, tuple(value.shape), value.stride(), value.storage_offset())
    return repr((*meta, value.is_inference(), value.requires_grad))


def _nodes(graph: Graph) -> Iterator[str]:
    for node in graph.nodes:
        yield f"{node.name} {node.op} {node.target} {node.args!r} {node.kwargs!r}"
    for name, inner in graph.subgraphs.items():
        yield name
        yield from _nodes(inner)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor)


def _is_plain_leaf(value: Any) -> bool:
    return is_plain(value) if isinstance(value, Tensor) else type(value) in _VALUES


def _is_plain_structure(structure: TreeSpec) -> bool:
    return structure.type in _CONTAINERS and all(map(_is_plain_structure, structure.children_specs))


def _has_foreign_kernels() -> bool:
    """Whether anybody but this package has registered kernels that a capture may come to: for
    operators of the package, and keys that calls with tensors of the CPU look at."""
    every = [
        (key, stack)
        for one in all_registrations()
        if one.name.partition("::")[0] in _NAMESPACES
        for key, stack in one.kernels.items()
    ]
    every += [(key, (kernel,)) for key, kernel in fallbacks().items()]
    return any(
        key.backend in _BACKENDS and not (kernel.provenance or "").startswith(("aten/", "aten."))
        for key, stack in every
        for kernel in stack
    )


def _calls_own(graph: Graph) -> bool:
    """Whether a graph calls nothing but operators of the package, and arithmetic on numbers."""
    return all(
        one in PYTHON_FUNCTIONS or one.partition(".")[0] in _NAMESPACES for one in graph.targets()
    )


def stamp() -> str:
    """What the package's code and the processor are known by: names, sizes and times of files."""
    widest = config.VECTOR_BYTES.get()
    if widest not in _stamps:
        processor = this_processor()
        parts = [sys.version, processor.machine, *sorted(processor.features)]
        compiler = find_spec("llvmlite")
        if compiler is not None and compiler.origin is not None:
            status = os.stat(compiler.origin)
            parts.append(f"{status.st_size} {status.st_mtime_ns}")
        for folder in _folders():
            parts += sorted(_files(folder))
        _stamps[widest] = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return _stamps[widest]


def _folders() -> list[str]:
    """The package's, and where an editable build has its modules of machine code."""
    package = os.path.dirname(os.path.abspath(config.__file__))
    built = os.path.dirname(os.path.abspath(tensor.__file__))
    return [package] if built.startswith(package) else [package, built]


def _files(folder: str) -> Iterator[str]:
    waiting = [folder]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    # Those of builds are full of other files.
                    if not entry.name.endswith(("__pycache__", ".p")):
                        waiting.append(entry.path)
                elif entry.name.endswith((".py", ".so", ".yaml")):
                    status = entry.stat()
                    yield f"{entry.path[len(folder) :]} {status.st_size} {status.st_mtime_ns}"

"""Captured programs on their way to a file: `frozen` reads what is written here.

A program is captured for inputs of one kind. Its groups are planned, and each launch is noted with
its kernel; all other calls are kept with their arguments.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

from aten._core.base.dtypes import get_default_dtype
from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.folding.plan import is_plain
from aten.compiler.calls import operator_of
from aten.compiler.files.encoding import (
    UnwritableProgramError,
    Written,
    encoded,
    written_group,
    written_tensor,
)
from aten.compiler.functions import CompiledFunction
from aten.compiler.programs import CompiledProgram
from aten.compiler.rewrites.rewriting import Rewriting, users_of
from aten.compiler.values import is_row_major
from aten.grad_mode import no_grad
from aten.graph.archive import Archive
from aten.graph.interpreter import Interpreter, Step, _make_list
from aten.graph.ir import Graph, Node
from aten.graph.operators import PYTHON_FUNCTIONS
from aten.graph.writing.payloads import bytes_of
from aten.ops.windows.pool_windows import max_windows
from aten.registry import find_operator

_EPILOGUE = "fused.convolution_epilogue.default"
_CONVOLUTION = "aten.convolution.default"
_OF_FUSED = {
    f"fused.{name}.default": f"direct.{name}"
    for name in (
        "checked_index",
        "expanded_convolution",
        "inverted_residual",
        "strips_product",
        "strips_convolution",
    )
}
_MAX_POOL = "fused.max_pool2d.default"
_VIEWS = frozenset(
    f"aten.{name}"
    for name in (
        *("view.default", "permute.default", "transpose.int", "t.default", "unsqueeze.default"),
        *("squeeze.default", "squeeze.dim", "squeeze.dims", "expand.default", "select.int"),
        *("slice.Tensor", "alias.default"),
    )
)
_PRODUCTS = ("mm", "bmm", "addmm", "baddbmm", "mv", "dot")
# Kernels that are called without an operator, and the operators that they stand for.
_DIRECT: dict[str, tuple[str, ...]] = {
    "direct.convolution": ("aten::convolution",),
    "direct.max_pool": ("aten::max_pool2d_with_indices",),
    **dict.fromkeys(_OF_FUSED.values(), ()),
    "direct.window": (),
    **{f"direct.product:{form}": (f"aten::{form}",) for form in _PRODUCTS},
}
_ALIGNMENT = 64


class Constants:
    """The tensors of frozen programs: in the saved program where it has their bytes, else apart.

    Attributes:
        content: the bytes of those that are apart.
        written: where each one is, and what it is.
    """

    def __init__(self, program: bytes) -> None:
        self._program = program
        members = Archive(memoryview(bytearray(program))).members.values()
        self._members = {(one.length, one.crc): one.offset for one in members}
        self._own: dict[tuple[int, int], list[int]] = {}
        self.content = bytearray()
        self.written: list[list[Any]] = []

    def add(self, tensor: Tensor) -> int:
        """The number of a tensor. Raises UnwritableProgramError where it has no plain memory."""
        if not is_plain(tensor):
            raise UnwritableProgramError("a constant that is no plain tensor of the CPU")
        content = bytes(bytes_of(tensor))
        is_apart, place = self._place(content, tensor.itemsize)
        meta = tensor.dtype.name, list(tensor.shape), list(tensor.stride())
        entry = [is_apart, place, *meta]
        if entry not in self.written:
            self.written.append(entry)
        return self.written.index(entry)

    def _place(self, content: bytes, alignment: int) -> tuple[bool, int]:
        key = len(content), zlib.crc32(content)
        found = self._members.get(key, -1)
        if found >= 0 == found % alignment and self._program.startswith(content, found):
            return False, found
        for place in self._own.get(key, ()):
            if self.content[place : place + len(content)] == content:
                return True, place
        self.content += bytes(-len(self.content) % _ALIGNMENT)
        self._own.setdefault(key, []).append(len(self.content))
        self.content += content
        return True, len(self.content) - len(content)


def frozen(function: Any, inputs: Sequence[Any], constants: Constants) -> Written:
    """What a function of these inputs, which gives a flat list of tensors, does for them.

    Raises UnwritableProgramError where that is no program, or one that files do not keep.
    """
    compiled = CompiledFunction(function, dynamic=False)
    # Files hold no trained tensors: nothing of them requires gradients.
    with no_grad():
        compiled.capture(*inputs)
    programs = compiled.programs()
    if len(programs) != 1 or not isinstance(programs[0], CompiledProgram) or programs[0].writes:
        raise UnwritableProgramError("; ".join(compiled.breaks) or "it writes to what it is given")
    first = programs[0]
    program = CompiledProgram(first.recorded, first.constants, first.results, least=1)
    if not isinstance(program.results, (list, tuple)) or not all(
        isinstance(one, Tensor) for one in program.results
    ):
        raise UnwritableProgramError("it gives something else than tensors")
    tensors = [one for one in inputs if isinstance(one, Tensor)]
    held = [*program.constants, *program.preparation()]
    graph = _with_direct_calls(program.graph)
    return _Writer(program, graph, constants).written(inputs, tensors, held)


class _Writer:
    def __init__(self, program: CompiledProgram, graph: Graph, constants: Constants) -> None:
        self.constants = constants
        self.groups = list(program.partition.fused.values())
        self.numbers = {f"fused.{one.label}": place for place, one in enumerate(self.groups)}
        if graph.subgraphs:
            raise UnwritableProgramError("it has programs within")
        self.operators = {one.qualified_name for one in program.fused_operators}
        functions = {target: _named(target) for target in graph.targets()}
        self.interpreter = Interpreter(graph, functions)

    def written(
        self, inputs: Sequence[Any], tensors: Sequence[Tensor], held: Sequence[Tensor]
    ) -> Written:
        interpreter = self.interpreter
        steps = [self._step(one) for one in interpreter.steps]
        used = set(interpreter.output_slots)
        for one in interpreter.steps:
            used.update((*one.arguments, *(slot for _, slot in one.keywords)))
        places = interpreter.input_slots[len(tensors) :]
        if set(places) & set(interpreter.output_slots):
            raise UnwritableProgramError("it gives one of its weights, which may be written to")
        constants = [
            [slot, self.constants.add(one)]
            for slot, one in zip(places, held, strict=True)
            if slot in used
        ]
        return {
            "inputs": [_input(one) for one in inputs],
            "default": get_default_dtype().name,
            "template": [encoded(one) for one in interpreter.template],
            "constants": constants,
            "input_slots": interpreter.input_slots[: len(tensors)],
            "output_slots": list(interpreter.output_slots),
            "groups": [written_group(one) for one in self.groups],
            "steps": steps,
            # Those of `fused` are nobody's but compiled programs'.
            "operators": sorted(one for one in self.operators if one.startswith("aten::")),
        }

    def _step(self, step: Step) -> list[Any]:
        return [
            self._function(step),
            list(step.arguments),
            [list(one) for one in step.keywords],
            step.destination,
            [list(one) for one in step.unpack],
            list(step.dead),
            step.target,
            step.name,
        ]

    def _function(self, step: Step) -> list[Any]:
        if step.function is _make_list:
            return ["list", ""]
        number = self.numbers.get(step.target)
        if number is not None:
            return ["group", number]
        if step.target in _DIRECT:
            self.operators.update(_DIRECT[step.target])
            return ["direct", step.target.partition(".")[2]]
        if step.target in PYTHON_FUNCTIONS:
            return ["python", step.target]
        namespace, _, name = step.target.partition(".")
        op = find_operator(f"{namespace}::{name}")
        if op is None:
            raise UnwritableProgramError(f"there is no operator {step.target}")
        return ["operator", op.qualified_name]


def _named(target: str) -> Any:
    """What stands for a function in steps that are only written."""

    def call(*args: Any) -> None:
        raise AssertionError(target)

    return call


def _input(value: Any) -> Written:
    if isinstance(value, Tensor):
        return {"tensor": written_tensor(value.dtype, value.shape, value.stride())}
    return {"value": encoded(value)}


def _with_direct_calls(graph: Graph) -> Graph:
    """The graph with calls of kernels in the place of operators that are costly to make."""
    users = users_of(graph)
    rewriting = Rewriting(graph)
    for node in graph.nodes:
        if node in rewriting.current:
            continue
        made = (
            _direct_convolution(node)
            or _direct_pooling(node)
            or _direct_product(node)
            or _direct_window(node, users)
        )
        if made is None:
            rewriting.keep(node)
            continue
        made.args = rewriting.of(made.args)
        rewriting.nodes.append(made)
        rewriting.current[node] = made
    return rewriting.finished()


def _direct_convolution(node: Node) -> Node | None:
    if node.target not in (_EPILOGUE, _CONVOLUTION) or node.kwargs:
        return None
    given = node.args
    if node.target == _CONVOLUTION:
        image, weight, bias, *steps, transposed, outer, groups = given
        if transposed or any(outer):
            return None
        given = (image, weight, bias, None, *steps, groups, "none", ())
    return Node(node.name, "call_function", "direct.convolution", given, {}, node.meta)


def _direct_pooling(node: Node) -> Node | None:
    """The largest elements of windows of row-major planes."""
    if node.target != _MAX_POOL or node.kwargs:
        return None
    meta = node.args[0].meta["val"]
    if (
        len(meta.shape) != 4
        or not is_row_major(meta)
        or meta.dtype.name not in ("float32", "float64")
    ):
        return None
    windows = max_windows("max_pool2d", meta.shape, 2, *node.args[1:])
    args = (node.args[0], [list(one) for one in windows])
    return Node(node.name, "call_function", "direct.max_pool", args, {}, node.meta)


def _direct_product(node: Node) -> Node | None:
    if node.target in _OF_FUSED:
        target = _OF_FUSED[node.target]
        return Node(node.name, "call_function", target, node.args, {}, node.meta)
    namespace, form, _ = (*node.target.split("."), "", "")[:3]
    op = operator_of(node)
    if namespace != "aten" or form not in _PRODUCTS or op is None:
        return None
    factors = [one.default for one in op._schema.arguments[3:]]
    given = [*node.args, *factors[max(len(node.args) - 3, 0) :]]
    names = [one.name for one in op._schema.arguments]
    for name, value in node.kwargs.items():
        given[names.index(name)] = value
    if len(given) != len(names) or not op.qualified_name.endswith(f"::{form}"):
        return None
    return Node(node.name, "call_function", f"direct.product:{form}", tuple(given), {}, node.meta)


def _direct_window(node: Node, users: dict[Node, list[Node]]) -> Node | None:
    """A view of what the program computes, which nobody else sees."""
    if node.target not in _VIEWS or not isinstance(node.args[0], Node):
        return None
    source, meta = node.args[0], node.meta["val"]
    if source.op == "placeholder" or any(one.op == "output" for one in users.get(node, [])):
        return None
    before = source.meta["val"]
    offset = meta.storage_offset - before.storage_offset
    was, now = ([list(one.shape), list(one.stride)] for one in (before, meta))
    args = (source, was, now, offset)
    return Node(node.name, "call_function", "direct.window", args, {}, node.meta)

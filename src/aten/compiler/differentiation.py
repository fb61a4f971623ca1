"""Programs with gradients: the way on and the way back, captured together and compiled apart.

The captured operators run once more without data, recorded by autograd, and so does the way back:
what both call is one graph. It is cut where little has to be kept: what the way back reads of the
way on is saved, or, where that takes no more memory, computed again from what is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from aten._core.base.device import device
from aten._core.base.dtypes import DTYPES
from aten._core.base.errors import DataDependentOutputException, NoElementsError
from aten._core.tensor.construct import empty_strided
from aten._core.tensor.making import meta_window
from aten._core.tensor.tensor import Tensor
from aten.autograd import Function, grad
from aten.compiler.calls import has_effect, is_drawn, is_written, operator_of
from aten.compiler.programs import CompiledProgram
from aten.compiler.rewrites.rewriting import described, written_inputs, written_values
from aten.compiler.values import is_over_elements
from aten.grad_mode import enable_grad, is_grad_enabled, no_grad
from aten.graph.interpreter import Interpreter
from aten.graph.ir import Graph, Node, TensorMeta, concrete, map_nodes
from aten.graph.operators import resolve_graph
from aten.graph.pytree import map_tensors
from aten.transforms.recording import Recording, record

_META, _HOST = device("meta"), device("cpu")


class UnsupportedProgramError(RuntimeError):
    """The program has gradients in a way that is not compiled: it runs eagerly."""


@dataclass(slots=True)
class DifferentiableProgram:
    """A program whose results gradients go back through.

    Attributes:
        onward: takes arguments and constants; gives the results, then what is saved.
        back: takes what is saved, then the gradients of the results that are `reached`; gives those
            of the arguments and constants that are `wanted`.
        constants: tensors that the function used besides its arguments.
        results: a nest with a tensor in the place of each result.
        gradients: tensors like the gradients of the reached results.
    """

    onward: CompiledProgram
    back: CompiledProgram
    constants: Sequence[Tensor]
    results: Any
    count: int
    reached: list[int]
    wanted: list[int]
    gradients: list[Tensor]

    @property
    def writes(self) -> bool:
        """Whether it writes to arguments or constants."""
        return self.onward.writes

    def stands(self) -> bool:
        """Whether the kernels stand for what their operators' rows hold."""
        return self.onward.stands() and self.back.stands()

    def __call__(self, tensors: Sequence[Tensor]) -> Any:
        """The function's results for these tensors."""
        values = iter(_Differentiable.apply(self, *tensors, *self.constants))
        return map_tensors(lambda _: next(values), self.results)


class _Differentiable(Function):
    @staticmethod
    def forward(context: Any, program: DifferentiableProgram, *tensors: Tensor) -> Any:
        values = program.onward(tensors)
        results, saved = values[: program.count], values[program.count :]
        context.program = program
        context.places = len(tensors)
        context.set_materialize_grads(False)
        context.save_for_backward(*saved)
        apart = (one for place, one in enumerate(results) if place not in program.reached)
        context.mark_non_differentiable(*apart)
        return tuple(results)

    @staticmethod
    def backward(context: Any, *gradients: Tensor | None) -> Any:
        program = context.program
        made: list[Tensor | None] = [None] * (context.places + 1)
        reached = [gradients[place] for place in program.reached]
        if any(one is not None for one in reached):
            pairs = zip(reached, program.gradients, strict=True)
            given = [_laid_out(one, like) for one, like in pairs]
            with no_grad():
                found = program.back([*context.saved_tensors, *given])
            if is_grad_enabled():
                found = _OnceOnly.apply(
                    empty_strided((), (), DTYPES["float32"], _HOST).requires_grad_(), *found
                )
            for place, one in zip(program.wanted, found, strict=True):
                made[place + 1] = one
        return tuple(made)


class _OnceOnly(Function):
    """Gives its operands, and refuses to be gone back through."""

    @staticmethod
    def forward(context: Any, anchor: Tensor, *gradients: Tensor) -> Any:
        return tuple(one.view_as(one) for one in gradients)

    @staticmethod
    def backward(context: Any, *gradients: Tensor | None) -> Any:
        raise RuntimeError(
            "aten.compile: gradients of a compiled program cannot be gone back through a second "
            "time; call what was compiled for second derivatives"
        )


def _laid_out(gradient: Tensor | None, like: Tensor) -> Tensor:
    """The gradient with the strides it was captured with; zeros where none came back."""
    if gradient is None:
        return empty_strided(like.shape, like.stride(), like.dtype, _HOST).zero_()
    if gradient.stride() == like.stride():
        return gradient
    return empty_strided(like.shape, like.stride(), gradient.dtype, _HOST).copy_(gradient)


def differentiable(recording: Recording, tensors: Sequence[Tensor]) -> DifferentiableProgram:
    """The recorded program with its way back, for arguments like these.

    Raises UnsupportedProgramError where it writes to what it reads, or returns it.
    """
    operands = [*tensors, *recording.constants]
    _require_fresh_results(recording.graph, operands)
    wanted = [place for place, one in enumerate(operands) if one.requires_grad]
    joint, reached, found = _joint(recording, operands, wanted)
    count = len(recording.graph.output_node.args[0])
    onward, back = _cut(joint, len(operands), count)
    results = recording.graph.output_node.args[0]
    return DifferentiableProgram(
        onward=CompiledProgram(onward, (), tuple(_likes(onward))),
        back=CompiledProgram(back, (), tuple(_likes(back))),
        constants=recording.constants,
        results=recording.results,
        count=count,
        reached=reached,
        wanted=[place for place, is_found in zip(wanted, found, strict=True) if is_found],
        gradients=[described(results[place].meta["val"]) for place in reached],
    )


def _likes(graph: Graph) -> list[Tensor]:
    """A tensor for each result: as many as the graph gives."""
    return [described(one.meta["val"]) for one in graph.output_node.args[0]]


def _require_fresh_results(graph: Graph, operands: Sequence[Tensor]) -> None:
    written = written_inputs(graph)
    for node, one in zip(graph.placeholders, operands, strict=True):
        if node in written and one.requires_grad:
            raise UnsupportedProgramError("what is written to requires gradients")
    for one in graph.output_node.args[0]:
        if _root(one).op == "placeholder":
            raise UnsupportedProgramError("an argument, or a view of one, is returned")


def _root(node: Node) -> Node:
    """The value whose memory a node's is, as far as views tell."""
    while (op := operator_of(node)) is not None and op.entry.kind == "view":
        node = node.all_input_nodes[0]
    return node


def _joint(
    recording: Recording, operands: Sequence[Tensor], wanted: Sequence[int]
) -> tuple[Graph, list[int], list[bool]]:
    """Way on and way back as one graph: its inputs are the operands, then gradients of results; its
    outputs the results, then the gradients that are there. With the results that have gradients,
    and which of the wanted ones there are."""
    graph = _elsewhere(recording.graph, _HOST, _META)
    interpreter = Interpreter(graph, _as_recorded(graph))
    metas = [_leaf(one) for one in operands]
    ways: list[Any] = []

    def there_and_back(*given: Tensor) -> list[Tensor]:
        values = interpreter.run(given[: len(operands)])
        reached = [place for place, one in enumerate(values) if one.requires_grad]
        gradients = given[len(operands) :]
        found = grad(
            [values[place] for place in reached],
            [given[place] for place in wanted],
            [gradients[place] for place in reached],
            allow_unused=True,
        )
        ways.extend((reached, [one is not None for one in found]))
        return [*values, *(one for one in found if one is not None)]

    likes = [described(one.meta["val"]) for one in recording.graph.output_node.args[0]]
    with enable_grad():
        try:
            made = record(there_and_back, *metas, *likes, meta_stands_for_data=True)
        except (DataDependentOutputException, NoElementsError) as error:
            raise UnsupportedProgramError(f"with gradients it depends on data: {error}") from error
    if made.constants:
        raise UnsupportedProgramError("gradients need tensors that are made on the way")
    reached, found = ways
    joint = _elsewhere(made.graph, _META, _HOST)
    inputs = joint.placeholders
    unused = {inputs[len(operands) + place] for place in range(len(likes)) if place not in reached}
    joint.nodes = [node for node in joint.nodes if node not in unused]
    return joint, reached, found


def _as_recorded(graph: Graph) -> dict[str, Any]:
    """The functions of a graph's targets; calls within `no_grad` get targets of their own."""
    functions = dict(resolve_graph(graph))
    for node in graph.nodes:
        if node.op == "call_function" and node.meta.get("gradients") is False:
            function = functions[node.target]
            node.target = f"no_grad.{node.target}"
            functions[node.target] = no_grad()(function)
    return functions


def _leaf(tensor: Tensor) -> Tensor:
    return meta_window(tensor).detach().requires_grad_(tensor.requires_grad)


def _elsewhere(graph: Graph, before: device, after: device) -> Graph:
    """The graph on another device: its factories, and what is recorded of values."""

    def moved(value: Any) -> Any:
        if isinstance(value, device) and value.type == before.type:
            return after
        if isinstance(value, TensorMeta):
            return value._replace(device=after) if value.device.type == before.type else value
        if isinstance(value, (list, tuple)):
            made = [moved(one) for one in value]
            return made if isinstance(value, list) else tuple(made)
        return value

    made = Graph()
    made.subgraphs = graph.subgraphs
    made.returns_single = graph.returns_single
    current: dict[Node, Node] = {}
    for node in graph.nodes:
        args = map_nodes(node.args, current.__getitem__)
        kwargs = {
            name: moved(map_nodes(one, current.__getitem__)) for name, one in node.kwargs.items()
        }
        if "device" in kwargs and kwargs["device"] is None and not _reads_tensors(node):
            kwargs["device"] = after
        meta = {key: moved(value) for key, value in node.meta.items()}
        current[node] = Node(node.name, node.op, node.target, moved(args), kwargs, meta)
        made.nodes.append(current[node])
    return made


def _reads_tensors(node: Node) -> bool:
    return bool(node.all_input_nodes)


def _cut(joint: Graph, operands: int, count: int) -> tuple[Graph, Graph]:
    """The way on, with what it saves behind its results, and the way back."""
    outputs = joint.output_node.args[0]
    inputs = joint.placeholders
    gradients = inputs[operands:]
    behind = set(gradients)
    for node in joint.nodes:
        if node.op == "call_function" and not behind.isdisjoint(node.all_input_nodes):
            behind.add(node)
    back_outputs = outputs[count:]
    saved = _saved(joint, back_outputs, behind)
    if not written_values(joint).isdisjoint(saved):
        raise UnsupportedProgramError("what is written to is read with gradients")
    effects = [
        node for node in joint.nodes if is_written(node) or (is_drawn(node) and node not in behind)
    ]
    onward = _between(joint, inputs[:operands], [*outputs[:count], *saved], effects)
    back = _between(joint, [*saved, *gradients], back_outputs, ())
    return onward, back


def _saved(joint: Graph, wanted: Iterable[Node], behind: set[Node]) -> list[Node]:
    """What the way back takes from the way on.

    First all that it reads. Then, from the latest on, a view, or a value that only arithmetic on
    elements reads, whose kernel can compute it again, is not saved if saving its operands in its
    place takes no more.
    """
    readers: dict[Node, list[Node]] = {
        node: [joint.output_node] for node in wanted if node not in behind
    }
    for node in joint.nodes:
        for one in node.all_input_nodes if node in behind else ():
            if one not in behind:
                readers.setdefault(one, []).append(node)
    order = {node: place for place, node in enumerate(joint.nodes)}
    overwritten = written_values(joint)
    saved = dict.fromkeys(sorted(readers, key=order.__getitem__))
    for node in sorted(joint.nodes, key=order.__getitem__, reverse=True):
        if node not in saved or node in overwritten:
            continue
        if not _is_cheap(node, readers.get(node, ())):
            continue
        added = [one for one in node.all_input_nodes if one not in saved]
        if sum(_bytes(one) for one in added if one.op != "placeholder") <= _bytes(node):
            del saved[node]
            saved.update(dict.fromkeys(added))
            for one in node.all_input_nodes:
                readers.setdefault(one, []).append(node)
    return sorted(saved, key=order.__getitem__)


def _is_cheap(node: Node, readers: Iterable[Node]) -> bool:
    """Whether a value may be computed twice: it is a view, or part of a kernel of its readers."""
    op = operator_of(node)
    if op is None or op.entry.variant != "functional" or has_effect(node):
        return False
    if not isinstance(node.meta.get("val"), TensorMeta):
        return False
    if op.entry.kind == "view":
        return True
    operators = [operator_of(one) for one in readers]
    return op.entry.kind == "pointwise" and all(
        one is not None and is_over_elements(one) for one in operators
    )


def _bytes(node: Node) -> int:
    meta = node.meta.get("val")
    if not isinstance(meta, TensorMeta):
        return 1 << 62
    return prod(int(concrete(size, {})) for size in meta.shape) * meta.dtype.itemsize


def _between(
    joint: Graph, inputs: Sequence[Node], outputs: Sequence[Node], effects: Iterable[Node]
) -> Graph:
    """What computes `outputs` from `inputs`, with the inputs in this order, and the `effects`."""
    given = set(inputs)
    wanted = {one for one in (*outputs, *effects) if one not in given}
    kept: list[Node] = []
    for node in reversed(joint.nodes):
        if node in wanted and node not in given:
            kept.append(node)
            wanted.update(one for one in node.all_input_nodes if one not in given)
    made = Graph()
    current: dict[Node, Node] = {}
    for place, node in enumerate(inputs):
        name = f"input_{place}"
        current[node] = Node(name, "placeholder", name, meta=node.meta)
    for node in reversed(kept):
        if node.op == "placeholder":
            raise UnsupportedProgramError(f"{node.name} is read on a way that it is not given on")
        current[node] = Node(
            node.name,
            node.op,
            node.target,
            map_nodes(node.args, current.__getitem__),
            map_nodes(node.kwargs, current.__getitem__),
            node.meta,
        )
    results = tuple(current[one] for one in outputs)
    made.nodes = [*current.values(), Node("output", "output", "output", (results,))]
    return made

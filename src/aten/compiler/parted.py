"""Exported programs that depend on data: what comes before that is compiled, the rest runs eagerly.

A program as a whole is no graph of tensors without data where an operator's result is as large as
the data says, or a loop goes on for as long. What does not need such results is a program of its
own, and a convolution network with a detector's head is most of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any

from aten._core.dispatch.dispatcher import OpOverload
from aten.compiler.calls import has_effect, operator_of
from aten.graph.interpreter import Interpreter
from aten.graph.ir import Graph, Node, TensorMeta, map_nodes
from aten.graph.operators import resolve_graph
from aten.graph.program import ExportedProgram, ProgramModule
from aten.graph.signature import (
    ExportGraphSignature,
    InputKind,
    OutputKind,
    OutputSpec,
    SymIntArgument,
    TensorArgument,
)
from aten.graph.symbolic import Expression

# Operators whose results, or their sizes, are known only from data.
_OF_SIZE = "dynamic_output_shape"
_OF_DATA = frozenset({"data_dependent_output", _OF_SIZE})
# Calls that are worth a program of their own.
_FEWEST_CALLS = 4
Compile = Callable[[Callable[..., Any]], Callable[..., Any]]


def parted(module: Any, compiled: Compile) -> ProgramModule | None:
    """An exported program whose first part is `compiled`; None for what has no such part.

    That part takes the program's inputs in order.
    """
    if not isinstance(module, ProgramModule):
        return None
    program = module.program
    late = _late(program.graph)
    if late is None:
        return None
    calls = [one for one in program.graph.nodes if one.op == "call_function" and one not in late]
    if len(calls) < _FEWEST_CALLS:
        return None
    program.prepare()
    made = copy(program)
    # It stands for the interpreter of all the graph.
    made._interpreter = _Parted(program, late, compiled)  # type: ignore[assignment]
    return ProgramModule(made)


def unknown_size(graph: Graph) -> str:
    """Why an exported program is no graph of tensors without data, where it says so itself: by a
    result whose size it does not know; else nothing. So nobody has to capture it to find out."""
    known = _known_symbols(graph)
    for node in graph.nodes:
        op = operator_of(node)
        if op is None or _OF_SIZE not in op.entry.tags:
            continue
        if not known.issuperset(_symbols_of(node)):
            return f"{op.qualified_name}: the sizes of the result depend on values"
    return ""


def _known_symbols(graph: Graph) -> set[str]:
    return {one for node in graph.placeholders for one in _symbols_of(node)}


def _late(graph: Graph) -> set[Node] | None:
    """The calls that depend on data, and those on these; None where calls have to stay in order."""
    found: set[Node] = set()
    known = _known_symbols(graph)
    for node in graph.nodes:
        if node.op == "output":
            continue
        op = operator_of(node)
        if op is not None and has_effect(node):
            return None
        is_computed = op is not None or node.target.startswith(("operator.", "math."))
        if node.op == "get_attr" or (
            node.op == "call_function"
            and (
                not is_computed
                or not found.isdisjoint(node.all_input_nodes)
                or (op is not None and _is_of_data(op, node, known))
            )
        ):
            found.add(node)
    return found


def _is_of_data(op: OpOverload, node: Node, known: set[str]) -> bool:
    """Whether data decides what a call gives, or whether it raises: a check, which gives nothing.

    An operator whose results may be as large as data say gives one of a known size where the
    program says so: elements at indices, which are no mask. Where that is wrong, the part runs
    eagerly.
    """
    if not op._schema.returns:
        return True
    found = _OF_DATA.intersection(op.entry.tags)
    if found != {_OF_SIZE}:
        return bool(found)
    return not isinstance(node.meta.get("val"), TensorMeta) or not known.issuperset(
        _symbols_of(node)
    )


def _symbols_of(node: Node) -> Iterator[str]:
    """The symbols among the sizes of a call's results."""
    made = node.meta.get("val")
    for one in made if isinstance(made, list) else [made]:
        if isinstance(one, TensorMeta):
            for size in one.shape:
                if isinstance(size, Expression):
                    yield from size.symbols()


class _Parted:
    """Runs a graph as its interpreter would: the first part compiled, the other one eagerly.

    The first part is an exported program over the same state: what comes of it is kept for other
    processes as any program is, and seen to have changed where a tensor was replaced.
    """

    def __init__(self, program: ExportedProgram, late: set[Node], compiled: Compile) -> None:
        graph = program.graph
        inputs = graph.placeholders
        kinds = [one.kind for one in program.graph_signature.input_specs]
        self._is_given = [kind is InputKind.USER_INPUT for kind in kinds]
        handed = dict.fromkeys(
            one
            for node in graph.nodes
            if node in late or node.op == "output"
            for one in node.all_input_nodes
            if one.op == "call_function" and one not in late
        )
        first, rest = Graph(), Graph()
        first.nodes = [node for node in graph.nodes if node.op != "output" and node not in late]
        first.nodes.append(Node("output", "output", "output", (tuple(handed),)))
        rest.subgraphs = graph.subgraphs
        rest.returns_single = graph.returns_single
        taken = {
            node: Node(node.name, "placeholder", node.name, meta=node.meta)
            for node in (*inputs, *handed)
        }
        rest.nodes = list(taken.values())
        for node in graph.nodes:
            if node in late or node.op == "output":
                taken[node] = _renewed(node, taken)
                rest.nodes.append(taken[node])
        self._first = compiled(ProgramModule(_beginning(program, first, list(handed))))
        self._hands_one = len(handed) == 1
        self._rest = Interpreter(rest, resolve_graph(rest))

    def run(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """What the graph returns, for its inputs in order."""
        pairs = zip(self._is_given, arguments, strict=True)
        values = self._first(*(one for is_given, one in pairs if is_given))
        return self._rest.run([*arguments, *((values,) if self._hands_one else values)])


def _beginning(program: ExportedProgram, graph: Graph, results: list[Node]) -> ExportedProgram:
    """The program of a graph over a program's inputs and state. It asks nothing of inputs that the
    program has not asked."""
    outputs = [
        OutputSpec(
            OutputKind.USER_OUTPUT,
            TensorArgument(one.name)
            if isinstance(one.meta.get("val"), TensorMeta)
            else SymIntArgument(one.name),
        )
        for one in results
    ]
    signature = ExportGraphSignature(program.graph_signature.input_specs, outputs)
    state = program.state_dict, program.constants, program.range_constraints
    return ExportedProgram(graph, signature, *state, dialect=program.dialect)


def _renewed(node: Node, taken: dict[Node, Node]) -> Node:
    def current(one: Node) -> Node:
        return taken.get(one, one)

    args, kwargs = map_nodes(node.args, current), map_nodes(node.kwargs, current)
    return Node(node.name, node.op, node.target, args, kwargs, node.meta)

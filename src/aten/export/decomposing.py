"""From a program to one in another set of operators: it is traced again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.export.capturing import captured
from aten.export.comparing import Point
from aten.export.dimensions import Dim, Dynamic, Symbol
from aten.export.exporting import MUTATIONS, Sources, argument_of
from aten.export.tracing import Trace, trace
from aten.export.unification import Unified, pruned, ranges_of
from aten.graph.interpreter import Interpreter
from aten.graph.ir import Node, TensorMeta
from aten.graph.operators import resolve_graph
from aten.graph.program import ExportedProgram
from aten.graph.signature import (
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputSpec,
    TensorArgument,
)
from aten.graph.symbolic import Expression, SymbolicError, ValueRange, solve
from aten.registry import ops
from aten.transforms import FakeTensorMode


def decomposed(program: ExportedProgram, to: str | None) -> ExportedProgram:
    """The program in operators of a set alone; functional ones where `to` is None."""
    symbols, sources = _symbols_of(program)
    numbers = {
        node.name: Node(node.name, "placeholder", node.name, meta=dict(node.meta))
        for node in program.placeholders
        if isinstance(node.meta.get("val"), Expression)
    }
    interpreter = Interpreter(program.graph, resolve_graph(program.graph))

    def run(point: Point) -> Trace:
        mode = FakeTensorMode()
        named: list[tuple[str, Tensor]] = []
        values: list[Any] = []
        for node in program.placeholders:
            record = node.meta.get("val")
            if isinstance(record, TensorMeta):
                sizes, strides = (
                    [int(_evaluated(one, point)) for one in group]
                    for group in (record.shape, record.stride)
                )
                with mode:
                    fake = ops.aten.empty_strided(
                        sizes, strides, dtype=record.dtype, device=record.device
                    )
                named.append((node.name, fake))
                values.append(fake)
            else:
                values.append(_evaluated(record, point))
        return trace(lambda: interpreter.run(values), named, mode, None, to)

    unified, ranges = captured(run, symbols, sources, numbers, _allowed(program))
    return _with_graph(program, unified, ranges, numbers, "TRAINING" if to is None else "ATEN")


def _allowed(program: ExportedProgram) -> Callable[[Point], bool]:
    """Whether sizes keep what the program asks of them: the checker's conditions, on its inputs'
    records."""
    conditions = program._checker.conditions()

    def allowed(point: Point) -> bool:
        try:
            return all(bool(one.evaluate(point)) for one in conditions)
        except SymbolicError:
            return True

    return allowed


def _evaluated(value: Any, point: Point) -> Any:
    return value.evaluate(point) if isinstance(value, Expression) else value


def _symbols_of(program: ExportedProgram) -> tuple[dict[str, Symbol], Sources]:
    """The symbols among a program's inputs, and where each is read."""
    examples = program.example_sizes()
    symbols: dict[str, Symbol] = {}
    sources: Sources = {}
    for node in program.placeholders:
        record = node.meta.get("val")
        sizes = enumerate(record.shape) if isinstance(record, TensorMeta) else [(None, record)]
        for dim, size in sizes:
            if not isinstance(size, Expression):
                continue
            for name in set(size.symbols()):
                limits = program.range_constraints.get(name, ValueRange(None, None))
                lower = 0 if limits.lower is None else limits.lower
                dim_of = Dim(name, min=lower, max=limits.upper)
                # A size that the program was exported with is one that it runs with.
                known = size.hint if size.is_symbol and isinstance(size.hint, int) else None
                example = int(examples[name]) if known is None else known
                symbols.setdefault(name, Symbol(name, dim_of, example))
                linear = _linear(size, name)
                if linear is not None and (name not in sources or size.is_symbol):
                    sources.setdefault(name, (node.name, dim, linear))
                    if size.is_symbol:
                        sources[name] = (node.name, dim, linear)
    return symbols, sources


def _linear(size: Expression, name: str) -> Dynamic | None:
    if set(size.symbols()) != {name}:
        return None
    offset, first = (int(size.evaluate({name: value})) for value in (0, 1))
    if solve(size, int(size.evaluate({name: 7})), {}) != (name, 7) or first <= offset:
        return None
    return Dynamic(name, first - offset, offset)


def _with_graph(
    program: ExportedProgram,
    unified: Unified,
    ranges: dict[str, ValueRange],
    numbers: Mapping[str, Node],
    dialect: str,
) -> ExportedProgram:
    """The program with another graph; what its graph already gave as mutations stays so."""
    placeholders: list[Node] = []
    specs: dict[Node, InputSpec] = {}
    inputs = []
    for node, spec in zip(program.placeholders, program.graph_signature.input_specs, strict=True):
        made = unified.inputs.get(node.name) or numbers.get(node.name)
        if made is None:
            made = Node(node.name, "placeholder", node.name, meta=dict(node.meta))
        elif isinstance(node.meta.get("val"), TensorMeta):
            trained = node.meta["val"].requires_grad
            made.meta["val"] = made.meta["val"]._replace(requires_grad=trained)
        placeholders.append(made)
        specs[made] = spec
        inputs.append(spec)
    constants = dict(program.constants)
    for node, tensor in unified.constants:
        target = f"lifted_tensor_{len(constants)}"
        while target in constants:
            target += "_"
        constants[target] = tensor
        node.name = node.target = f"c_{target}"
        spec = InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(node.name), target)
        first_user = next(
            (place for place, one in enumerate(inputs) if one.kind is InputKind.USER_INPUT),
            len(inputs),
        )
        inputs.insert(first_user, spec)
        placeholders.insert(first_user, node)
    returned: list[Any] = []
    outputs: list[OutputSpec] = []
    for written, value in unified.mutations.items():
        spec = specs[written]
        name = spec.target if spec.kind is not InputKind.USER_INPUT else written.name
        returned.append(value)
        outputs.append(OutputSpec(MUTATIONS[spec.kind], TensorArgument(value.name), name))
    for result, old in zip(unified.results, program.graph_signature.output_specs, strict=True):
        returned.append(result)
        outputs.append(OutputSpec(old.kind, argument_of(result), old.target))
    returns = tuple(returned)
    graph = pruned(placeholders, unified.calls, returns, unified.graphs, unified.checks)
    return ExportedProgram(
        graph,
        ExportGraphSignature(inputs, outputs),
        program.state_dict,
        constants,
        ranges_of(graph, {**program.range_constraints, **ranges}),
        call_spec=program.call_spec,
        guards=program.guards,
        dialect=dialect,
        torch_version=program.torch_version,
        example_inputs=program.example_inputs,
    )

"""What an operator becomes on the way to machine code, shown on an example."""

from __future__ import annotations

from typing import Any

from aten import registry
from aten._core.base.device import device
from aten._core.base.dtypes import DTYPES, dtype
from aten._core.tensor.construct import empty_strided
from aten.backends import structured
from aten.backends.cpu.codegen import lacking, llvm_ir
from aten.backends.cpu.jit import assembly
from aten.backends.memories import Memory
from aten.backends.plans import plan_graph
from aten.loops.pipeline import lower, prepare
from aten.loops.program import Program
from aten.ops.definition import Definition, pointwise_graph
from aten.ops.folding import reduction_graph
from aten.prims import Graph

_EXAMPLE_SHAPE = (64, 1024)
# Arguments that must be given, or that show more than their defaults would.
_EXAMPLES = {
    "dim": -1,
    "normalized_shape": _EXAMPLE_SHAPE[1:],
    "half_to_float": False,
    "input_dtype": DTYPES["float32"],
    "rounding_mode": "trunc",
    "decimals": 2,
}
_FLOATING = ("float", "complex")


def explanation(name: str) -> str:
    """Graph, loops and machine code of `name` on float32 tensors of shape 64×1024.

    Raises LookupError for unknown operators and for those that are not made of loops.
    """
    graph, programs = example_programs(name)
    parts = ["Prims graph", str(graph)]
    for program in programs:
        parts += ["Loop IR", str(program), "machine code", assembly(llvm_ir(program))]
    return "\n\n".join(parts)


def prims_of(name: str) -> list[str]:
    """The primitives that the operator's function binds for float32, in order of computation.

    Raises LookupError like `explanation`.
    """
    graph, _ = example_programs(name)
    named = [node.prim for node in graph.nodes() if node.prim not in ("input", "constant")]
    return list(dict.fromkeys(named))


def example_programs(name: str, element: dtype = DTYPES["float32"]) -> tuple[Graph, list[Program]]:
    """Graph and programs of the operator `name` on tensors of `element`, of shape 64×1024.

    Raises LookupError like `explanation`, and what the operator raises for types it does not take.
    """
    op = registry.operator(name if "::" in name else f"aten::{name}")
    if not structured.has_definition(op) or op.entry.kind not in ("pointwise", "reduction", "scan"):
        raise LookupError(f"{name} is not made of loops: kind {op.entry.kind}")
    definition = structured.definition_of(op)
    if op.entry.kind == "pointwise":
        return _pointwise_example(definition, element)
    return _reduction_example(definition, element)


def _pointwise_example(definition: Definition, element: dtype) -> tuple[Graph, list[Program]]:
    attributes: dict[str, Any] = {}
    operands = []
    for place, parameter in enumerate(definition.parameters):
        if definition.entry.variant == "out" and place == definition.out_position:
            continue
        if parameter.name in _EXAMPLES:
            attributes[parameter.name] = _EXAMPLES[parameter.name]
        elif parameter.kind == "attribute" or (
            parameter.kind == "scalar" and parameter.default is not None
        ):
            attributes[parameter.name] = parameter.default
        elif parameter.kind != "memory_format":
            operands.append(parameter)
    types = [element if p.kind == "tensor" else DTYPES["float64"] for p in operands]
    floats = definition.promotion in ("float", "division") and element.kind not in _FLOATING
    compute = DTYPES["float32"] if floats else element
    graph = pointwise_graph(definition, attributes, types, compute, None)
    accesses = ["unit" if p.kind == "tensor" else "zero" for p in operands]
    return graph, [lower(prepare(graph, lacking()), accesses=(*accesses, "unit"))]


def _reduction_example(definition: Definition, element: dtype) -> tuple[Graph, list[Program]]:
    arguments = [_example_argument(parameter, element) for parameter in definition.parameters]
    graph, tensors, single = reduction_graph(definition, arguments)
    programs: list[Program] = []

    def collect(program: Program) -> tuple[int, Any]:
        programs.append(program)
        return 0, None

    inputs = [
        Memory(place, tensor.dtype, tuple(tensor.shape), tensor.stride())
        for place, tensor in enumerate(tensors)
    ]
    plan_graph(prepare(graph, lacking()), inputs, generate=collect, device_type=0, single=single)
    return graph, programs


def _example_argument(parameter: Any, element: dtype) -> Any:
    if parameter.kind == "tensor":
        shape = _EXAMPLE_SHAPE[1:] if parameter.name in ("weight", "bias") else _EXAMPLE_SHAPE
        return empty_strided(shape, None, element, device("cpu"))
    if parameter.name in _EXAMPLES:
        return _EXAMPLES[parameter.name]
    return parameter.default if parameter.has_default else 1e-5

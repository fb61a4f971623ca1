"""Kernels made from definitions, for every backend that has a code generator.

A *loop backend* turns programs into machine code (the CPU), or needs only their metadata (Meta).
Operators of the structured kinds get a kernel for each of them when they come into being. What
plans and lowers is imported when the first kernel is made: programs that were kept bring theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Protocol

from aten import registry
from aten._core.base.device import device_types
from aten._core.base.dtypes import dtype, get_default_dtype
from aten._core.base.keys import DispatchKey
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.dispatch.python_kernel import PythonKernel
from aten._core.tensor.tensor import Tensor
from aten.backends import fast_paths
from aten.backends.composite import install_variant
from aten.backends.contract import COMPONENTS
from aten.backends.cpu import brought
from aten.backends.cpu.described_plans import Notes, call_of, plan_of
from aten.backends.cpu.kernels.folding.plan import Plan, PlanKernel
from aten.backends.cpu.kernels.pointwise.pointwise import PointwiseKernel
from aten.backends.decomposition import MOVES, decomposing_kernel, refused_by_space
from aten.ops.definition import Definition, checks_of, load_function, place_of, pointwise_graph
from aten.ops.folding import reduction_graph
from aten.prims import Graph

TYPE_CHECKING = False
if TYPE_CHECKING:
    from aten.backends.plans import Parts
    from aten.loops.program import Program

_definitions: dict[str, Definition] = {}


class CodeGenerator(Protocol):
    """Turns programs into machine code."""

    def __call__(self, program: Program) -> tuple[int, Any]:
        """The code's address and what keeps it alive."""
        ...

    def lacking(self) -> Collection[str]:
        """The optional primitives it does not know."""
        ...


class LoopBackend:
    """What the compiled kernels ask of a backend; see `PointwiseKernel` and `PlanKernel`."""

    def __init__(self, key: DispatchKey, generator: CodeGenerator | None) -> None:
        self.key = key
        self.generator = generator
        self.executes = generator is not None
        name = COMPONENTS.get(key.backend, key.backend.lower())
        self.device_type = device_types()[name]

    def promotion(self, kernel: PointwiseKernel, attributes: dict[str, Any]) -> str:
        """The promotion rule for these attributes."""
        rule = definition_of(kernel.op).promotion
        if rule == "division":
            return "float" if attributes.get("rounding_mode") is None else "default"
        return "default" if rule == "exact" else rule

    def checks(self, kernel: PointwiseKernel, attributes: dict[str, Any]) -> tuple[Any, Any]:
        """The operator's checks of its arguments: always, and for integers."""
        return checks_of(definition_of(kernel.op), attributes)

    def verify(
        self,
        kernel: PointwiseKernel,
        attributes: dict[str, Any],
        types: tuple[dtype, ...],
        compute: dtype,
        out: dtype,
    ) -> None:
        """Raise what `compile` would raise for these element types."""
        pointwise_graph(definition_of(kernel.op), attributes, types, compute, out)

    def result_type(
        self, kernel: PointwiseKernel, attributes: dict[str, Any], types: tuple[dtype, ...]
    ) -> dtype:
        """The type that the function itself gives its result."""
        definition = definition_of(kernel.op)
        return pointwise_graph(definition, attributes, types, types[0], None).outputs[0].dtype

    def compile(
        self,
        kernel: PointwiseKernel,
        attributes: dict[str, Any],
        types: tuple[dtype, ...],
        compute: dtype,
        out: dtype,
        accesses: tuple[str, ...],
    ) -> tuple[int, Any]:
        """Machine code for a pointwise operator on these types and access patterns."""
        op = kernel.op
        call = repr((attributes, types, compute, out, accesses, get_default_dtype()))
        found = self.known(op, call)
        if found is not None:
            return found
        from aten.loops.pipeline import lower

        graph = pointwise_graph(definition_of(op), attributes, types, compute, out)
        program = lower(self.prepared(graph), accesses=accesses)
        made = self.generate(program)
        self.note(op, call, program)
        return made

    def known(self, op: OpOverload, call: str) -> tuple[int, Any] | None:
        """The code of an operator's call, where it is told without the program that it runs."""
        return None

    def note(self, op: OpOverload, call: str, program: Program) -> None:
        """Learn which program an operator's call runs."""

    def prepared(self, graph: Graph) -> Graph:
        """`graph` in terms of what the generator knows."""
        from aten.loops.pipeline import prepare

        return prepare(graph, () if self.generator is None else self.generator.lacking())

    def generate(self, program: Program) -> tuple[int, Any]:
        """Machine code for `program`."""
        assert self.generator is not None
        return self.generator(program)

    def clone(self, tensor: Tensor) -> Tensor:
        """A copy of `tensor`."""
        return registry.operator("aten::clone")(tensor)  # type: ignore[no-any-return]

    def plan(self, kernel: PlanKernel, arguments: list[Any]) -> Plan:
        """How to run a reduction on tensors like these."""
        return self.planned(kernel.op, arguments, self.generate if self.executes else None)

    def planned(
        self,
        op: OpOverload,
        arguments: list[Any],
        generate: Callable[[Program], tuple[int, Any]] | None,
        parts: Parts | None = None,
    ) -> Plan:
        """The plan of a call of `op`, with what `generate` makes."""
        from aten.backends.memories import Memory
        from aten.backends.plans import plan_graph
        from aten.loops.geometry import UnsupportedGraphError

        definition = definition_of(op)
        graph, tensors, single = reduction_graph(definition, arguments)
        inputs = [
            Memory(place, one.dtype, tuple(one.shape), one.stride())
            for place, one in enumerate(tensors)
        ]
        try:
            return plan_graph(
                self.prepared(graph),
                inputs,
                generate=generate,
                device_type=self.device_type,
                single=single,
                parts=parts,
            )
        except UnsupportedGraphError as error:
            raise refused_by_space(error, definition) from None


class _ProcessorBackend(LoopBackend):
    """The CPU's. For calls of operators of the table it takes what a file brought along before it
    finds out what program that is: what makes programs need not be imported then."""

    def known(self, op: OpOverload, call: str) -> tuple[int, Any] | None:
        return brought.kernel_of(f"{op.qualified_name} {call}") if op.entry.function else None

    def note(self, op: OpOverload, call: str, program: Program) -> None:
        if op.entry.function:
            brought.note(f"{op.qualified_name} {call}", str(program))

    def plan(self, kernel: PlanKernel, arguments: list[Any]) -> Plan:
        """See `LoopBackend.plan`."""
        op = kernel.op
        call = call_of(op.qualified_name, arguments) if op.entry.function else None
        if call is None:
            return super().plan(kernel, arguments)
        found = plan_of(call)
        if found is not None:
            return found
        from aten.backends.plans import Parts

        notes = Notes(call, self.generate)
        return self.planned(op, arguments, notes.generate, Parts(notes.plan, notes.launch))


_backends: list[LoopBackend] = []


def definition_of(op: OpOverload) -> Definition:
    """The operator's definition."""
    found = _definitions.get(op.qualified_name)
    if found is None:
        function = load_function(op.entry.function)
        found = _definitions[op.qualified_name] = Definition(op, function)
    return found


def define_by(op: OpOverload, function: Callable[..., Any], place: str) -> None:
    """Let `function` be the definition of an operator that is not in the table."""
    _definitions[op.qualified_name] = Definition(op, function, place)


def has_definition(op: OpOverload) -> bool:
    """Whether the operator has a function, in the table or given to `define_by`."""
    return bool(op.entry.function) or op.qualified_name in _definitions


def add_loop_backend(backend: LoopBackend) -> None:
    """Give `backend` kernels for every structured operator made from now on."""
    _backends.append(backend)


def loop_backends() -> tuple[LoopBackend, ...]:
    """All of them, in the order in which they came."""
    return tuple(_backends)


def loop_backend(key: DispatchKey) -> LoopBackend:
    """The loop backend of a key."""
    return next(one for one in _backends if one.key is key)


def install_pointwise(op: OpOverload) -> None:
    """Put a pointwise operator's kernels in place, if it has a definition."""
    if not has_definition(op):
        return
    install_loops_pointwise(op)
    definition = definition_of(op)
    # Moving data is no arithmetic: devices that are handed no decompositions have it, too.
    moves = op.qualified_name in MOVES
    key = DispatchKey.CompositeExplicitAutograd if moves else DispatchKey.Structured
    op.register(key, decomposing_kernel(op, definition), definition.place)


def install_loops_pointwise(op: OpOverload) -> None:
    """Put the loop backends' kernels of a pointwise operator in place."""
    definition = definition_of(op)
    constants = definition.options.constants
    parameters = tuple(
        (p.name, p.kind, p.takes_part, constants.get(p.name)) for p in definition.parameters
    )
    defaults = tuple(p.default if p.has_default else _NO_DEFAULT for p in definition.parameters)
    for backend in _backends:
        if backend.key is DispatchKey.Meta and definition.options.meta is not None:
            function = definition.options.meta
            op.register(backend.key, PythonKernel(function), place_of(function))
            continue
        kernel = PointwiseKernel(
            op,
            backend,
            parameters,
            defaults,
            definition.out_position,
            op.entry.variant != "out",
            definition.options.repeatable,
        )
        op.register(backend.key, fast_paths.with_fast_path(op, kernel), definition.place)


def install_reduction(op: OpOverload) -> None:
    """Put a reduction's kernels in place, if it has a definition."""
    if not has_definition(op):
        return
    if op.entry.variant != "functional":
        install_variant(op)
        return
    install_loops_reduction(op)
    definition = definition_of(op)
    op.register(DispatchKey.Structured, decomposing_kernel(op, definition), definition.place)


def install_loops_reduction(op: OpOverload) -> None:
    """Put the loop backends' kernels of a reduction in place."""
    definition = definition_of(op)
    for backend in _backends:
        kernel = PlanKernel(op, backend, len(definition.parameters))
        op.register(backend.key, kernel, definition.place)


class _NoDefault:
    """Stands for the default of arguments without one; no argument is ever this object."""


_NO_DEFAULT = _NoDefault()


class _ProcessorCode:
    """The CPU's generator, imported when it is needed."""

    def __call__(self, program: Program) -> tuple[int, Any]:
        from aten.backends.cpu.codegen import compile_program

        compiled = compile_program(program)
        return compiled.address, compiled

    def lacking(self) -> Collection[str]:
        from aten.backends.cpu.codegen import lacking

        return lacking()


add_loop_backend(_ProcessorBackend(DispatchKey.CPU, _ProcessorCode()))
add_loop_backend(LoopBackend(DispatchKey.Meta, None))

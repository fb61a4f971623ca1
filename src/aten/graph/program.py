"""An exported program: a graph, its signature, its state, and the ways to call it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, Any, NamedTuple

from aten._core.base.device import device
from aten._core.base.keys import gradient_modes, set_gradient_modes
from aten._core.tensor.tensor import Tensor
from aten.graph import pytree
from aten.graph.errors import FormatError, InputError
from aten.graph.inputs import InputChecker
from aten.graph.interpreter import Interpreter
from aten.graph.ir import Graph, Node, TensorMeta
from aten.graph.operators import resolve_graph
from aten.graph.placement import moved_graph, moved_tensors
from aten.graph.signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    OutputKind,
)
from aten.graph.strip_products import strip_products
from aten.graph.symbolic import Expression, Number, ValueRange

_COPY = "aten.copy_.default"
_EXAMPLE_SIZE = 4  # large enough not to broadcast, small enough for a quick run
_MUTATIONS = (
    OutputKind.BUFFER_MUTATION,
    OutputKind.PARAMETER_MUTATION,
    OutputKind.USER_INPUT_MUTATION,
)
_RETURNED = (OutputKind.USER_OUTPUT, OutputKind.LOSS_OUTPUT)


class CallSpec(NamedTuple):
    """How the exported module was called: tree specs in their JSON form, and the argument names."""

    in_spec: str
    out_spec: str
    argument_names: list[str]
    named_tuples: dict[str, list[str]]
    modules: tuple[str, ...] = ()  # names of the modules inside of it


_decomposition: list[Callable[[ExportedProgram, str | None], ExportedProgram]] = []


def set_decomposition(
    function: Callable[[ExportedProgram, str | None], ExportedProgram],
) -> None:
    """Says what takes a program apart to a set of operators."""
    _decomposition[:] = [function]


class ExportedProgram:
    """A program, from `aten.export.load` or `aten.export.export`, with torch's surface.

    Attributes:
        graph: the graph; `print(program.graph)` shows it as Python.
        graph_signature: what its inputs and outputs stand for.
        state_dict: parameters and persistent buffers by name. Running the program updates the
            buffers that it mutates.
        constants: lifted constants and non-persistent buffers by name.
        range_constraints: the sizes each symbol may take.
        dialect: "TRAINING" for the training IR, "ATEN" for Core ATen.
        torch_version: the version that saved the program; "" for one that was exported here.
        example_inputs: the arguments that it was exported with, where it was exported here.
    """

    def __init__(
        self,
        graph: Graph,
        graph_signature: ExportGraphSignature,
        state_dict: dict[str, Tensor],
        constants: dict[str, Tensor],
        range_constraints: dict[str, ValueRange],
        *,
        call_spec: CallSpec | None = None,
        guards: Sequence[str] = (),
        dialect: str = "",
        torch_version: str = "",
        example_inputs: tuple[tuple[Any, ...], dict[str, Any]] | None = None,
    ) -> None:
        self.graph = graph
        self.graph_signature = graph_signature
        self.state_dict = state_dict
        self.constants = constants
        self.range_constraints = range_constraints
        self.call_spec = call_spec
        self.guards = list(guards)
        self.dialect = dialect
        self.torch_version = torch_version
        self.example_inputs = example_inputs
        self._checker = self._make_checker()
        self._interpreter: Interpreter | None = None
        self._copy: Any = None
        self._check_state()

    def __getstate__(self) -> dict[str, Any]:
        # What runs is made anew by whoever has the copy.
        return {**self.__dict__, "_interpreter": None}

    def _make_checker(self) -> InputChecker:
        placeholders = {node.name: node for node in self.graph.placeholders}
        specs = self.graph_signature.user_input_specs
        records: list[Any] = []
        for spec in specs:
            node = placeholders.get(spec.arg.name)
            if isinstance(spec.arg, ConstantArgument):
                records.append(spec.arg.value)
                continue
            records.append(node.meta.get("val") if node is not None else None)
            if records[-1] is None:
                raise FormatError(f"nothing is recorded of the input {spec.arg.name!r}")
        return InputChecker(specs, records, self.range_constraints, self.guards, self._paths())

    def _paths(self) -> list[str]:
        """How guards spell the user inputs; empty where there are no guards to read."""
        if not self.guards or self.call_spec is None:
            return []
        arguments = self._argument_specs()
        return [path for name, spec in arguments for path in spec.paths(f"L[{name!r}]")]

    def _argument_specs(self) -> list[tuple[str, pytree.TreeSpec]]:
        """The arguments in signature order: positional ones, then keywords, each with its shape."""
        if self.call_spec is None:
            return []
        where = "the call signature"
        spec = pytree.parse(self.call_spec.in_spec, self.call_spec.named_tuples, where)
        if len(spec.children) != 2 or spec.kind is None:
            raise FormatError(f"{where}: expected positional and keyword arguments")
        positional, keywords = spec.children
        names = list(self.call_spec.argument_names)[: len(positional.children)]
        names += [f"argument {i}" for i in range(len(names), len(positional.children))]
        names += [str(key) for key in keywords.keys]
        return list(zip(names, (*positional.children, *keywords.children), strict=True))

    def _check_state(self) -> None:
        """Every parameter, buffer and constant is there, as the graph records it."""
        for node, spec in zip(
            self.graph.placeholders, self.graph_signature.input_specs, strict=True
        ):
            if spec.kind in (InputKind.USER_INPUT, InputKind.TOKEN):
                continue
            value = self._state(spec.target)
            if value is None:
                raise FormatError(f"the archive holds no tensor for {spec.target!r}")
            record = node.meta.get("val")
            if not isinstance(record, TensorMeta):
                continue
            if value.dtype != record.dtype or tuple(value.shape) != record.shape:
                raise FormatError(
                    f"the tensor stored for {spec.target!r} is not what the graph takes ({record})"
                )

    def _state(self, name: str | None) -> Tensor | None:
        if name is None:
            return None
        return self.state_dict[name] if name in self.state_dict else self.constants.get(name)

    @property
    def input_metadata(self) -> list[tuple[str, Any]]:
        """Name and record of each user input: a TensorMeta, an Expression, or the fixed value."""
        names = [spec.arg.name for spec in self._checker.specs]
        return list(zip(names, self._checker.records, strict=True))

    def describe_input(self, name: str) -> str:
        """What the input of that name must be: `float32[s77, 1, 8, 8] with s77 1..4096`."""
        return self._checker.expected(dict(self.input_metadata)[name])

    def example_sizes(self, size: int | None = None) -> dict[str, Number]:
        """A size for every symbol among the inputs: `size`, or the allowed one nearest to 4."""
        symbols = {
            symbol
            for _, record in self.input_metadata
            for expression in (record.shape if isinstance(record, TensorMeta) else (record,))
            if isinstance(expression, Expression)
            for symbol in expression.symbols()
        }
        free = ValueRange(None, None)
        return {
            symbol: self.range_constraints.get(symbol, free).nearest(_EXAMPLE_SIZE)
            if size is None
            else size
            for symbol in sorted(symbols)
        }

    @property
    def output_names(self) -> list[str]:
        """Names of the values that `flat_call` returns; a constant one is named by its position."""
        names = self.graph_signature.user_outputs
        return [name if isinstance(name, str) else f"output_{i}" for i, name in enumerate(names)]

    @property
    def placeholders(self) -> list[Node]:
        return self.graph.placeholders

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        for name in self.graph_signature.parameters:
            yield name, self.state_dict[name]

    def parameters(self) -> Iterator[Tensor]:
        for _, parameter in self.named_parameters():
            yield parameter

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        for name in self.graph_signature.buffers:
            value = self._state(name)
            assert value is not None
            yield name, value

    def buffers(self) -> Iterator[Tensor]:
        for _, buffer in self.named_buffers():
            yield buffer

    def prepare(self) -> None:
        """Looks every operator up and compiles the steps; the first call does it otherwise.

        Raises:
            UnknownOperatorError: operators are missing; the message names all of them.
        """
        if self._interpreter is not None:
            return
        mutates = any(spec.kind in _MUTATIONS for spec in self.graph_signature.output_specs)
        functions = resolve_graph(self.graph, *([_COPY] if mutates else []))
        self._copy = functions.get(_COPY)
        own = strip_products(self.graph, self._unwritten_state())
        self._interpreter = Interpreter(self.graph, functions, own)

    def _unwritten_state(self) -> list[Node]:
        """The placeholders of parameters, buffers and constants that a call does not write to."""
        written = {
            spec.target for spec in self.graph_signature.output_specs if spec.kind in _MUTATIONS
        }
        specs = zip(self.graph.placeholders, self.graph_signature.input_specs, strict=True)
        return [
            node
            for node, spec in specs
            if spec.kind not in (InputKind.USER_INPUT, InputKind.TOKEN)
            and spec.target not in written
        ]

    def flat_call(self, inputs: Sequence[Any]) -> list[Any]:
        """Runs the program on its user inputs, in signature order.

        Args:
            inputs: tensors. Inputs that were fixed when the program was exported may be left out.

        Returns:
            The user outputs in signature order: tensors, and plain values where the program
            returns such. Buffers that the program mutates are updated in its state; inputs that it
            mutates are written to.

        Raises:
            UnknownOperatorError: before anything runs, where operators are missing.
            InputError: number, type, dtype, rank or size of an input do not fit.
        """
        self.prepare()
        given = self._checker.complete(inputs)
        self._checker.check(given)
        return self._run(given)

    def _run(self, given: Sequence[Any]) -> list[Any]:
        """The user outputs for all user inputs, whatever their sizes are."""
        self.prepare()
        assert self._interpreter is not None
        user_values = iter(given)
        values: dict[str, Any] = {}
        arguments = []
        for spec in self.graph_signature.input_specs:
            if spec.kind is InputKind.USER_INPUT:
                value = values[spec.arg.name] = next(user_values)
            else:
                value = self._state(spec.target)
            arguments.append(value)
        results = self._interpreter.run(arguments)
        self._write_back(results, values)
        return [
            result
            for result, spec in zip(results, self.graph_signature.output_specs, strict=True)
            if spec.kind in _RETURNED
        ]

    def _write_back(self, results: Sequence[Any], user_values: Mapping[str, Any]) -> None:
        for result, spec in zip(results, self.graph_signature.output_specs, strict=True):
            if spec.kind not in _MUTATIONS or spec.target is None:
                continue
            written = spec.kind is OutputKind.USER_INPUT_MUTATION
            target = user_values.get(spec.target) if written else self._state(spec.target)
            if target is not result:
                _write(self._copy, target, result)

    def to(self, place: str | device) -> ExportedProgram:
        """The program on a device: its weights there, and `place` wherever a step names a device.

        Raises what copying to the device raises.
        """
        target = place if isinstance(place, device) else device(place)
        return ExportedProgram(
            moved_graph(self.graph, target),
            self.graph_signature,
            moved_tensors(self.state_dict, target),
            moved_tensors(self.constants, target),
            self.range_constraints,
            call_spec=self.call_spec,
            guards=self.guards,
            dialect=self.dialect,
            torch_version=self.torch_version,
            example_inputs=self.example_inputs,
        )

    def save(self, f: str | os.PathLike[str] | IO[bytes]) -> None:
        """Writes the program to a `.pt2` file: `aten.export.save(program, f)`."""
        # What writes programs stands above them.
        from aten.graph.writing.program import save_program

        save_program(self, f)

    def run_decompositions(
        self, decomp_table: Mapping[Any, Any] | None = None, *, to: str | None = "core"
    ) -> ExportedProgram:
        """The program in functional operators of one set alone.

        Args:
            decomp_table: None, or an empty table, with which operators become functional and are
                not taken apart.
            to: "core", the Core ATen operators, or "prims".

        Raises NotImplementedError for tables with something in them.
        """
        if decomp_table:
            raise NotImplementedError("run_decompositions: tables of one's own are not supported")
        # Tracing stands above programs, and says how it is done.
        return _decomposition[0](self, to if decomp_table is None else None)

    @property
    def graph_module(self) -> ProgramModule:
        """The program with its graph: `graph_module.graph`, `graph_module.code`."""
        return ProgramModule(self)

    def module(self) -> ProgramModule:
        """The program as a callable with the arguments of the exported module."""
        return ProgramModule(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """torch's ExportedProgram refuses to be called, and so does this one: see `module`."""
        raise RuntimeError(
            "Unable to call ExportedProgram directly. You should use `exported_program.module()` "
            "instead."
        )

    def __str__(self) -> str:
        limits = [f"{name}: {limit}" for name, limit in self.range_constraints.items()]
        parts = {
            "ExportedProgram": str(self.graph),
            "Graph signature": str(self.graph_signature),
            "Range constraints": "\n".join(limits) or "none",
        }
        return "\n\n".join(
            "\n".join([f"{title}:", *_indented(text)]) for title, text in parts.items()
        )


def _write(copy: Any, target: Any, result: Any) -> None:
    """Copies to a tensor of the program's state; parameters are written to unrecorded."""
    recording, inference = gradient_modes()
    trained = isinstance(target, Tensor) and target.requires_grad and target.is_leaf
    set_gradient_modes(recording and not trained, inference)
    try:
        copy(target, result)
    finally:
        set_gradient_modes(recording, inference)


def _indented(text: str) -> list[str]:
    return [f"    {line}" if line else line for line in text.splitlines()]


class ProgramModule:
    """An exported program as the module it was exported from: called with the same arguments."""

    def __init__(self, program: ExportedProgram) -> None:
        self.program = program
        self._arguments = program._argument_specs()
        call_spec = program.call_spec
        self._out_spec = call_spec and pytree.parse(
            call_spec.out_spec, call_spec.named_tuples, "the call signature"
        )
        self._keyword_only = 0
        if call_spec is not None:
            in_spec = pytree.parse(call_spec.in_spec, call_spec.named_tuples, "the call signature")
            self._keyword_only = len(in_spec.children[1].children)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program on the module's arguments, positional or by name, nested as exported."""
        if self.program.call_spec is None:
            if kwargs:
                raise InputError(f"the program takes no keyword arguments, got {sorted(kwargs)}")
            results = self.program.flat_call(args)
            return results[0] if len(results) == 1 else tuple(results)
        return self._nested(self.program.flat_call(self._flatten(args, kwargs)))

    def call_unchecked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """As a call, but tensors may be of other sizes and types than the program is of.

        Raises InputError for other numbers than it is of, and for what are no tensors.
        """
        leaves = self._flatten(args, kwargs)
        self.program._checker.check_kinds(leaves)
        return self._nested(self.program._run(leaves))

    def _nested(self, results: list[Any]) -> Any:
        assert self._out_spec is not None
        if self._out_spec.leaf_count != len(results):
            raise FormatError("the program's outputs do not match its call signature")
        return self._out_spec.unflatten(results)

    forward = __call__

    @property
    def graph(self) -> Graph:
        """The program's graph."""
        return self.program.graph

    @property
    def code(self) -> str:
        """The graph as Python."""
        return self.program.graph.python_code()

    def to(self, place: str | device) -> ProgramModule:
        """The module itself, moved to a device with its program."""
        self.program = self.program.to(place)
        return self

    def _flatten(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        names = [name for name, _ in self._arguments]
        positional = len(names) - self._keyword_only
        if len(args) > positional:
            raise InputError(
                f"the program takes {positional} positional arguments "
                f"({', '.join(names[:positional])}), got {len(args)}"
            )
        given = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in names:
                raise InputError(f"the program takes no argument {name!r}; it takes {names}")
            if name in given:
                raise InputError(f"got two values for the argument {name!r}")
            given[name] = value
        missing = [name for name in names if name not in given]
        if missing:
            raise InputError(f"missing arguments: {', '.join(missing)}")
        return [leaf for name, spec in self._arguments for leaf in spec.flatten(given[name], name)]

    def state_dict(self) -> dict[str, Tensor]:
        """Parameters and persistent buffers by name; the tensors themselves, not copies."""
        return dict(self.program.state_dict)

    def parameters(self) -> Iterator[Tensor]:
        return self.program.parameters()

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        return self.program.named_parameters()

    def buffers(self) -> Iterator[Tensor]:
        return self.program.buffers()

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        return self.program.named_buffers()

    def __str__(self) -> str:
        return str(self.program.graph)

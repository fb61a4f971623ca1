"""What inputs and outputs of an exported graph stand for, with torch.export's names and kinds."""

from __future__ import annotations

import enum
from typing import NamedTuple


class TensorArgument(NamedTuple):
    """A tensor of the graph, by its node's name."""

    name: str


class SymIntArgument(NamedTuple):
    name: str


class SymFloatArgument(NamedTuple):
    name: str


class SymBoolArgument(NamedTuple):
    name: str


class TokenArgument(NamedTuple):
    """An effect token: orders operators that have side effects."""

    name: str


class CustomObjArgument(NamedTuple):
    name: str
    class_fqn: str


class ConstantArgument(NamedTuple):
    """A plain value that was fixed when the program was exported."""

    name: str
    value: int | float | bool | str | None


ArgumentSpec = (
    TensorArgument
    | SymIntArgument
    | SymFloatArgument
    | SymBoolArgument
    | TokenArgument
    | CustomObjArgument
    | ConstantArgument
)


class InputKind(enum.Enum):
    USER_INPUT = enum.auto()
    PARAMETER = enum.auto()
    BUFFER = enum.auto()
    CONSTANT_TENSOR = enum.auto()
    CUSTOM_OBJ = enum.auto()
    TOKEN = enum.auto()


class OutputKind(enum.Enum):
    USER_OUTPUT = enum.auto()
    LOSS_OUTPUT = enum.auto()
    BUFFER_MUTATION = enum.auto()
    PARAMETER_MUTATION = enum.auto()
    GRADIENT_TO_PARAMETER = enum.auto()
    GRADIENT_TO_USER_INPUT = enum.auto()
    USER_INPUT_MUTATION = enum.auto()
    TOKEN = enum.auto()


class InputSpec(NamedTuple):
    """One graph input. `target` is the parameter's, buffer's or constant's name in the module."""

    kind: InputKind
    arg: ArgumentSpec
    target: str | None = None
    persistent: bool | None = None


class OutputSpec(NamedTuple):
    """One graph output. `target` names what a mutation writes to, or a gradient belongs to."""

    kind: OutputKind
    arg: ArgumentSpec
    target: str | None = None


def _value_or_name(argument: ArgumentSpec) -> int | float | bool | str | None:
    return argument.value if isinstance(argument, ConstantArgument) else argument.name


class ExportGraphSignature:
    """Graph inputs and outputs in order, and the views of them that people ask for."""

    def __init__(self, input_specs: list[InputSpec], output_specs: list[OutputSpec]) -> None:
        self.input_specs = input_specs
        self.output_specs = output_specs

    def _targets(self, kind: InputKind) -> dict[str, str]:
        return {
            spec.arg.name: spec.target
            for spec in self.input_specs
            if spec.kind is kind and spec.target is not None
        }

    def _outputs(self, kind: OutputKind) -> dict[str, str]:
        return {
            spec.arg.name: spec.target
            for spec in self.output_specs
            if spec.kind is kind and spec.target is not None
        }

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(self.inputs_to_parameters.values())

    @property
    def buffers(self) -> tuple[str, ...]:
        return tuple(self.inputs_to_buffers.values())

    @property
    def non_persistent_buffers(self) -> frozenset[str]:
        return frozenset(
            spec.target
            for spec in self.input_specs
            if spec.kind is InputKind.BUFFER and spec.persistent is False and spec.target
        )

    @property
    def lifted_tensor_constants(self) -> tuple[str, ...]:
        return tuple(self.inputs_to_lifted_tensor_constants.values())

    @property
    def lifted_custom_objs(self) -> tuple[str, ...]:
        return tuple(self.inputs_to_lifted_custom_objs.values())

    @property
    def user_input_specs(self) -> tuple[InputSpec, ...]:
        """The inputs the caller gives, constants among them, in the order they are given."""
        return tuple(spec for spec in self.input_specs if spec.kind is InputKind.USER_INPUT)

    @property
    def user_inputs(self) -> tuple[int | float | bool | str | None, ...]:
        """Names of the user inputs; a constant one appears as its value."""
        return tuple(_value_or_name(spec.arg) for spec in self.user_input_specs)

    @property
    def user_outputs(self) -> tuple[int | float | bool | str | None, ...]:
        """Names of the user outputs; a constant one appears as its value."""
        kinds = (OutputKind.USER_OUTPUT, OutputKind.LOSS_OUTPUT)
        return tuple(_value_or_name(spec.arg) for spec in self.output_specs if spec.kind in kinds)

    @property
    def inputs_to_parameters(self) -> dict[str, str]:
        return self._targets(InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> dict[str, str]:
        return self._targets(InputKind.BUFFER)

    @property
    def inputs_to_lifted_tensor_constants(self) -> dict[str, str]:
        return self._targets(InputKind.CONSTANT_TENSOR)

    @property
    def inputs_to_lifted_custom_objs(self) -> dict[str, str]:
        return self._targets(InputKind.CUSTOM_OBJ)

    @property
    def buffers_to_mutate(self) -> dict[str, str]:
        return self._outputs(OutputKind.BUFFER_MUTATION)

    @property
    def parameters_to_mutate(self) -> dict[str, str]:
        return self._outputs(OutputKind.PARAMETER_MUTATION)

    @property
    def user_inputs_to_mutate(self) -> dict[str, str]:
        return self._outputs(OutputKind.USER_INPUT_MUTATION)

    @property
    def input_tokens(self) -> tuple[str, ...]:
        return tuple(s.arg.name for s in self.input_specs if s.kind is InputKind.TOKEN)

    @property
    def output_tokens(self) -> tuple[str, ...]:
        return tuple(s.arg.name for s in self.output_specs if s.kind is OutputKind.TOKEN)

    def __str__(self) -> str:
        lines = ["# inputs"]
        lines += [_describe(spec) for spec in self.input_specs]
        lines += ["# outputs"]
        lines += [_describe(spec) for spec in self.output_specs]
        return "\n".join(lines)


def _describe(spec: InputSpec | OutputSpec) -> str:
    target = f" target={spec.target!r}" if spec.target is not None else ""
    persistent = getattr(spec, "persistent", None)
    extra = f" persistent={persistent}" if persistent is not None else ""
    name = spec.arg.name
    if isinstance(spec.arg, ConstantArgument):
        name = f"{name}={spec.arg.value!r}" if name else repr(spec.arg.value)
    return f"{name}: {spec.kind.name}{target}{extra}"

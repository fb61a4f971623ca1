"""From an ExportedProgram to a `.pt2` archive, as `torch.export.load` reads it.

The archive has the members that `aten.graph.reader` tells of, all stored and none pickled, and is
the same to the byte for the same program.
"""

from __future__ import annotations

import json
import os
import zipfile
from typing import IO, Any

from aten.graph import pytree
from aten.graph.program import CallSpec, ExportedProgram
from aten.graph.signature import (
    ArgumentSpec,
    ConstantArgument,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
)
from aten.graph.writing.members import replace_file, write_member
from aten.graph.writing.nodes import GraphWriter
from aten.graph.writing.payloads import write_tensors
from aten.graph.writing.values import Json, written_number

_SCHEMA_VERSION = {"major": 8, "minor": 20}
_OPERATOR_SET = {"aten": 10}
_TORCH_VERSION = "2.13.0"  # whose format this is
_ARCHIVE_VERSION = b"0"
_CONTAINER_VERSION = b"6\n"
_MODEL = "model"


def save_program(program: ExportedProgram, file: str | os.PathLike[str] | IO[bytes]) -> None:
    """Writes a program to a path or a binary file object. See `aten.export.save`."""
    if isinstance(file, (str, os.PathLike)):
        name = os.path.splitext(os.path.basename(os.fspath(file)))[0] or "archive"
        replace_file(file, lambda target: _write(program, target, name))
    else:
        _write(program, file, "archive")


def _write(program: ExportedProgram, file: IO[bytes], folder: str) -> None:
    description = json.dumps(serialized(program), allow_nan=False).encode()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for kind, prefix, tensors in (
            ("weights", "weight_", program.state_dict),
            ("constants", "tensor_", program.constants),
        ):
            path = f"{folder}/data/{kind}/"
            trained = program.graph_signature.parameters
            config = write_tensors(archive, path, prefix, tensors, trained)
            write_member(archive, f"{path}{_MODEL}_{kind}_config.json", json.dumps(config).encode())
        write_member(archive, f"{folder}/models/{_MODEL}.json", description)
        # torch asks for it, and takes it for none where it is empty; elsewhere it is a pickle.
        write_member(archive, f"{folder}/data/sample_inputs/{_MODEL}.pt", b"")
        write_member(archive, f"{folder}/archive_format", b"pt2")
        write_member(archive, f"{folder}/archive_version", _ARCHIVE_VERSION)
        write_member(archive, f"{folder}/.data/version", _CONTAINER_VERSION)
        write_member(archive, f"{folder}/byteorder", b"little")


def serialized(program: ExportedProgram) -> Json:
    """The graph, the signature and the constraints in torch's schema, ready for JSON."""
    call_spec = program.call_spec or _flat_call(program)
    return {
        "graph_module": {
            "graph": GraphWriter(program.graph).write(),
            "signature": _signature(program),
            "module_call_graph": _module_calls(call_spec),
            "metadata": {},
            "treespec_namedtuple_fields": {
                name: {"field_names": list(fields)}
                for name, fields in call_spec.named_tuples.items()
            },
        },
        "opset_version": _OPERATOR_SET,
        "range_constraints": {
            name: {"min_val": limit.lower, "max_val": limit.upper}
            for name, limit in program.range_constraints.items()
        },
        "schema_version": _SCHEMA_VERSION,
        "verifiers": program.dialect.split(),
        "torch_version": program.torch_version or _TORCH_VERSION,
        "guards_code": program.guards,
    }


def _flat_call(program: ExportedProgram) -> CallSpec:
    """How a program is called that says nothing of it: inputs one by one, outputs in a tuple."""
    names = [spec.arg.name for spec in program.graph_signature.user_input_specs]
    outputs = len(program.graph_signature.user_outputs)
    leaf = pytree.TreeSpec(None, [], ())
    given = pytree.TreeSpec("builtins.tuple", [], (leaf,) * len(names))
    no_keywords = pytree.TreeSpec("builtins.dict", [], ())
    return CallSpec(
        pytree.written(pytree.TreeSpec("builtins.tuple", [], (given, no_keywords))),
        pytree.written(pytree.TreeSpec("builtins.tuple", [], (leaf,) * outputs)),
        names,
        {},
    )


def _module_calls(call_spec: CallSpec) -> list[Json]:
    signature = {
        "inputs": [],
        "outputs": [],
        "in_spec": call_spec.in_spec,
        "out_spec": call_spec.out_spec,
        "forward_arg_names": list(call_spec.argument_names) or None,
    }
    inner = [{"fqn": name, "signature": None} for name in call_spec.modules]
    return [{"fqn": "", "signature": signature}, *inner]


def _signature(program: ExportedProgram) -> Json:
    signature = program.graph_signature
    return {
        "input_specs": [_input(spec) for spec in signature.input_specs],
        "output_specs": [_output(spec) for spec in signature.output_specs],
    }


def _argument(spec: ArgumentSpec) -> Json:
    if isinstance(spec, ConstantArgument):
        return _constant(spec.value)
    for kind, tag in _SYMBOLIC.items():
        if isinstance(spec, kind):
            return {tag: {"as_name": spec.name}}
    return {"as_tensor": {"name": spec.name}}


def _constant(value: Any) -> Json:
    if value is None:
        return {"as_none": True}
    return {"as_string": value} if isinstance(value, str) else written_number(value)


_SYMBOLIC: dict[type, str] = {
    SymIntArgument: "as_sym_int",
    SymFloatArgument: "as_sym_float",
    SymBoolArgument: "as_sym_bool",
}


def _input(spec: InputSpec) -> Json:
    name = {"name": spec.arg.name}
    if isinstance(spec.arg, ConstantArgument):
        return {"constant_input": {**name, "value": _constant(spec.arg.value)}}
    if spec.kind is InputKind.USER_INPUT:
        return {"user_input": {"arg": _argument(spec.arg)}}
    if spec.kind is InputKind.PARAMETER:
        return {"parameter": {"arg": name, "parameter_name": spec.target}}
    if spec.kind is InputKind.BUFFER:
        persistent = spec.persistent is not False
        return {"buffer": {"arg": name, "buffer_name": spec.target, "persistent": persistent}}
    if spec.kind is InputKind.CONSTANT_TENSOR:
        return {"tensor_constant": {"arg": name, "tensor_constant_name": spec.target}}
    return {"token": {"arg": name}}


_OUTPUT_KINDS = {
    OutputKind.LOSS_OUTPUT: ("loss_output", None),
    OutputKind.BUFFER_MUTATION: ("buffer_mutation", "buffer_name"),
    OutputKind.PARAMETER_MUTATION: ("parameter_mutation", "parameter_name"),
    OutputKind.GRADIENT_TO_PARAMETER: ("gradient_to_parameter", "parameter_name"),
    OutputKind.GRADIENT_TO_USER_INPUT: ("gradient_to_user_input", "user_input_name"),
    OutputKind.USER_INPUT_MUTATION: ("user_input_mutation", "user_input_name"),
    OutputKind.TOKEN: ("token", None),
}


def _output(spec: OutputSpec) -> Json:
    if spec.kind is OutputKind.USER_OUTPUT:
        return {"user_output": {"arg": _argument(spec.arg)}}
    tag, key = _OUTPUT_KINDS[spec.kind]
    named = {} if key is None else {key: spec.target}
    return {tag: {"arg": {"name": spec.arg.name}, **named}}

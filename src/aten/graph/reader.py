"""From a `.pt2` archive to an ExportedProgram.

Layout of an archive, all of it under one folder named after the file:

    archive_format                              "pt2"
    byteorder                                   "little"
    models/model.json                           the graph, the signature, the constraints
    data/weights/model_weights_config.json      name -> member and tensor metadata
    data/weights/weight_0 ...                   raw elements
    data/constants/model_constants_config.json
    data/constants/tensor_0 ...
    data/sample_inputs/model.pt                 a pickle: never opened
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import IO, Any

from aten._core.memory.collecting import resting
from aten.graph.archive import Archive
from aten.graph.deserialize import GraphReader, read_name, read_plain
from aten.graph.errors import ArchiveError, FormatError
from aten.graph.json_values import checked, decode, field, optional, shown, union
from aten.graph.program import CallSpec, ExportedProgram
from aten.graph.signature import (
    ArgumentSpec,
    ConstantArgument,
    CustomObjArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
    TokenArgument,
)
from aten.graph.symbolic import SymbolicError, ValueRange, parse
from aten.graph.weights import TensorReader

_SCHEMA_MAJOR = 8
_FORMAT_MARK = "archive_format"
_MODELS = "models/"


def load_program(
    file: str | os.PathLike[str] | IO[bytes] | memoryview,
    *,
    model: str = "model",
    verify: bool = True,
    mmap: bool = True,
) -> ExportedProgram:
    """Reads one program of an archive. See `aten.export.load`.

    Example:

        >>> from importlib import resources
        >>> file = resources.files("aten") / "examples/digits/digits_cnn.pt2"
        >>> type(aten.export.load_program(str(file))).__name__
        'ExportedProgram'
    """
    archive = Archive(file, mmap)
    prefix = _find_prefix(archive)
    name = _find_model(archive, prefix, model)
    path = f"{prefix}{_MODELS}{name}.json"
    try:
        with resting:
            serialized = decode(archive.read(path), f"{archive.name}: {path}")
            return _ProgramReader(archive, prefix, name, serialized, verify).read()
    except RecursionError:
        raise FormatError(f"{archive.name}: {path}: nested too deeply") from None


def _find_prefix(archive: Archive) -> str:
    """The folder that everything in the archive is under, with its slash."""
    marks = [name for name in archive.members if name.rpartition("/")[2] == _FORMAT_MARK]
    if len(marks) != 1:
        raise ArchiveError(f"{archive.name}: {_why_no_program(archive)}")
    prefix = marks[0].removesuffix(_FORMAT_MARK)
    if archive.read(marks[0]).strip() != b"pt2":
        raise ArchiveError(f"{archive.name}: the archive's format is not pt2")
    order = f"{prefix}byteorder"
    if order in archive and archive.read(order).strip() != b"little":
        raise ArchiveError(f"{archive.name}: only little-endian archives can be read")
    return prefix


def _why_no_program(archive: Archive) -> str:
    """What the archive is instead, as far as its member names tell."""
    names = {name.rpartition("/")[2] for name in archive.members}
    if any(name.startswith("serialized_exported_program") for name in names):
        return (
            "a program in the layout of torch before 2.8, which pickles its weights; "
            "nothing here unpickles: save it again with a newer torch"
        )
    if "constants.pkl" in names:
        return "a TorchScript archive, not an exported program"
    if "data.pkl" in names:
        return "a pickled checkpoint (torch.save), not an exported program; nothing here unpickles"
    return "the archive holds no exported program (no archive_format in it)"


def _find_model(archive: Archive, prefix: str, wanted: str) -> str:
    folder = prefix + _MODELS
    found = [
        name.removeprefix(folder).removesuffix(".json")
        for name in archive.members
        if name.startswith(folder) and name.endswith(".json")
    ]
    if wanted in found:
        return wanted
    if len(found) == 1 and wanted == "model":
        return found[0]
    if found:
        raise ArchiveError(
            f"{archive.name}: no program named {wanted!r}; there are {sorted(found)}"
        )
    if any(name.startswith(f"{prefix}data/aotinductor/") for name in archive.members):
        raise ArchiveError(f"{archive.name}: a compiled AOTInductor package, which has no graph")
    raise ArchiveError(f"{archive.name}: the archive holds no program under {_MODELS}")


class _ProgramReader:
    """Puts one program together from its JSON and the archive's payloads."""

    def __init__(
        self, archive: Archive, prefix: str, name: str, serialized: dict[str, Any], verify: bool
    ) -> None:
        self.archive = archive
        self.prefix = prefix
        self.name = name
        self.serialized = serialized
        self.verify = verify
        self.where = f"{archive.name}: {name}"

    def read(self) -> ExportedProgram:
        self.check_version()
        module = field(self.serialized, "graph_module", dict, self.where)
        signature = self.read_signature(field(module, "signature", dict, self.where))
        graph = GraphReader(field(module, "graph", dict, self.where), self.where).read(
            [_constant_name(spec) for spec in signature.input_specs]
        )
        _check_signature(signature, [node.name for node in graph.placeholders], self.where)
        if len(graph.output_node.args[0]) != len(signature.output_specs):
            raise FormatError(f"{self.where}: the graph's outputs do not match its signature")
        return ExportedProgram(
            graph,
            signature,
            self.read_tensors("weights"),
            self.read_tensors("constants"),
            self.read_ranges(),
            call_spec=self.read_call_spec(module),
            guards=self.read_guards(),
            dialect=" ".join(
                map(str, optional(self.serialized, "verifiers", list, [], self.where))
            ),
            torch_version=optional(self.serialized, "torch_version", str, "", self.where),
        )

    def check_version(self) -> None:
        version = field(self.serialized, "schema_version", dict, self.where)
        major = field(version, "major", int, self.where)
        if major != _SCHEMA_MAJOR:
            raise FormatError(
                f"{self.where}: schema version {major} is not supported, only {_SCHEMA_MAJOR}"
            )

    def read_tensors(self, folder: str) -> dict[str, Any]:
        path = f"{self.prefix}data/{folder}/"
        config = f"{self.name}_{folder}_config.json"
        if f"{path}{self.name}.pt" in self.archive:
            raise ArchiveError(
                f"{self.archive.name}: the {folder} are pickled ({path}{self.name}.pt), and "
                "nothing here unpickles: save the program again with torch 2.9 or newer"
            )
        return TensorReader(self.archive, path, self.verify).read(config)

    def read_ranges(self) -> dict[str, ValueRange]:
        where = f"{self.where}: range_constraints"
        ranges = {}
        for name, entry in optional(self.serialized, "range_constraints", dict, {}, where).items():
            bounds = checked(entry, dict, where)
            limits = [
                None if bounds.get(key) is None else field(bounds, key, int, where)
                for key in ("min_val", "max_val")
            ]
            try:
                ranges[name] = ValueRange(limits[0], limits[1])
            except SymbolicError as error:
                raise FormatError(f"{where}: {shown(name)}: {error}") from None
        return ranges

    def read_guards(self) -> list[str]:
        where = f"{self.where}: guards_code"
        guards = optional(self.serialized, "guards_code", list, [], where)
        for text in guards:
            try:
                parse(checked(text, str, where))
            except SymbolicError as error:
                raise FormatError(f"{where}: {error}") from None
        return guards

    def read_call_spec(self, module: dict[str, Any]) -> CallSpec | None:
        entries = optional(module, "module_call_graph", list, [], self.where)
        root = next((e for e in entries if isinstance(e, dict) and e.get("fqn") == ""), None)
        if root is None or root.get("signature") is None:
            return None
        signature = field(root, "signature", dict, self.where)
        names = optional(signature, "forward_arg_names", list, [], self.where)
        tuples = optional(module, "treespec_namedtuple_fields", dict, {}, self.where)
        return CallSpec(
            field(signature, "in_spec", str, self.where),
            field(signature, "out_spec", str, self.where),
            [checked(name, str, self.where) for name in names],
            {key: field(value, "field_names", list, self.where) for key, value in tuples.items()},
            tuple(_module_names(entries)),
        )

    def read_signature(self, serialized: dict[str, Any]) -> ExportGraphSignature:
        where = f"{self.where}: signature"
        inputs = field(serialized, "input_specs", list, where)
        outputs = field(serialized, "output_specs", list, where)
        return ExportGraphSignature(
            [_read_input_spec(spec, f"{where}, input {i}") for i, spec in enumerate(inputs)],
            [_read_output_spec(spec, f"{where}, output {i}") for i, spec in enumerate(outputs)],
        )


def _module_names(entries: list[Any]) -> Iterator[str]:
    for entry in entries:
        name = entry.get("fqn") if isinstance(entry, dict) else None
        if isinstance(name, str) and name:
            yield name


def _constant_name(spec: InputSpec) -> str | None:
    return spec.arg.name if isinstance(spec.arg, ConstantArgument) else None


def _check_signature(signature: ExportGraphSignature, names: list[str], where: str) -> None:
    for spec, name in zip(signature.input_specs, names, strict=True):
        if spec.arg.name != name and not isinstance(spec.arg, ConstantArgument):
            raise FormatError(
                f"{where}: the signature's {shown(spec.arg.name)} is {shown(name)} in the graph"
            )
    written: dict[InputKind, set[str | None]] = {kind: set() for kind in _MUTATED.values()}
    for spec in signature.input_specs:
        if spec.kind in written:
            user = spec.kind is InputKind.USER_INPUT
            written[spec.kind].add(spec.arg.name if user else spec.target)
    for output in signature.output_specs:
        kind = _MUTATED.get(output.kind)
        if kind is not None and output.target not in written[kind]:
            raise FormatError(
                f"{where}: the program writes to {shown(output.target)}, which is no input"
            )


_MUTATED = {
    OutputKind.PARAMETER_MUTATION: InputKind.PARAMETER,
    OutputKind.BUFFER_MUTATION: InputKind.BUFFER,
    OutputKind.USER_INPUT_MUTATION: InputKind.USER_INPUT,
}

_SYMBOLIC_ARGUMENTS: dict[str, Callable[[str], ArgumentSpec]] = {
    "as_sym_int": SymIntArgument,
    "as_sym_float": SymFloatArgument,
    "as_sym_bool": SymBoolArgument,
}


def _read_argument_spec(value: Any, where: str) -> ArgumentSpec:
    tag, content = union(value, where)
    if tag == "as_tensor":
        return TensorArgument(read_name(field(content, "name", str, where), where))
    if tag in _SYMBOLIC_ARGUMENTS:
        inner, name = union(content, where)
        if inner == "as_name":
            argument: ArgumentSpec = _SYMBOLIC_ARGUMENTS[tag](read_name(name, where))
            return argument
        return ConstantArgument("", read_plain(inner, name, where))
    if tag == "as_custom_obj":
        return CustomObjArgument(
            field(content, "name", str, where), field(content, "class_fqn", str, where)
        )
    return ConstantArgument("", read_plain(tag, content, where))


def _tensor(content: Any, where: str) -> TensorArgument:
    owner = field(content, "arg", dict, where)
    return TensorArgument(read_name(field(owner, "name", str, where), where))


def _read_input_spec(value: Any, where: str) -> InputSpec:
    tag, content = union(value, where)
    checked(content, dict, where)
    if tag == "user_input":
        return InputSpec(InputKind.USER_INPUT, _read_argument_spec(content.get("arg"), where))
    if tag == "parameter":
        target = field(content, "parameter_name", str, where)
        return InputSpec(InputKind.PARAMETER, _tensor(content, where), target)
    if tag == "buffer":
        target = field(content, "buffer_name", str, where)
        persistent = optional(content, "persistent", bool, True, where)
        return InputSpec(InputKind.BUFFER, _tensor(content, where), target, persistent)
    if tag == "tensor_constant":
        target = field(content, "tensor_constant_name", str, where)
        return InputSpec(InputKind.CONSTANT_TENSOR, _tensor(content, where), target)
    if tag == "constant_input":
        name = read_name(field(content, "name", str, where), where)
        constant = read_plain(*union(content.get("value"), where), where)
        return InputSpec(InputKind.USER_INPUT, ConstantArgument(name, constant))
    if tag == "token":
        return InputSpec(InputKind.TOKEN, TokenArgument(_tensor(content, where).name))
    if tag == "custom_obj":
        raise FormatError(
            f"{where}: the program takes the object {shown(content.get('custom_obj_name'))}; "
            "such objects are stored pickled, and nothing here unpickles"
        )
    raise FormatError(f"{where}: unknown kind of input {shown(tag)}")


_OUTPUT_KINDS = {
    "loss_output": (OutputKind.LOSS_OUTPUT, None),
    "buffer_mutation": (OutputKind.BUFFER_MUTATION, "buffer_name"),
    "parameter_mutation": (OutputKind.PARAMETER_MUTATION, "parameter_name"),
    "gradient_to_parameter": (OutputKind.GRADIENT_TO_PARAMETER, "parameter_name"),
    "gradient_to_user_input": (OutputKind.GRADIENT_TO_USER_INPUT, "user_input_name"),
    "user_input_mutation": (OutputKind.USER_INPUT_MUTATION, "user_input_name"),
}


def _read_output_spec(value: Any, where: str) -> OutputSpec:
    tag, content = union(value, where)
    checked(content, dict, where)
    if tag == "user_output":
        return OutputSpec(OutputKind.USER_OUTPUT, _read_argument_spec(content.get("arg"), where))
    if tag == "token":
        return OutputSpec(OutputKind.TOKEN, TokenArgument(_tensor(content, where).name))
    if tag not in _OUTPUT_KINDS:
        raise FormatError(f"{where}: unknown kind of output {shown(tag)}")
    kind, key = _OUTPUT_KINDS[tag]
    target = field(content, key, str, where) if key is not None else None
    return OutputSpec(kind, _tensor(content, where), target)

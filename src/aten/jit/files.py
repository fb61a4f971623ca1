"""Scripted functions and modules in files: a zip of stored members, JSON and raw elements.

    archive_format                      "aten-script"
    script.json                         modules, their methods and functions, as terms
    data/weights/weights_config.json    which bytes each tensor is
    data/weights/weight_0 ...           raw elements

Nothing in a file is unpickled, evaluated or imported: it names functions, which are looked up in
`names`, and layers, which are looked up among those of `aten.nn`.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable, Mapping
from typing import IO, Any

from aten._core.base.device import LAYOUTS, MEMORY_FORMATS, device, layout, memory_format
from aten._core.base.dtypes import DTYPES, dtype
from aten._core.tensor.tensor import Tensor
from aten.graph.archive import Archive
from aten.graph.errors import ArchiveError, FormatError
from aten.graph.json_values import checked, decode, field, optional, shown
from aten.graph.weights import TensorReader
from aten.graph.writing.members import replace_file, write_member
from aten.graph.writing.payloads import write_tensors
from aten.graph.writing.values import written_float
from aten.jit import names
from aten.jit.evaluation import ForeignNameError
from aten.jit.modules import ScriptFunction, ScriptModule, is_layer
from aten.jit.terms import SHAPES, STATEMENTS, TERM, TERMS, TEXT, TEXTS, Function, Parameter, Term
from aten.jit.types import UnknownTypeError, parse
from aten.nn import modules as layers
from aten.nn.modules.module import Module
from aten.nn.parameter import Parameter as ModuleParameter

_FORMAT = b"aten-script"
_VERSION = 1
_WEIGHTS = "data/weights/"
_CONFIG = "weights_config.json"
_INTERNAL = frozenset(Module().__dict__)


def save(saved: ScriptFunction | ScriptModule, f: str | os.PathLike[str] | IO[bytes]) -> None:
    """See `aten.jit.save`."""
    writer = _Writer()
    described = writer.program(saved)
    if isinstance(f, (str, os.PathLike)):
        replace_file(f, lambda file: writer.write(described, file))
    else:
        writer.write(described, f)


class _Writer:
    """Says what is in a file, and collects the tensors."""

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        self.keys: dict[int, str] = {}
        self.trained: set[str] = set()
        self.modules: list[dict[str, Any]] = []
        self.places: dict[int, int] = {}

    def program(self, saved: ScriptFunction | ScriptModule) -> dict[str, Any]:
        made: dict[str, Any] = {"version": _VERSION}
        if isinstance(saved, ScriptFunction):
            made["function"] = saved.name
            made["functions"] = [self.function(one) for one in saved._functions.values()]
        else:
            made["module"] = self.module(saved)
        return {**made, "modules": self.modules}

    def write(self, described: dict[str, Any], file: IO[bytes]) -> None:
        text = json.dumps(described, allow_nan=False).encode()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            write_member(archive, "archive_format", _FORMAT)
            write_member(archive, "script.json", text)
            config = write_tensors(archive, _WEIGHTS, "weight_", self.tensors, self.trained)
            write_member(archive, _WEIGHTS + _CONFIG, json.dumps(config).encode())

    def tensor(self, tensor: Tensor) -> str:
        key = self.keys.setdefault(id(tensor), f"t{len(self.tensors)}")
        self.tensors[key] = tensor
        if isinstance(tensor, ModuleParameter):
            self.trained.add(key)
        return key

    def module(self, module: Module) -> int:
        """The place of a module in the list; those within come before it."""
        known = self.places.get(id(module))
        if known is not None:
            return known
        within = {
            name: None if one is None else self.module(one) for name, one in module._modules.items()
        }
        made: dict[str, Any] = {
            "kind": "script" if isinstance(module, ScriptModule) else "layer",
            "name": self.class_name(module),
            "training": module.training,
            "modules": within,
            "parameters": self.held(module._parameters),
            "buffers": self.held(module._buffers),
            "not_kept": sorted(module._non_persistent_buffers_set),
            "attributes": {
                name: self.value(one, f"{type(module).__name__}.{name}")
                for name, one in module.__dict__.items()
                if name not in _INTERNAL and name not in ("_methods", "_terms", "original_name")
            },
        }
        if isinstance(module, ScriptModule):
            methods, functions = module._terms
            made["methods"] = [self.function(one) for one in methods.values()]
            made["functions"] = [self.function(one) for one in functions.values()]
        self.places[id(module)] = len(self.modules)
        self.modules.append(made)
        return self.places[id(module)]

    def class_name(self, module: Module) -> str:
        if isinstance(module, ScriptModule):
            return str(module.original_name)
        if not is_layer(module) or layer_class(type(module).__name__) is not type(module):
            raise FormatError(f"a {type(module).__name__} is neither scripted nor one of aten.nn")
        return type(module).__name__

    def held(self, tensors: Mapping[str, Tensor | None]) -> dict[str, str | None]:
        return {name: None if one is None else self.tensor(one) for name, one in tensors.items()}

    def value(self, value: Any, where: str) -> Any:
        """A plain value for JSON: those that JSON has no form of are objects with one key."""
        if value is None or isinstance(value, (bool, int, str)):
            return value
        for kind, tag, write in _WRITTEN:
            if isinstance(value, kind):
                return {tag: write(value)}
        if isinstance(value, Tensor):
            return {"tensor": self.tensor(value)}
        if isinstance(value, (list, tuple)):
            tag = "list" if isinstance(value, list) else "tuple"
            return {tag: [self.value(one, where) for one in value]}
        if isinstance(value, dict):
            pairs = value.items()
            return {"dict": [[self.value(k, where), self.value(v, where)] for k, v in pairs]}
        name = names.name_of(value)
        if name is not None:
            return {"function": name}
        raise FormatError(f"{where}: a {type(value).__name__} has no place in a file")

    def function(self, function: Function) -> dict[str, Any]:
        return {
            "name": function.name,
            "parameters": [
                [
                    one.name,
                    str(one.type),
                    one.has_default,
                    self.value(one.default, function.name),
                    one.keyword_only,
                ]
                for one in function.parameters
            ],
            "returns": str(function.returns),
            "file": os.path.basename(function.file),
            "line": function.line,
            "body": [self.term(one) for one in function.body],
        }

    def term(self, term: Term) -> list[Any]:
        parts: list[Any] = []
        for kind, part in zip(SHAPES[term.head], term.parts, strict=True):
            if kind == TERM:
                parts.append(self.term(part))
            elif kind == TERMS:
                parts.append([self.term(one) for one in part])
            elif kind == TEXTS:
                parts.append(list(part))
            else:
                parts.append(part if kind == TEXT else self.value(part, "a constant"))
        return [term.head, term.line, str(term.type), *parts]


_WRITTEN: list[tuple[type, str, Callable[[Any], Any]]] = [
    (float, "float", written_float),
    (complex, "complex", lambda one: [written_float(one.real), written_float(one.imag)]),
    (dtype, "dtype", lambda one: one.name),
    (device, "device", str),
    (layout, "layout", lambda one: one.name),
    (memory_format, "memory_format", lambda one: one.name),
]


def layer_class(name: str) -> type[Module] | None:
    """The layer of that name; None for other classes."""
    found = getattr(layers, name, None)
    if isinstance(found, type) and issubclass(found, Module) and found is not Module:
        return found
    return None


def is_script(archive: Archive) -> bool:
    """Whether an archive is of this format."""
    return "archive_format" in archive and archive.read("archive_format") == _FORMAT


def load(archive: Archive) -> ScriptFunction | ScriptModule:
    """What an archive holds. Raises ArchiveError and FormatError."""
    if not is_script(archive):
        raise ArchiveError(f"{archive.name}: no scripted program, and no exported one")
    where = f"{archive.name}: script.json"
    try:
        described = decode(archive.read("script.json"), where)
        version = field(described, "version", int, where)
        if version != _VERSION:
            raise FormatError(f"{where}: version {version} is not supported, only {_VERSION}")
        tensors = TensorReader(archive, _WEIGHTS, verify=True).read(_CONFIG)
        config = decode(archive.read(_WEIGHTS + _CONFIG), where)
        made = _Reader(tensors, config, where).program(described)
        for one in made.modules() if isinstance(made, ScriptModule) else [made]:
            if isinstance(one, (ScriptModule, ScriptFunction)):
                one._prepare()
        return made
    except (ForeignNameError, UnknownTypeError) as error:
        raise FormatError(f"{where}: {error}") from None
    except RecursionError:
        raise FormatError(f"{where}: nested too deeply") from None


class _Reader:
    """Makes modules and functions of what a file says."""

    def __init__(self, tensors: dict[str, Tensor], config: dict[str, Any], where: str) -> None:
        self.tensors = tensors
        self.where = where
        self.modules: list[Module] = []
        self.parameters: dict[str, ModuleParameter] = {}
        for key, entry in field(config, "config", dict, where).items():
            trained = checked(entry, dict, where)
            if trained.get("is_param") is True:
                meta = field(trained, "tensor_meta", dict, where)
                wanted = meta.get("requires_grad") is True
                self.parameters[key] = self.parameter(tensors[key], wanted)

    def parameter(self, tensor: Tensor, wanted: bool) -> ModuleParameter:
        try:
            return ModuleParameter(tensor, requires_grad=wanted)
        except RuntimeError as error:
            raise FormatError(f"{self.where}: {error}") from None

    def program(self, described: dict[str, Any]) -> ScriptFunction | ScriptModule:
        for place, entry in enumerate(optional(described, "modules", list, [], self.where)):
            where = f"{self.where}, module {place}"
            self.modules.append(self.module(checked(entry, dict, where), where))
        if "function" in described:
            functions = self.functions(field(described, "functions", list, self.where), self.where)
            name = field(described, "function", str, self.where)
            if name not in functions:
                raise FormatError(f"{self.where}: there is no function {shown(name)}")
            return ScriptFunction(name, functions)
        root = self.within(field(described, "module", int, self.where), self.where)
        if not isinstance(root, ScriptModule):
            raise FormatError(f"{self.where}: the program is no scripted module")
        return root

    def within(self, place: Any, where: str) -> Module | None:
        """A module that came before: so none is within itself."""
        if place is None:
            return None
        number = checked(place, int, where)
        if not 0 <= number < len(self.modules):
            raise FormatError(f"{where}: there is no module {number} before it")
        return self.modules[number]

    def module(self, entry: dict[str, Any], where: str) -> Module:
        name = field(entry, "name", str, where)
        kind = field(entry, "kind", str, where)
        if kind == "script":
            made: Module = ScriptModule(name)
        elif kind == "layer" and (layer := layer_class(name)) is not None:
            made = Module.__new__(layer)
            Module.__init__(made)
        else:
            raise FormatError(f"{where}: {shown(name)} is no layer")
        held = made.__dict__
        held["training"] = optional(entry, "training", bool, False, where)
        for key, one in optional(entry, "attributes", dict, {}, where).items():
            if (
                key in _INTERNAL
                or not key.isidentifier()
                or key.startswith("__")
                or key in ("_methods", "_terms", "original_name")
            ):
                raise FormatError(f"{where}: {shown(key)} is no attribute")
            held[key] = self.value(one, f"{where}, attribute {key}")
        for place in ("parameters", "buffers"):
            for key, one in optional(entry, place, dict, {}, where).items():
                held[f"_{place}"][key] = self.tensor(one, place, where)
        for key in optional(entry, "not_kept", list, [], where):
            held["_non_persistent_buffers_set"].add(checked(key, str, where))
        for key, one in optional(entry, "modules", dict, {}, where).items():
            held["_modules"][key] = self.within(one, where)
        if isinstance(made, ScriptModule):
            functions = self.functions(optional(entry, "functions", list, [], where), where)
            methods = self.functions(optional(entry, "methods", list, [], where), where)
            made._adopt(methods, functions)
        return made

    def tensor(self, key: Any, place: str, where: str) -> Tensor | None:
        if key is None:
            return None
        found = self.parameters.get(key) if isinstance(key, str) else None
        if found is None and place != "parameters":
            found = self.tensors.get(checked(key, str, where))  # type: ignore[assignment]
        if found is None:
            raise FormatError(f"{where}: there is no tensor {shown(key)} among the {place}")
        return found

    def value(self, value: Any, where: str) -> Any:
        if value is None or isinstance(value, (bool, int, str)):
            return value
        [(tag, content)] = (
            checked(value, dict, where).items()
            if len(checked(value, dict, where)) == 1
            else [("", None)]
        )
        reader = _READ.get(tag)
        if reader is None:
            raise FormatError(f"{where}: unknown kind of value {shown(tag)}")
        try:
            return reader(self, content, where)
        except (KeyError, ValueError, TypeError, AttributeError, OverflowError) as error:
            raise FormatError(f"{where}: {shown(content)} is no {tag}: {error}") from None
        except RuntimeError as error:
            if isinstance(error, FormatError):
                raise
            raise FormatError(f"{where}: {error}") from None

    def values(self, content: Any, where: str) -> list[Any]:
        return [self.value(one, where) for one in checked(content, list, where)]

    def functions(self, entries: list[Any], where: str) -> dict[str, Function]:
        made = {}
        for entry in entries:
            function = self.function(checked(entry, dict, where), where)
            made[function.name] = function
        return made

    def function(self, entry: dict[str, Any], where: str) -> Function:
        name = self.identifier(field(entry, "name", str, where), where)
        where = f"{where}, {name}"
        parameters = []
        for one in field(entry, "parameters", list, where):
            parts = checked(one, list, where)
            if len(parts) != 5:
                raise FormatError(f"{where}: {shown(one)} is no parameter")
            parameters.append(
                Parameter(
                    self.identifier(parts[0], where),
                    self.type(parts[1], where),
                    checked(parts[2], bool, where),
                    self.value(parts[3], where),
                    checked(parts[4], bool, where),
                )
            )
        return Function(
            name,
            tuple(parameters),
            self.type(entry.get("returns"), where),
            self.terms(field(entry, "body", list, where), where, statements=True),
            field(entry, "file", str, where),
            field(entry, "line", int, where),
        )

    def identifier(self, text: Any, where: str) -> str:
        name = checked(text, str, where)
        if not name.isidentifier():
            raise FormatError(f"{where}: {shown(name)} is no name")
        return name

    def type(self, text: Any, where: str) -> Any:
        try:
            return parse(checked(text, str, where))
        except UnknownTypeError as error:
            raise FormatError(f"{where}: {error}") from None

    def terms(self, entries: Any, where: str, statements: bool) -> tuple[Term, ...]:
        listed = checked(entries, list, where)
        return tuple(self.term(one, where, statements) for one in listed)

    def term(self, entry: Any, where: str, statement: bool) -> Term:
        parts = checked(entry, list, where)
        head = parts[0] if parts else None
        shape = SHAPES.get(head) if isinstance(head, str) else None
        if (
            not isinstance(head, str)
            or shape is None
            or (head in STATEMENTS) is not statement
            or len(parts) != 3 + len(shape)
        ):
            raise FormatError(f"{where}: {shown(entry)} is no term here")
        made = tuple(
            self.part(head, place, kind, part, where)
            for place, (kind, part) in enumerate(zip(shape, parts[3:], strict=True))
        )
        return Term(head, made, self.type(parts[2], where), checked(parts[1], int, where))

    def part(self, head: str, place: int, kind: str, part: Any, where: str) -> Any:
        if kind == TERM:
            return self.term(part, where, statement=False)
        if kind == TERMS:
            bodies = head in ("if", "while", "for")
            return self.terms(part, where, statements=bodies)
        if kind == TEXT:
            return checked(part, str, where)
        if kind == TEXTS:
            return tuple(checked(one, str, where) for one in checked(part, list, where))
        return self.value(part, where)


def _named_function(reader: _Reader, content: Any, where: str) -> Any:
    found = names.function(checked(content, str, where))
    if found is None:
        raise FormatError(f"{where}: there is no function {shown(content)}")
    return found


_READ: dict[str, Callable[[_Reader, Any, str], Any]] = {
    "float": lambda reader, content, where: float(content),
    "complex": lambda reader, content, where: complex(float(content[0]), float(content[1])),
    "dtype": lambda reader, content, where: DTYPES[content],
    "device": lambda reader, content, where: device(checked(content, str, where)),
    "layout": lambda reader, content, where: LAYOUTS[content],
    "memory_format": lambda reader, content, where: MEMORY_FORMATS[content],
    "tensor": lambda reader, content, where: reader.tensor(content, "tensors", where),
    "list": lambda reader, content, where: reader.values(content, where),
    "tuple": lambda reader, content, where: tuple(reader.values(content, where)),
    "dict": lambda reader, content, where: {
        reader.value(key, where): reader.value(value, where)
        for key, value in checked(content, list, where)
    },
    "function": _named_function,
}

"""`native_functions.yaml`, read and validated: every error names the line.

An entry is one operator overload and the variants made from it. It says nothing that follows from
its kind: IMPLIED has what that is.

    - func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
      variants: function            where users call it: function, method; or "none", where it is
                                    for `aten.ops.aten` and namespaces above only
      inplace: true                 also add_.Tensor, as a method; or its places, as for variants
      inplace_overload: Tensor      the in-place overload's name, where it is not the same;
                                    "default" where it has none
      out: out                      also add.out; "true" for torch's usual name, "false" for none;
                                    "dim_max(a, b)" names the out= arguments, else they are "out",
                                    or "out0", "out1", …;
                                    or a whole schema, where torch's does not follow from `func`
      kind: pointwise               one of KINDS
      promotion: float              one of PROMOTIONS, for kinds that have operands to promote;
                                    "none" for a reduction that gives a type of its own
      function: add                 the @op function, where it is not named like the operator
      native: transpose             the compiled kernel, which serves every call
      fast_path: {kernel: sort}     what serves ordinary calls, the function all others; see
                                    `fast_paths.py` for all its forms
      numbers_as_tensors: true      Python numbers are taken where tensors are asked for
      aliases: [negative]           other names of the same operator, all its variants included;
                                    one that starts with special_ is functional or out= only, and
                                    not a function of the package
      foreach: true                 also _foreach_NAME, which takes a list where this one takes
                                    `self`, with the same variants; it is of kind foreach
      element: add.Scalar           for entries of kind foreach: the operator that is called for
                                    each element of the lists
      tags: [core]                  names from tags.yaml; some follow from `kind`
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from aten.codegen.fast_paths import FastPath, read_fast_path
from aten.documentation.kinds import KINDS, PROMOTIONS
from aten.schema import Argument, FunctionSchema, OperatorName, Return, parse_type

PLACES = ("function", "method")
# What a row need not say, by its kind; in-place and out= forms are those of functional operators.
IMPLIED: dict[str, dict[str, object]] = {
    "pointwise": {"variants": "function, method", "out": True, "promotion": "default"},
    "reduction": {"variants": "function, method", "out": True, "promotion": "default"},
    "view": {"variants": "function, method"},
    "explicit": {"out": True},
    "factory": {"out": True},
    "copy": {"out": True},
    "foreach": {"out": True, "inplace": "function"},
}
_PROMOTED_KINDS = ("pointwise", "reduction", "scan")
_TAGS_OF_KIND = {"pointwise": "pointwise", "reduction": "reduction", "copy": "view_copy"}
_FIELDS = (
    "func",
    "variants",
    "inplace",
    "inplace_overload",
    "out",
    "kind",
    "promotion",
    "function",
    "native",
    "fast_path",
    "numbers_as_tensors",
    "aliases",
    "foreach",
    "element",
    "tags",
)


class RegistryError(ValueError):
    """Something wrong in the registry's sources; the message starts with file:line."""


@dataclass(frozen=True, slots=True)
class InplaceSpecification:
    """Where the in-place overload can be called, and its name (None: the functional one's)."""

    places: tuple[str, ...]
    overload: str | None


@dataclass(frozen=True, slots=True)
class OutSpecification:
    """Name of an out= overload and of its out= arguments (none given: the usual names).

    A whole schema takes the place of both.
    """

    overload: str
    arguments: tuple[str, ...]
    schema: FunctionSchema | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the yaml file."""

    schema: FunctionSchema
    source: str  # file:line
    line: int
    variants: tuple[str, ...]
    inplace: InplaceSpecification | None
    out: OutSpecification | None
    kind: str
    promotion: str
    function: str
    native: str
    fast_path: FastPath | None
    numbers_as_tensors: bool
    tags: tuple[str, ...]
    aliases: tuple[str, ...] = ()
    alias_of: str = ""
    foreach: bool = False
    element: str = ""

    def over_lists(self) -> Entry:
        """The operator that takes a list where this one takes its only tensor."""
        tensors, _ = parse_type("Tensor[]")
        first, *others = self.schema.arguments
        name = OperatorName("", f"_foreach_{self.schema.name.name}", "")
        arguments = (Argument(tensors, first.name), *others)
        return replace(
            self,
            schema=FunctionSchema(name, arguments, (Return(tensors),)),
            variants=("function",),
            inplace=InplaceSpecification(("function",), None) if self.inplace else None,
            out=OutSpecification("out", ()) if self.out else None,
            kind="foreach",
            promotion="",
            function="",
            native="",
            fast_path=None,
            numbers_as_tensors=False,
            tags=(),
            aliases=(),
            foreach=False,
            element=self.schema.name.without_namespace,
        )

    def under(self, alias: str) -> Entry:
        """The same operator by another name. torch's core set has the first name only."""
        in_namespace = alias.startswith("special_")
        name = OperatorName("", alias, self.schema.name.overload)
        return replace(
            self,
            schema=FunctionSchema(name, self.schema.arguments, self.schema.returns),
            variants=() if in_namespace else self.variants,
            inplace=None if in_namespace else self.inplace,
            tags=tuple(tag for tag in self.tags if tag != "core"),
            aliases=(),
            foreach=False,
            alias_of=self.schema.name.without_namespace,
        )


def read_tags(path: Path) -> dict[str, str]:
    """Tag names and what they mean."""
    tags = yaml.safe_load(path.read_text())
    if not isinstance(tags, dict):
        raise RegistryError(f"{path.name}:1: expected a mapping from tags to their meanings")
    return tags


def read_entries(path: Path, tags: dict[str, str]) -> list[Entry]:
    """All entries, in the file's order.

    Raises:
        RegistryError, SchemaError: an entry is wrong; the message names file and line.
    """
    try:
        root = yaml.compose(path.read_text(), Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise RegistryError(f"{path.name}:{line}: {error.problem}") from None
    if root is None:
        return []
    if not isinstance(root, yaml.SequenceNode):
        raise RegistryError(f"{path.name}:1: expected a list of entries")
    return [_EntryReader(node, path.name, tags).read() for node in root.value]


class _EntryReader:
    """Reads one mapping; each field knows its line."""

    def __init__(self, node: yaml.Node, file: str, tags: dict[str, str]) -> None:
        self.file = file
        self.tags = tags
        self.lines: dict[str, int] = {}
        self.line = node.start_mark.line + 1
        self.fields = dict(self._pairs(node))

    def _pairs(self, node: yaml.Node) -> Iterator[tuple[str, object]]:
        if not isinstance(node, yaml.MappingNode):
            raise RegistryError(f"{self.file}:{self.line}: expected an entry with 'func: …'")
        for key_node, value_node in node.value:
            key = key_node.value
            given = key in self.lines
            self.lines[key] = key_node.start_mark.line + 1
            if key not in _FIELDS:
                raise self._error(key, f"unknown field; expected one of {', '.join(_FIELDS)}")
            if given:
                raise self._error(key, "given twice")
            constructor = yaml.SafeLoader("")
            yield key, constructor.construct_object(value_node, deep=True)

    def _error(self, field: str, reason: str) -> RegistryError:
        line = self.lines.get(field, self.line)
        return RegistryError(f"{self.file}:{line}: '{field}': {reason}")

    def read(self) -> Entry:
        source = f"{self.file}:{self.line}"
        schema = FunctionSchema.parse(self._text("func", required=True), source)
        if schema.name.namespace:
            raise self._error("func", "write the schema without its namespace")
        kind = self._choice("kind", KINDS, required=True)
        self._take_implied(kind, functional=schema.kind == "functional")
        # Some reductions give a type of their own.
        unpromoted = kind == "reduction" and self._text("promotion") == "none"
        promotion = "" if unpromoted else self._choice("promotion", PROMOTIONS)
        if promotion and kind not in _PROMOTED_KINDS:
            raise self._error("promotion", f"an operator of kind {kind} promotes nothing")
        inplace = self._inplace()
        if inplace and schema.kind != "functional":
            raise self._error("inplace", f"{schema.name} is {schema.kind}, not functional")
        out = self._out(schema)
        if out and schema.kind != "functional" and out.schema is None:
            raise self._error("out", f"{schema.name} is {schema.kind}, not functional")
        return Entry(
            schema=schema,
            source=source,
            line=self.line,
            variants=self._places("variants") if "variants" in self.fields else ("function",),
            inplace=inplace,
            out=out,
            kind=kind,
            promotion=promotion,
            function=self._text("function"),
            native=self._text("native"),
            fast_path=self._fast_path(schema),
            numbers_as_tensors=self._flag("numbers_as_tensors"),
            tags=self._tags(kind),
            aliases=self._aliases(),
            foreach=self._foreach(schema),
            element=self._element(kind),
        )

    def _take_implied(self, kind: str, *, functional: bool) -> None:
        """Fill in what the row leaves to its kind. What it says all the same, it repeats."""
        for field, value in IMPLIED.get(kind, {}).items():
            if field in ("inplace", "out") and not functional:
                continue
            if field not in self.lines:
                self.fields[field] = value
            elif self.fields[field] == value:
                raise self._error(field, "follows from the kind; leave it out")

    def _text(self, field: str, *, required: bool = False) -> str:
        value = self.fields.get(field, "")
        if not isinstance(value, str):
            raise self._error(field, f"expected text, found {value!r}")
        if required and not value:
            raise self._error(field, "missing")
        return value

    def _flag(self, field: str) -> bool:
        value = self.fields.get(field, False)
        if not isinstance(value, bool):
            raise self._error(field, f"expected true or false, found {value!r}")
        return value

    def _choice(self, field: str, choices: dict[str, str], *, required: bool = False) -> str:
        value = self._text(field, required=required)
        if value and value not in choices:
            raise self._error(field, f"{value!r} is not one of {', '.join(choices)}")
        return value

    def _places(self, field: str) -> tuple[str, ...]:
        value = self._text(field)
        if value == "none":
            return ()
        places = tuple(place.strip() for place in value.split(","))
        for place in places:
            if place not in PLACES:
                raise self._error(field, f"{place!r} is not one of {', '.join(PLACES)}, none")
        return places

    def _inplace(self) -> InplaceSpecification | None:
        value = self.fields.get("inplace", False)
        overload = self._text("inplace_overload") or None
        if value is False:
            if overload:
                raise self._error("inplace_overload", "needs 'inplace'")
            return None
        places = ("method",) if value is True else self._places("inplace")
        return InplaceSpecification(places, "" if overload == "default" else overload)

    def _out(self, schema: FunctionSchema) -> OutSpecification | None:
        value = self.fields.get("out", False)
        if value is False:
            return None
        if value is True:
            overload = schema.name.overload
            return OutSpecification(f"{overload}_out" if overload else "out", ())
        if "->" in str(value):
            given = FunctionSchema.parse(str(value), f"{self.file}:{self.lines['out']}")
            return OutSpecification(given.name.overload, (), given)
        overload, opening, rest = str(value).partition("(")
        names = rest.removesuffix(")")
        if not overload.isidentifier() or (opening and not rest.endswith(")")):
            raise self._error(
                "out", f"expected true, 'overload' or 'overload(a, b)', not {value!r}"
            )
        arguments = tuple(name.strip() for name in names.split(",")) if opening else ()
        if arguments and len(arguments) != len(schema.returns):
            raise self._error(
                "out", f"{len(schema.returns)} results need as many names, not {len(arguments)}"
            )
        return OutSpecification(overload, arguments)

    def _aliases(self) -> tuple[str, ...]:
        value = self.fields.get("aliases", [])
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            raise self._error("aliases", f"expected a list of names, found {value!r}")
        return tuple(value)

    def _foreach(self, schema: FunctionSchema) -> bool:
        foreach = self._flag("foreach")
        tensors = [str(one.type) for one in schema.arguments if one.type.base == "Tensor"]
        if foreach and (tensors != ["Tensor"] or schema.arguments[0].type.base != "Tensor"):
            raise self._error("foreach", "the operator must take one tensor, as its first argument")
        return foreach

    def _element(self, kind: str) -> str:
        element = self._text("element", required=kind == "foreach")
        if element and kind != "foreach":
            raise self._error("element", f"an operator of kind {kind} has none")
        return element

    def _fast_path(self, schema: FunctionSchema) -> FastPath | None:
        if "fast_path" not in self.fields:
            return None
        if self._text("native"):
            raise self._error("fast_path", "the kernel named by 'native' serves every call")
        try:
            names = [argument.name for argument in schema.arguments]
            return read_fast_path(self.fields["fast_path"], names)
        except ValueError as error:
            raise self._error("fast_path", str(error)) from None

    def _tags(self, kind: str) -> tuple[str, ...]:
        value = self.fields.get("tags", [])
        if not isinstance(value, list):
            raise self._error("tags", f"expected a list, found {value!r}")
        implied = _TAGS_OF_KIND.get(kind)
        for tag in value:
            if tag not in self.tags:
                raise self._error("tags", f"{tag!r} is not one of {', '.join(self.tags)}")
            if tag == implied:
                raise self._error("tags", f"{tag!r} follows from the kind; leave it out")
        return tuple(value) + ((implied,) if implied else ())

"""Operator schemas as immutable records: `FunctionSchema.parse(text)`; `str` gives the text back.

    aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)

A schema read from canonical text (one blank after a comma, none elsewhere but before names and
around `->`) prints as the same text, letter for letter; other spacing is accepted and normalized.
"""

from __future__ import annotations

from aten.schema.defaults import Default, default_fits, parse_default
from aten.schema.errors import SchemaError
from aten.schema.frozen import Frozen, set_field
from aten.schema.rules import check_schema
from aten.schema.scanner import split_list
from aten.schema.types import Annotation, Type, parse_type


class OperatorName(Frozen):
    """`aten::add.Tensor`: namespace "aten" ("" where none is given), name "add", overload "Tensor".

    The overload of `relu` is "".
    """

    __slots__ = ("namespace", "name", "overload")  # noqa: RUF023

    namespace: str
    name: str
    overload: str

    def __init__(self, namespace: str, name: str, overload: str = "") -> None:
        if not name.isidentifier():
            raise SchemaError(f"{name!r} is not a name for an operator")
        if overload and not overload.isidentifier():
            raise SchemaError(f"{overload!r} is not a name for an overload")
        if namespace and not namespace.replace(".", "_").isidentifier():
            raise SchemaError(f"{namespace!r} is not a name for a namespace")
        set_field(self, "namespace", namespace)
        set_field(self, "name", name)
        set_field(self, "overload", overload)

    @staticmethod
    def parse(text: str) -> OperatorName:
        namespace, colons, rest = text.rpartition("::")
        if colons and not namespace:
            raise SchemaError(f"{text!r} has no namespace before its '::'")
        name, dot, overload = rest.partition(".")
        if dot and not overload:
            raise SchemaError(f"{text!r} has no overload after its '.'")
        return OperatorName(namespace, name, overload)

    @property
    def is_inplace(self) -> bool:
        """`add_` and `__iadd__` are in-place by their names; `__add__` is not."""
        name = self.name
        if name.startswith("__") and name.endswith("__"):
            return name.startswith("__i") and name != "__invert__"
        return name.endswith("_")

    @property
    def without_namespace(self) -> str:
        return f"{self.name}.{self.overload}" if self.overload else self.name

    def __str__(self) -> str:
        if not self.namespace:
            return self.without_namespace
        return f"{self.namespace}::{self.without_namespace}"


class Argument(Frozen):
    """One parameter of an operator.

    `default_text` is "" where there is no default, and then `default` is None: ask `has_default`.
    """

    __slots__ = ("type", "name", "annotation", "default_text", "default", "keyword_only")  # noqa: RUF023

    type: Type
    name: str
    annotation: Annotation | None
    default_text: str
    default: Default
    keyword_only: bool

    def __init__(
        self,
        type: Type,
        name: str,
        annotation: Annotation | None = None,
        default_text: str = "",
        default: Default = None,
        keyword_only: bool = False,
    ) -> None:
        if not name.isidentifier():
            raise SchemaError(f"{name!r} is not a name for an argument")
        if default_text and not default_fits(type, default):
            raise SchemaError(f"argument {name!r} of type {type} cannot default to {default_text}")
        set_field(self, "type", type)
        set_field(self, "name", name)
        set_field(self, "annotation", annotation)
        set_field(self, "default_text", default_text)
        set_field(self, "default", default)
        set_field(self, "keyword_only", keyword_only)

    @staticmethod
    def parse(text: str, keyword_only: bool = False) -> Argument:
        declaration, equals, default_text = text.partition("=")
        type_text, blank, name = declaration.rstrip().rpartition(" ")
        if not blank:
            raise SchemaError(f"{text!r} is not an argument: expected a type and a name")
        if equals and not default_text:
            raise SchemaError(f"argument {name!r} has no value after its '='")
        type, annotation = parse_type(type_text.rstrip())
        if not equals:
            return Argument(type, name, annotation, keyword_only=keyword_only)
        default_text = default_text.strip()
        default = parse_default(default_text)
        return Argument(type, name, annotation, default_text, default, keyword_only)

    @property
    def has_default(self) -> bool:
        return self.default_text != ""

    @property
    def is_write(self) -> bool:
        return self.annotation is not None and self.annotation.is_write

    @property
    def is_out(self) -> bool:
        """Written to and passed by name only: an `out=` argument."""
        return self.keyword_only and self.is_write

    def __str__(self) -> str:
        text = f"{self.type.annotated(self.annotation)} {self.name}"
        return f"{text}={self.default_text}" if self.default_text else text


class Return(Frozen):
    """One result of an operator; `name` is "" for most."""

    __slots__ = ("type", "annotation", "name")  # noqa: RUF023

    type: Type
    annotation: Annotation | None
    name: str

    def __init__(self, type: Type, annotation: Annotation | None = None, name: str = "") -> None:
        if name and not name.isidentifier():
            raise SchemaError(f"{name!r} is not a name for a return")
        set_field(self, "type", type)
        set_field(self, "annotation", annotation)
        set_field(self, "name", name)

    @staticmethod
    def parse(text: str) -> Return:
        type_text, blank, name = text.rpartition(" ")
        if blank and name.isidentifier():
            return Return(*parse_type(type_text.rstrip()), name)
        return Return(*parse_type(text))

    @property
    def is_write(self) -> bool:
        return self.annotation is not None and self.annotation.is_write

    def __str__(self) -> str:
        text = self.type.annotated(self.annotation)
        return f"{text} {self.name}" if self.name else text


class FunctionSchema(Frozen):
    """An operator's name, arguments (positional ones first) and returns."""

    __slots__ = ("name", "arguments", "returns")  # noqa: RUF023

    name: OperatorName
    arguments: tuple[Argument, ...]
    returns: tuple[Return, ...]

    def __init__(
        self, name: OperatorName, arguments: tuple[Argument, ...], returns: tuple[Return, ...]
    ) -> None:
        set_field(self, "name", name)
        set_field(self, "arguments", arguments)
        set_field(self, "returns", returns)
        check_schema(self)

    @staticmethod
    def parse(text: str, source: str = "") -> FunctionSchema:
        """Reads a schema, with or without a namespace.

        `source` ("native_functions.yaml:12") is put in front of error messages.

        Raises:
            SchemaError: the text is no schema, or the schema breaks a rule.
        """
        return _Reader(text).read(source)

    @property
    def kind(self) -> str:
        """functional, inplace (by its name), out (takes `out=`) or mutable (writes otherwise)."""
        if any(argument.is_out for argument in self.arguments):
            return "out"
        if not any(argument.is_write for argument in self.arguments):
            return "functional"
        return "inplace" if self.name.is_inplace else "mutable"

    @property
    def is_view(self) -> bool:
        """Functional, and a result may share storage with an argument."""
        return self.kind == "functional" and any(
            returned.annotation is not None for returned in self.returns
        )

    @property
    def positional(self) -> tuple[Argument, ...]:
        return tuple(argument for argument in self.arguments if not argument.keyword_only)

    @property
    def keyword_only(self) -> tuple[Argument, ...]:
        return tuple(argument for argument in self.arguments if argument.keyword_only)

    @property
    def out_arguments(self) -> tuple[Argument, ...]:
        return tuple(argument for argument in self.arguments if argument.is_out)

    def __str__(self) -> str:
        parts = [str(argument) for argument in self.positional]
        keyword_only = self.keyword_only
        if keyword_only:
            parts.append("*")
            parts += [str(argument) for argument in keyword_only]
        returns = ", ".join(str(returned) for returned in self.returns)
        if len(self.returns) != 1:
            returns = f"({returns})"
        return f"{self.name}({', '.join(parts)}) -> {returns}"


class _Reader:
    """One reading of one text; `column` is the place of what is being read, for errors."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.column = 1
        self.argument_columns: list[int] = []

    def read(self, source: str) -> FunctionSchema:
        try:
            return self._schema()
        except SchemaError as error:
            column = self.column
            if 0 <= error.argument < len(self.argument_columns):
                column = self.argument_columns[error.argument]
            raise error.located(column=column, text=self.text, source=source) from None
        except RecursionError:
            raise SchemaError(
                "brackets nest too deeply", column=self.column, source=source
            ) from None

    def _schema(self) -> FunctionSchema:
        text = self.text
        opening = text.find("(")
        if opening < 0:
            raise SchemaError("expected '(' after the operator's name")
        name = OperatorName.parse(text[:opening].strip())
        items, closing = split_list(text, opening)
        arguments = self._arguments(items)
        self.column = closing + 2
        returns = self._returns(closing + 1)
        return FunctionSchema(name, arguments, returns)

    def _arguments(self, items: list[tuple[str, int]]) -> tuple[Argument, ...]:
        arguments: list[Argument] = []
        keyword_only = False
        for item, offset in items:
            self.column = offset + 1
            if item == "*":
                if keyword_only:
                    raise SchemaError("'*' stands a second time")
                keyword_only = True
                continue
            arguments.append(Argument.parse(item, keyword_only))
            self.argument_columns.append(self.column)
        if keyword_only and not (arguments and arguments[-1].keyword_only):
            raise SchemaError("no argument follows '*'")
        return tuple(arguments)

    def _returns(self, position: int) -> tuple[Return, ...]:
        text = self.text
        rest = text[position:].lstrip()
        if not rest.startswith("->"):
            raise SchemaError("expected '->' and the returns after the arguments")
        returns_text = rest[2:].strip()
        if not returns_text.startswith("("):
            self.column = len(text) - len(rest[2:].lstrip()) + 1
            return (Return.parse(returns_text),)
        opening = len(text) - len(rest[2:].lstrip())
        items, closing = split_list(text, opening)
        if text[closing + 1 :].strip():
            raise SchemaError("unexpected text after the returns", column=closing + 2)
        returns = []
        for item, offset in items:
            self.column = offset + 1
            returns.append(Return.parse(item))
        return tuple(returns)

"""Types of arguments and returns: `Tensor`, `int?`, `SymInt[2]`, `Tensor?[]`, …, and alias sets.

The alias annotation of a type (`Tensor(a!)[]`) belongs to the argument or return, not to the type:
`parse_type` gives the two separately and `Type.annotated` puts them together again.
"""

from __future__ import annotations

from aten.schema.errors import SchemaError
from aten.schema.frozen import Frozen, set_field
from aten.schema.scanner import split_list

BASE_TYPES = frozenset(
    {
        "Tensor",
        "Scalar",
        "int",
        "SymInt",
        "float",
        "SymFloat",
        "bool",
        "SymBool",
        "complex",
        "str",
        "ScalarType",
        "Layout",
        "MemoryFormat",
        "Device",
        "DeviceIndex",
        "Generator",
        "Dimname",
        "Storage",
        "Stream",
        "QScheme",
        "Any",
    }
)

# TorchScript classes are types of a few operators (`__torch__.torch.classes.rnn.CellParamsBase`).
CLASS_PREFIX = "__torch__."


class Annotation(Frozen):
    """Which storages a value may share: `a`, `a!` (written to), `a|b`, `a -> *` (any later)."""

    __slots__ = ("alias_set", "is_write", "alias_set_after")  # noqa: RUF023

    alias_set: tuple[str, ...]
    is_write: bool
    alias_set_after: tuple[str, ...]

    def __init__(
        self, alias_set: tuple[str, ...], is_write: bool, alias_set_after: tuple[str, ...] = ()
    ) -> None:
        for name in alias_set + alias_set_after:
            if name != "*" and not name.isidentifier():
                raise SchemaError(f"{name!r} does not name an alias set")
        set_field(self, "alias_set", alias_set)
        set_field(self, "is_write", is_write)
        set_field(self, "alias_set_after", alias_set_after)

    @staticmethod
    def parse(text: str) -> Annotation:
        before, arrow, after = text.partition("->")
        before = before.strip()
        is_write = before.endswith("!")
        return Annotation(
            tuple(name.strip() for name in before.removesuffix("!").split("|")),
            is_write,
            tuple(name.strip() for name in after.split("|")) if arrow else (),
        )

    def __str__(self) -> str:
        text = "|".join(self.alias_set) + ("!" if self.is_write else "")
        return f"{text} -> {'|'.join(self.alias_set_after)}" if self.alias_set_after else text


class Type(Frozen):
    """What all types answer."""

    __slots__ = ()

    @property
    def base(self) -> str:
        """The innermost type's name: "Tensor" for `Tensor?[]`."""
        raise NotImplementedError

    @property
    def is_nullable(self) -> bool:
        return False

    @property
    def is_list(self) -> bool:
        """A list, or an optional list."""
        return False

    def annotated(self, annotation: Annotation | None) -> str:
        raise NotImplementedError

    def __str__(self) -> str:
        return self.annotated(None)


class BaseType(Type):
    __slots__ = ("name",)

    name: str

    def __init__(self, name: str) -> None:
        if name not in BASE_TYPES and not name.startswith(CLASS_PREFIX):
            raise SchemaError(f"unknown type {name!r}")
        set_field(self, "name", name)

    @property
    def base(self) -> str:
        return self.name

    def annotated(self, annotation: Annotation | None) -> str:
        return self.name if annotation is None else f"{self.name}({annotation})"


class OptionalType(Type):
    __slots__ = ("element",)

    element: Type

    def __init__(self, element: Type) -> None:
        set_field(self, "element", element)

    @property
    def base(self) -> str:
        return self.element.base

    @property
    def is_nullable(self) -> bool:
        return True

    @property
    def is_list(self) -> bool:
        return self.element.is_list

    def annotated(self, annotation: Annotation | None) -> str:
        return f"{self.element.annotated(annotation)}?"


class ListType(Type):
    """`int[]`; with a size, `int[2]`, a single int stands for that many equal ones."""

    __slots__ = ("element", "size")

    element: Type
    size: int | None

    def __init__(self, element: Type, size: int | None = None) -> None:
        if size is not None and size < 1:
            raise SchemaError(f"a list of {size} elements")
        set_field(self, "element", element)
        set_field(self, "size", size)

    @property
    def base(self) -> str:
        return self.element.base

    @property
    def is_list(self) -> bool:
        return True

    def annotated(self, annotation: Annotation | None) -> str:
        size = "" if self.size is None else self.size
        return f"{self.element.annotated(annotation)}[{size}]"


class DictType(Type):
    """`Dict(Tensor, Tensor)`; only ever returned."""

    __slots__ = ("key", "value")

    key: Type
    value: Type

    def __init__(self, key: Type, value: Type) -> None:
        set_field(self, "key", key)
        set_field(self, "value", value)

    @property
    def base(self) -> str:
        return "Dict"

    def annotated(self, annotation: Annotation | None) -> str:
        return f"Dict({self.key}, {self.value})"


# There are some eighty spellings and thousands of arguments: each spelling is read once.
_parsed: dict[str, tuple[Type, Annotation | None]] = {}


def parse_type(text: str) -> tuple[Type, Annotation | None]:
    """The type a text means, and the alias annotation of its base, if it has one."""
    known = _parsed.get(text)
    if known is None:
        known = _parsed[text] = _parse_type(text)
    return known


def _parse_type(text: str) -> tuple[Type, Annotation | None]:
    if text.endswith("?"):
        element, annotation = parse_type(text[:-1])
        if element.is_nullable:
            raise SchemaError(f"{text!r} is optional twice")
        return OptionalType(element), annotation
    if text.endswith("]"):
        head, _, size = text[:-1].rpartition("[")
        if size and not (size.isascii() and size.isdigit()):
            raise SchemaError(f"{size!r} is not the size of a list")
        element, annotation = parse_type(head)
        return ListType(element, int(size) if size else None), annotation
    if text.startswith("Dict(") and text.endswith(")"):
        items, _ = split_list(text, len("Dict"))
        if len(items) != 2:
            raise SchemaError(f"{text!r}: a Dict has a key type and a value type")
        return DictType(parse_type(items[0][0])[0], parse_type(items[1][0])[0]), None
    if text.endswith(")"):
        name, _, alias = text[:-1].partition("(")
        if name != "Tensor":
            raise SchemaError(f"{text!r}: only a Tensor can have an alias annotation")
        return BaseType(name), Annotation.parse(alias)
    return BaseType(text), None

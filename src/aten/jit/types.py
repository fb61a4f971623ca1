"""Types of values in scripted functions, as annotations say them."""

from __future__ import annotations

import types
import typing
from typing import Any, NamedTuple

from aten._core.base.device import device
from aten._core.base.dtypes import dtype
from aten._core.tensor.tensor import Tensor
from aten.nn.modules.module import Module


class Type(NamedTuple):
    """A type by name, with what is in it: `List[int]`."""

    name: str
    args: tuple[Type, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}[{', '.join(map(str, self.args))}]" if self.args else self.name


ANY = Type("Any")
TENSOR = Type("Tensor")
INT, FLOAT, BOOL, STR = Type("int"), Type("float"), Type("bool"), Type("str")
NONE = Type("None")
MODULE = Type("Module")
DTYPE, DEVICE = Type("dtype"), Type("device")
NUMBERS = (BOOL, INT, FLOAT)

_PLAIN: dict[Any, Type] = {
    Tensor: TENSOR,
    int: INT,
    float: FLOAT,
    bool: BOOL,
    str: STR,
    None: NONE,
    type(None): NONE,
    Any: ANY,
    dtype: DTYPE,
    device: DEVICE,
}
NAMES = {str(one): one for one in (*_PLAIN.values(), MODULE)}
CONTAINERS = ("List", "Tuple", "Dict", "Optional")


class UnknownTypeError(TypeError):
    """An annotation is no type that scripted functions know."""


def optional_of(inner: Type) -> Type:
    return inner if inner.name in ("Optional", "Any", "None") else Type("Optional", (inner,))


def list_of(inner: Type) -> Type:
    return Type("List", (inner,))


def from_annotation(annotation: Any) -> Type:
    """The type that an annotation, evaluated, says. Raises UnknownTypeError."""
    if annotation in (list, tuple, dict):
        return Type({list: "List", tuple: "Tuple", dict: "Dict"}[annotation], ())
    try:
        plain = _PLAIN.get(annotation)
    except TypeError:
        plain = None
    if plain is not None:
        return plain
    if isinstance(annotation, type) and issubclass(annotation, Tensor):
        return TENSOR
    if isinstance(annotation, type) and issubclass(annotation, Module):
        return MODULE
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        rest = [one for one in args if one is not type(None)]
        inner = from_annotation(rest[0]) if len(rest) == 1 else ANY
        return optional_of(inner) if len(rest) < len(args) else inner
    if origin in (list, tuple, dict):
        name = {list: "List", tuple: "Tuple", dict: "Dict"}[origin]
        if origin is tuple and len(args) == 2 and args[1] is Ellipsis:
            return list_of(from_annotation(args[0]))
        return Type(name, tuple(from_annotation(one) for one in args))
    raise UnknownTypeError(f"{annotation!r} is no type of scripted functions")


def type_of(value: Any) -> Type:
    """The type of a value that is there."""
    for kind in (bool, int, float, str, Tensor, dtype, device):
        if isinstance(value, kind):
            return _PLAIN[kind]
    if value is None:
        return NONE
    if isinstance(value, Module):
        return MODULE
    if isinstance(value, (list, tuple)):
        inner = [type_of(one) for one in value]
        if isinstance(value, tuple):
            return Type("Tuple", tuple(inner))
        return list_of(inner[0] if inner and all(one == inner[0] for one in inner) else ANY)
    if isinstance(value, dict):
        return Type("Dict", (ANY, ANY))
    return ANY


def joined(one: Type, other: Type) -> Type | None:
    """The type of a value that is of one or the other; None where there is none."""
    if one == other:
        return one
    if ANY in (one, other):
        return ANY
    if NONE in (one, other):
        return optional_of(other if one == NONE else one)
    if "Optional" in (one.name, other.name):
        inner = joined(
            one.args[0] if one.name == "Optional" else one,
            other.args[0] if other.name == "Optional" else other,
        )
        return None if inner is None else optional_of(inner)
    if one.name == other.name:
        if not one.args or not other.args:
            return Type(one.name)
        if len(one.args) == len(other.args):
            inner_types = [joined(a, b) for a, b in zip(one.args, other.args, strict=True)]
            if all(inner_types):
                return Type(one.name, tuple(one for one in inner_types if one is not None))
    return None


def fits(given: Type, wanted: Type) -> bool:
    """Whether a value of one type may stand where another is wanted."""
    if ANY in (given, wanted) or given == wanted:
        return True
    if wanted.name == "Optional":
        return given == NONE or fits(
            given.args[0] if given.name == "Optional" else given, wanted.args[0]
        )
    if given == INT and wanted == FLOAT:
        return True
    if given.name == "Tuple" and wanted.name == "List":
        return all(fits(one, wanted.args[0]) for one in given.args) if wanted.args else True
    if given.name != wanted.name:
        return False
    if not given.args or not wanted.args:
        return True
    return len(given.args) == len(wanted.args) and all(
        fits(one, other) for one, other in zip(given.args, wanted.args, strict=True)
    )


def parse(text: str) -> Type:
    """A type from its text. Raises UnknownTypeError."""
    found, rest = _parse(text, 0)
    if rest:
        raise UnknownTypeError(f"{text!r} is no type")
    return found


def _parse(text: str, depth: int) -> tuple[Type, str]:
    name = text[: next((place for place, one in enumerate(text) if one in "[], "), len(text))]
    rest = text[len(name) :]
    if depth > 32 or (name not in NAMES and name not in CONTAINERS):
        raise UnknownTypeError(f"{name!r} is no type")
    if not rest.startswith("["):
        return (NAMES[name] if name in NAMES else Type(name)), rest
    args = []
    while rest[:1] in ("[", ","):
        inner, rest = _parse(rest[1:].lstrip(), depth + 1)
        args.append(inner)
    if not rest.startswith("]"):
        raise UnknownTypeError(f"{text!r} is no type")
    return Type(name, tuple(args)), rest[1:]

"""Default values of arguments: from text to Python values, and whether they fit their types."""

from __future__ import annotations

from aten.schema.errors import SchemaError
from aten.schema.scanner import end_of_string, split_list
from aten.schema.types import ListType, OptionalType, Type

Default = None | bool | int | float | str | tuple["Default", ...]

_CONSTANTS: dict[str, Default] = {
    "None": None,
    "True": True,
    "False": False,
    "[]": (),
    # The reductions of losses: `int reduction=Mean`.
    "Mean": 1,
    "Sum": 2,
}
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}

# Types whose defaults are written as a word (`contiguous_format`, `long`) or as its number.
_ENUMERATIONS = frozenset({"ScalarType", "Layout", "MemoryFormat", "Device", "QScheme"})
_ACCEPTED: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "SymInt": (int,),
    "DeviceIndex": (int,),
    "float": (int, float),
    "SymFloat": (int, float),
    "Scalar": (int, float, bool),
    "bool": (bool,),
    "SymBool": (bool,),
    "str": (str,),
}


def parse_default(text: str) -> Default:
    """The value of a default. A word that means no constant, `contiguous_format`, stays a `str`."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[:1] in ("'", '"'):
        return _parse_string(text)
    if text.startswith("["):
        items, closing = split_list(text, 0)
        if closing != len(text) - 1:
            raise SchemaError(f"unexpected text after the list {text[: closing + 1]!r}")
        return tuple(parse_default(item) for item, _ in items)
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    if text.isidentifier():
        return text
    raise SchemaError(f"{text!r} is not a default value")


def _parse_string(text: str) -> str:
    if end_of_string(text, 0) != len(text) - 1:
        raise SchemaError(f"unexpected text after the string in {text!r}")
    pieces = []
    characters = iter(text[1:-1])
    for character in characters:
        if character == "\\":
            escaped = next(characters)
            pieces.append(_ESCAPES.get(escaped, escaped))
        else:
            pieces.append(character)
    return "".join(pieces)


def default_fits(type: Type, value: Default) -> bool:
    """Whether an argument of this type can have this default."""
    if isinstance(type, OptionalType):
        return value is None or default_fits(type.element, value)
    if isinstance(type, ListType):
        if isinstance(value, tuple):
            # Of any length: torch itself has `int[1] dim=[-2, -1]`.
            return all(default_fits(type.element, item) for item in value)
        return type.size is not None and default_fits(type.element, value)
    if type.base in _ENUMERATIONS:
        return isinstance(value, (int, str)) and not isinstance(value, bool)
    accepted = _ACCEPTED.get(type.base, ())
    return isinstance(value, accepted) and (not isinstance(value, bool) or bool in accepted)

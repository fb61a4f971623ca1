"""Typed access to decoded JSON: a value of the wrong shape is an error that says where it is."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from aten.graph.errors import FormatError

T = TypeVar("T")

_KINDS = {dict: "an object", list: "a list", str: "a string", int: "an integer", bool: "a boolean"}


def decode(data: bytes, where: str, *, unique: bool = False) -> dict[str, Any]:
    """The JSON object in `data`; no key may be there twice in it, if `unique`.

    Raises FormatError, naming `where`, if there is none.
    """
    try:
        value = json.loads(data, object_pairs_hook=_without_repetition if unique else None)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{where}: not valid JSON: {error}") from None
    return checked(value, dict, where)


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found


def checked(value: Any, kind: type[T], where: str) -> T:
    """The value, if it is of that kind; a boolean is no integer."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise FormatError(f"{where}: expected {_KINDS[kind]}, found {shown(value)}")
    return value


def field(owner: Any, key: str, kind: type[T], where: str) -> T:
    """`owner[key]`, if it is there and of that kind."""
    # What JSON gives is of no class below these: nearly always that is all there is to look at.
    if type(owner) is dict:
        value = owner.get(key)
        if type(value) is kind:
            return value
    found = checked(owner, dict, where)
    if key not in found:
        raise FormatError(f"{where}: {key!r} is missing")
    return checked(found[key], kind, f"{where}.{key}")


def optional(owner: dict[str, Any], key: str, kind: type[T], default: T, where: str) -> T:
    """`owner[key]`, or the default where it is missing or null."""
    value = owner.get(key)
    if type(value) is kind:
        return value
    return default if value is None else checked(value, kind, f"{where}.{key}")


def union(value: Any, where: str) -> tuple[str, Any]:
    """The alternative a tagged union holds, and its value: `{"as_int": 3}` is ("as_int", 3)."""
    found = checked(value, dict, where)
    if len(found) != 1:
        raise FormatError(f"{where}: expected one alternative, found {shown(value)}")
    [(tag, content)] = found.items()
    return tag, content


def number(value: Any, where: str) -> float:
    """A float; infinities and NaN are written as strings."""
    if isinstance(value, str) and value in ("Infinity", "-Infinity", "NaN"):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise FormatError(f"{where}: expected a number, found {shown(value)}")
    try:
        return float(value)
    except OverflowError:
        raise FormatError(f"{where}: the number {shown(value)} is out of range") from None


def shown(value: Any) -> str:
    """A short form of the value for messages."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."

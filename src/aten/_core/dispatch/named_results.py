"""The types of several results with names, such as `values` and `indices`."""

from __future__ import annotations

from collections import namedtuple

# Where they are found by name: pickle looks there, and errors and help say it.
MODULE = "aten.return_types"

_types: dict[tuple[str, tuple[str, ...]], type[tuple[object, ...]]] = {}


def result_type(name: str, fields: tuple[str, ...]) -> type[tuple[object, ...]]:
    """The type for results of the operator `name`; one for all overloads with these fields."""
    found = _types.get((name, fields))
    if found is None:
        bases = (namedtuple(name, fields),)
        members = {"__slots__": (), "__module__": MODULE, "__repr__": _shown}
        found = _types.setdefault((name, fields), type(name, bases, members))
    return found


def types_named(name: str) -> list[type[tuple[object, ...]]]:
    """Those of the operator that have been asked for, the earliest first."""
    return [made for (owner, _), made in _types.items() if owner == name]


def _shown(results: tuple[object, ...]) -> str:
    fields = type(results)._fields  # type: ignore[attr-defined]
    lines = ",\n".join(f"{field}={value!r}" for field, value in zip(fields, results, strict=True))
    return f"{MODULE}.{type(results).__name__}(\n{lines})"

"""JSON without the package `json`, whose regular expressions take longer to import than a program's
description to read."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def parsed(content: bytes) -> Any:
    """The value that a JSON text in UTF-8 is. Raises ValueError or RecursionError for others."""
    text = content.decode()
    try:
        from _json import make_scanner

        scan = make_scanner(_Settings())  # type: ignore[arg-type]
    except (ImportError, AttributeError, TypeError):
        # Another interpreter's library has it in another place.
        import json

        return json.loads(text, parse_constant=_refuse)
    try:
        value, end = scan(text, 0)
    except StopIteration:
        raise ValueError("no JSON") from None
    if text[end:].strip(" \t\n\r"):
        raise ValueError("more than one value")
    return value


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is not in descriptions")


class _Settings:
    """What the scanner asks of a decoder."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = staticmethod(_refuse)

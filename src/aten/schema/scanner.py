"""Cutting text at its commas: brackets nest, quotes protect."""

from __future__ import annotations

from aten.schema.errors import SchemaError

OPENING = {"(": ")", "[": "]"}


def split_list(text: str, opening: int) -> tuple[list[tuple[str, int]], int]:
    """The items between the bracket at `opening` and the one that closes it.

    Returns (item without outer blanks, its offset in `text`) for each item, and the offset of the
    closing bracket. An empty list has no items.
    """
    closing = OPENING[text[opening]]
    items: list[tuple[str, int]] = []
    expected: list[str] = []
    start = position = opening + 1
    length = len(text)
    while position < length:
        character = text[position]
        if character == ",":
            if not expected:
                items.append(_trimmed(text, start, position))
                start = position + 1
        elif character in "([":
            expected.append(OPENING[character])
        elif character in ")]":
            if not expected:
                if character != closing:
                    raise SchemaError(
                        f"expected {closing!r}, found {character!r}", column=position + 1
                    )
                if items or text[start:position].strip():
                    items.append(_trimmed(text, start, position))
                return items, position
            if expected.pop() != character:
                raise SchemaError(f"unmatched {character!r}", column=position + 1)
        elif character in "\"'":
            position = end_of_string(text, position)
        position += 1
    raise SchemaError(f"{text[opening]!r} is never closed", column=opening + 1)


def end_of_string(text: str, opening: int) -> int:
    """The offset of the quote that closes the one at `opening`."""
    quote = text[opening]
    position = opening + 1
    while position < len(text):
        if text[position] == "\\":
            position += 1
        elif text[position] == quote:
            return position
        position += 1
    raise SchemaError("the string is never closed", column=opening + 1)


def _trimmed(text: str, start: int, stop: int) -> tuple[str, int]:
    item = text[start:stop]
    stripped = item.strip()
    if not stripped:
        raise SchemaError("nothing stands between two commas", column=start + 1)
    return stripped, start + item.index(stripped)

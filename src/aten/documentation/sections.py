"""The texts beside this file: what operators do, where their functions do not say it, and examples.

    softmax
        exp(x), divided by its sum along `dim`.

        >>> aten.softmax(aten.tensor([1.0, 2.0, 3.0]), dim=0)
        tensor([0.0900, 0.2447, 0.6652])

A name is what stands behind `aten.` where users call the operator. The text before the example may
be missing; `python tools/examples.py` runs the examples and writes what they give.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

FOLDER = os.path.dirname(os.path.abspath(__file__))


class Section(NamedTuple):
    """What is written of one function: a text, which may be empty, and an example to run."""

    text: str
    example: str


@cache
def sections() -> dict[str, Section]:
    """All of them, by name. Raises ValueError where a name has two."""
    found: dict[str, Section] = {}
    for file in sorted(os.listdir(FOLDER)):
        if not file.endswith(".txt"):
            continue
        with open(os.path.join(FOLDER, file), encoding="utf-8") as opened:
            for name, section in parsed(opened.read()):
                if name in found:
                    raise ValueError(f"{file}: {name} is described twice")
                found[name] = section
    return found


def parsed(text: str) -> Iterator[tuple[str, Section]]:
    """The names and sections of one file, in its order."""
    name, lines = "", list[str]()
    for line in [*text.splitlines(), "end"]:
        if line[:1] in ("", " ", "#"):
            lines.append(line)
            continue
        if name:
            yield name, _section(lines)
        name, lines = line.strip(), []


def _section(lines: list[str]) -> Section:
    kept = [line[4:] for line in lines if not line.startswith("#")]
    first = next((place for place, line in enumerate(kept) if line.startswith(">>>")), len(kept))
    return Section("\n".join(kept[:first]).strip(), "\n".join(kept[first:]).strip())

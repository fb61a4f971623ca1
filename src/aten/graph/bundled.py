"""The example files that come with the package."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

_FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "examples")


def find(path: str | os.PathLike[str], told: TextIO | None) -> str | os.PathLike[str]:
    """The path itself, or a bundled example's where it is a bare name of one and no file here.

    Says so to `told`, if there is such a stream.
    """
    name = os.fspath(path)
    if os.path.exists(name) or os.path.basename(name) != name:
        return path
    for place, _, names in os.walk(_FOLDER):
        if name in names:
            found = os.path.join(place, name)
            print(
                f"{name}: not in the current folder; using the bundled example {found}", file=told
            )
            return found
    return path

"""What can be wrong with a function that is to be scripted."""

from __future__ import annotations

import linecache


class ScriptError(RuntimeError):
    """A function cannot be scripted; the message names file, line and column, and shows the line.

    Attributes:
        file, line, column: where; lines and columns count from 1.
    """

    def __init__(self, message: str, file: str, line: int, column: int) -> None:
        self.file, self.line, self.column = file, line, column
        source = linecache.getline(file, line).rstrip()
        shown = f"\n    {source}\n    {' ' * (column - 1)}^" if source else ""
        super().__init__(f"{file}:{line}:{column}: {message}{shown}")

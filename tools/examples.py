"""Run the examples of operators' documentation, and write down what they give.

    python tools/examples.py [--check] [NAME …]

The examples stand in `src/aten/documentation/*.txt`. Without `--check` their results are written
behind them; read the difference: what an example shows is promised to users. With NAME, only those.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
from pathlib import Path
from textwrap import indent
from typing import Any

import aten
from aten.documentation.sections import parsed

FOLDER = Path(aten.__file__).parent / "documentation"


def statements(example: str) -> list[str]:
    """The lines that are run, without what they gave before."""
    return [line[4:] for line in example.splitlines() if line.startswith((">>> ", "... "))]


def results(lines: list[str]) -> str:
    """The example as an interactive session shows it.

    Raises whatever the lines raise.
    """
    names: dict[str, Any] = {"aten": aten}
    shown = []
    for line in lines:
        shown.append(f">>> {line}")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(line, "<example>", "single"), names)
        shown += [line or "<BLANKLINE>" for line in printed.getvalue().splitlines()]
    return "\n".join(shown)


def updated(text: str, chosen: list[str]) -> tuple[str, list[str]]:
    """A file's text with what its examples give now, and what went wrong."""
    problems, blocks = [], []
    for name, section in parsed(text):
        given = section.example
        if not chosen or name in chosen:
            try:
                given = results(statements(section.example))
            except Exception as error:
                problems.append(f"{name}: {type(error).__name__}: {error}")
        if given != section.example:
            problems.append(f"{name}: gives something else than was written")
        parts = [indent(part, "    ") for part in (section.text, given) if part]
        blocks.append(f"{name}\n" + "\n\n".join(parts))
    return "\n\n".join(blocks) + "\n", problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("names", metavar="NAME", nargs="*")
    options = parser.parse_args()
    failed = False
    for path in sorted(FOLDER.glob("*.txt")):
        text = path.read_text()
        new, problems = updated(text, options.names)
        for problem in problems:
            print(f"{path.name}: {problem}")
        if new != text and not options.check:
            path.write_text(new)
        failed = failed or bool(problems)
    return int(failed and options.check)


if __name__ == "__main__":
    sys.exit(main())

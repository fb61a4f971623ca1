"""What an operator costs: lines of schema and of function, on average.

    python tools/operator_cost.py

Counted are the lines of `native_functions.yaml` and of `src/aten/ops` that are not blank; of the
functions' lines, those of code and those of docstrings and comments apart. Not counted are tests
and what serves all operators alike: `definition.py`, and the engines below it.
"""

from __future__ import annotations

import ast
import io
import tokenize
from pathlib import Path

from aten._generated.table import OPERATORS

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "aten"


def prose_lines(source: str) -> set[int]:
    """Numbers of the lines that hold docstrings, or comments and nothing else."""
    found = set()
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        number = token.start[0]
        if token.type == tokenize.COMMENT and lines[number - 1].lstrip().startswith("#"):
            found.add(number)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return found


def main() -> None:
    registry = (SOURCES / "native_functions.yaml").read_text().splitlines()
    schema = sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in registry)
    code = prose = 0
    for path in sorted((SOURCES / "ops").rglob("*.py")):
        if path.name in ("definition.py", "__init__.py"):
            continue
        source = path.read_text()
        talk = prose_lines(source)
        filled = [number for number, line in enumerate(source.splitlines(), 1) if line.strip()]
        prose += sum(number in talk for number in filled)
        code += sum(number not in talk for number in filled)
    overloads = len(OPERATORS)
    entries = sum(line.startswith("- func:") for line in registry)
    packets = len({name.partition(".")[0] for name in OPERATORS})
    total = schema + code + prose
    print(f"{packets} operators, {overloads} overloads, made from {entries} entries")
    print(f"lines: {schema} of schema, {code} of functions, {prose} of docstrings and comments")
    for name, count in (("operator", packets), ("overload", overloads), ("entry", entries)):
        print(f"per {name}: {(schema + code) / count:.1f}, with docstrings {total / count:.1f}")


if __name__ == "__main__":
    main()

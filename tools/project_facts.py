#!/usr/bin/env python3
"""Facts that stand in one place and are needed in another.

python tools/project_facts.py version               # as `aten.__version__` says
python tools/project_facts.py run-command           # the README's first command
python tools/project_facts.py test-command          # the README's second command
python tools/project_facts.py requirements EXTRA    # what an extra asks for, one a line
python tools/project_facts.py caches                # where Python may keep bytecode of sources
    python tools/project_facts.py environment           # docs/environment.md
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_COMMANDS = ("run-command", "test-command")


def version() -> str:
    """The package's version, read without importing it: it may not be built yet."""
    for node in ast.parse((ROOT / "src/aten/__init__.py").read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__version__":
            return str(ast.literal_eval(node.value))
    raise LookupError("src/aten/__init__.py sets no __version__")


def readme_command(name: str) -> str:
    """The shell command that the README gives for running the main job, or for testing."""
    section = (ROOT / "README.md").read_text().partition("## Two commands")[2].partition("\n## ")[0]
    commands = re.findall(r"```sh\n(.+?)\n```", section, re.DOTALL)
    if len(commands) != len(_COMMANDS) or any("\n" in command for command in commands):
        raise LookupError('README.md, "Two commands": expected two commands of one line each')
    return str(commands[_COMMANDS.index(name)])


def requirements(extra: str) -> list[str]:
    """The requirements of one of pyproject.toml's extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return list(project["optional-dependencies"][extra])


def caches() -> list[str]:
    """Where Python may keep bytecode of the sources, which is not installed with them."""
    package = ROOT / "src/aten"
    found = {path.parent / "__pycache__" for path in package.rglob("*.py")}
    # Also where a folder has no sources any more.
    found.update(package.rglob("__pycache__"))
    return sorted(str(path.relative_to(package)) for path in found)


def environment_page() -> str:
    """The documentation of the environment variables. Needs the package."""
    from aten.config import table

    return (
        "# Environment variables\n\nWritten by `python tools/project_facts.py environment`; a test "
        f"says when it is stale. Set but\nempty counts as not set.\n\n{table()}"
    )


def main(arguments: list[str]) -> str:
    match arguments:
        case ["version"]:
            return version()
        case [name] if name in _COMMANDS:
            return readme_command(name)
        case ["requirements", extra]:
            return "\n".join(requirements(extra))
        case ["caches"]:
            return "\n".join(caches())
        case ["environment"]:
            return environment_page()
    raise SystemExit(__doc__)


if __name__ == "__main__":
    print(main(sys.argv[1:]))

"""Command lines, read by argparse."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from aten.suggestions import suggestion

# Each is a module of this package.
_COMMANDS = ("run", "compile", "ops", "explain", "conformance", "doctor")


class _Version(argparse.Action):
    """Prints the version, for which alone the package is imported."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        import aten

        print(f"aten {aten.__version__}")
        parser.exit()


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """As wide as the terminal, for which argparse imports more than a program needs to run."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


def _columns() -> int:
    chosen = os.environ.get("COLUMNS", "")
    if chosen.isdecimal() and int(chosen):
        return int(chosen)
    try:
        return os.get_terminal_size(1).columns or 80
    except OSError:
        return 80


class _Parser(argparse.ArgumentParser):
    """Says what may have been meant by a command that is not there."""

    def error(self, message: str) -> NoReturn:
        wrong = re.search(r"argument COMMAND: invalid choice: '([^']*)'", message)
        super().error(message + (suggestion(wrong.group(1), _COMMANDS) if wrong else ""))


def parsed(given: Sequence[str]) -> argparse.Namespace:
    """The options of a command line. Leaves the process where it is wrong, or asks for help."""
    # What one command needs is imported for none of the others.
    chosen = given[:1] if given[:1] and given[0] in _COMMANDS else _COMMANDS
    return _parser(chosen).parse_args(given)


def _parser(names: Sequence[str]) -> argparse.ArgumentParser:
    """A parser for these commands."""
    parser = _Parser(
        prog="aten",
        description="ATen: the tensor library under PyTorch, in Python.",
        formatter_class=_Formatter,
    )
    parser.add_argument("--version", action=_Version, help="show the package's version and leave")
    parser.add_argument(
        "--traceback", action="store_true", help="show where in the code an error came from"
    )
    # Without a name for them, argparse lays a usage out, for which it looks at the terminal.
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", prog=parser.prog
    )
    for name in names:
        command = import_module(f"aten.cli.{name}")
        added = commands.add_parser(
            command.NAME,
            help=command.SUMMARY,
            description=command.__doc__,
            formatter_class=_Formatter,
        )
        command.add_arguments(added)
        added.set_defaults(execute=command.execute)
    return parser

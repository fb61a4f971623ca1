"""The `aten` command: run programs, look at operators, and say what this installation is.

    aten run MODEL --input FILE       run a program saved by torch.export.save
    aten compile MODEL -o FILE        the program with its machine code in one file
    aten ops [PATTERN]                list operators
    aten explain OP                   where an operator comes from and what runs it
    aten conformance --device NAME    compare a device with the CPU
    aten doctor                       versions, processor, caches, threads
    aten --version                    the package's version

Errors are one line on standard error and exit status 2; --traceback shows where they came from.
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module

from aten.suggestions import suggestion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

# Each is a module of this package.
_COMMANDS = ("run", "compile", "ops", "explain", "conformance", "doctor")


class _Version(argparse.Action):
    """Prints the version, for which alone the package is imported."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help=help)

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


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command. Returns the exit status: 0, or 2 after an error."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if arguments is None:
        # The process is the command's: what has been imported is looked through for garbage never
        # again, not even at its end.
        gc.freeze()
    # What one command needs is imported for none of the others.
    chosen = given[:1] if given[:1] and given[0] in _COMMANDS else _COMMANDS
    options = _parser(chosen).parse_args(given)
    try:
        options.execute(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output has left; the interpreter must not try to flush to it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if options.traceback:
            raise
        print(f"aten {options.command}: error: {_one_line(error)}", file=sys.stderr)
        return 2
    return 0


def _one_line(error: Exception) -> str:
    """What went wrong, in one line, with the notes about where in a program it happened."""
    if isinstance(error, OSError) and error.filename is not None:
        text = f"{os.fsdecode(error.filename)}: {error.strerror}"
    elif isinstance(error, MemoryError):
        text = f"out of memory: {error}" if str(error) else "out of memory"
    else:
        text = str(error) or type(error).__name__
    notes = [f"({note})" for note in getattr(error, "__notes__", ())]
    return " ".join(" ".join([text, *notes]).split())


if __name__ == "__main__":
    sys.exit(main())

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

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command. Returns the exit status: 0, or 2 after an error."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if arguments is None:
        # The process is the command's: what has been imported is looked through for garbage never
        # again, not even at its end.
        gc.freeze()
    options = _options(given)
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


def _options(given: list[str]) -> Any:
    """What a command line says. An ordinary one is read without argparse: importing that takes a
    tenth of the time to a program's first output."""
    if given[:1] == ["run"]:
        from aten.cli import run

        plain = run.plain_options(given[1:])
        if plain is not None:
            return plain
    from aten.cli.parsing import parsed

    return parsed(given)


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

"""What can go wrong with an exported program, as exceptions.

All of them are RuntimeErrors, as torch's are.
"""

from __future__ import annotations


class ExportError(RuntimeError):
    """An exported program cannot be read, or cannot be run as asked."""


class ArchiveError(ExportError):
    """The file is no readable archive: not a zip, cut short, compressed, damaged, or pickled."""


class FormatError(ExportError):
    """The archive is sound, but what it says of the program is not, or is not supported."""


class UnknownOperatorError(ExportError, NotImplementedError):
    """The program calls operators that are not there; the message names all of them."""


class InputError(ExportError, ValueError):
    """The inputs given are not the ones the program takes: number, type, dtype, rank, or size."""

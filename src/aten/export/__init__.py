"""Programs: modules exported, saved and read in torch's format, and run without torch.

program = aten.export.load("model.pt2")
print(program.graph)
outputs = program.module()(x)
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import IO, Any

from aten._core.base.device import device as Device  # noqa: N812
from aten.export.control import map, scan
from aten.export.dimensions import CaptureError, Dim, dims
from aten.graph import bundled, higher_order, program
from aten.graph.errors import (
    ArchiveError,
    ExportError,
    FormatError,
    InputError,
    UnknownOperatorError,
)
from aten.graph.program import ExportedProgram, ProgramModule
from aten.graph.reader import load_program
from aten.graph.signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymIntArgument,
    TensorArgument,
)

__all__ = [
    "ArchiveError",
    "CaptureError",
    "ConstantArgument",
    "Dim",
    "ExportError",
    "ExportGraphSignature",
    "ExportedProgram",
    "FormatError",
    "InputError",
    "InputKind",
    "InputSpec",
    "OutputKind",
    "OutputSpec",
    "ProgramModule",
    "SymIntArgument",
    "TensorArgument",
    "UnknownOperatorError",
    "dims",
    "export",
    "load",
    "map",
    "save",
    "scan",
]


def _decomposed(taken: ExportedProgram, to: str | None) -> ExportedProgram:
    from aten.export import decomposing

    return decomposing.decomposed(taken, to)


def _autocast(*settings: Any) -> AbstractContextManager[Any]:
    from aten import amp

    return amp.autocast(*settings)


# Programs are below what traces them, which is imported when it is first wanted.
program.set_decomposition(_decomposed)
higher_order.set_autocast(_autocast)


def load(
    f: str | os.PathLike[str] | IO[bytes],
    *,
    model: str = "model",
    verify: bool = True,
    mmap: bool = True,
    device: str | Device | None = None,
) -> ExportedProgram:
    """Reads a program from a `.pt2` file, in the training IR or in Core ATen.

    Weights are mapped from the file, copy-on-write, and not copied, unless `mmap` is False. Nothing
    is unpickled and nothing evaluated: a file that would need it is refused. Only running needs
    operators.

    Args:
        f: a path, or a binary file object, which is read into memory. A bare name that is not in
            the current folder may be a bundled example's, which is said on standard error.
        model: which program, where the archive holds several.
        verify: check the weights against their CRC-32, which reads all of them once.
        mmap: map the file. A process that reads weights from a mapped file which somebody has made
            shorter is ended by the system; with False, weights are read into memory of their own.
        device: where the program is to run; its weights are copied there. None: as it was saved.

    Raises:
        OSError: the file cannot be opened.
        ArchiveError: no zip, cut short, damaged, compressed, or with pickled contents.
        FormatError: the archive is sound, but what it says of the program is not, or not supported.

    Example:

        >>> type(aten.export.load("digits_cnn.pt2")).__name__
        'ExportedProgram'
    """
    file = bundled.find(f, sys.stderr) if isinstance(f, (str, os.PathLike)) else f
    made = load_program(file, model=model, verify=verify, mmap=mmap)
    return made if device is None else made.to(device)


def save(ep: ExportedProgram, f: str | os.PathLike[str] | IO[bytes]) -> None:
    """Writes a program to a `.pt2` file, which `load` reads, and `torch.export.load`.

    Weights are written as they lie in memory; those that share it go on doing so in the file.
    Nothing is pickled. A file of this name is replaced when all is written, so that weights mapped
    from it stay what they are. The same program gives the same bytes.

    Args:
        ep: the program, from `load` or `export`.
        f: a path, or a binary file object that can be written.

    Raises:
        OSError: the file cannot be written.
        FormatError: the program holds something that the format has no place for.

    Example:

        >>> import os, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "copy.pt2")
        >>> aten.export.save(aten.export.load("digits_cnn.pt2"), path)
        >>> aten.export.load(path).graph_signature.user_inputs
        ('x',)
        >>> folder.cleanup()
    """
    from aten.graph.writing.program import save_program

    save_program(ep, f)


def export(
    mod: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = False,
    preserve_module_call_signature: tuple[str, ...] = (),
) -> ExportedProgram:
    """A module's computation for arguments like these, as a program.

    The module runs on fake tensors: nothing is computed, and Python decides what it decides by
    types, sizes and numbers, which the program then checks of its inputs. Operators are functional;
    what is written to buffers and arguments is among the outputs. With `dynamic_shapes` the module
    runs at several sizes, and every number that depends on them becomes an expression. So it does
    where data choose sizes (`nonzero`, `x[mask]`), which are symbols `u0`, `u1`, ...

    Args:
        mod: a module, or a function of tensors.
        args: example positional arguments, nested of tuples, lists and dicts.
        kwargs: example keyword arguments.
        dynamic_shapes: for arguments by name or in order what their sizes are: a dict from
            dimension to `Dim`, a tuple with one for each dimension, or None; nested as the argument
            is.
        strict: not looked at; capture is always by running the module.
        preserve_module_call_signature: not supported, but for its default.

    Raises:
        CaptureError: the program depends on values of tensors, or on sizes that are to be dynamic,
            in a way that no graph has; the message names the line.

    Example:

        >>> batch = aten.export.Dim("batch", max=64)
        >>> layer = aten.nn.Linear(3, 2)
        >>> program = aten.export.export(layer, (aten.zeros(4, 3),), dynamic_shapes=({0: batch},))
        >>> program.describe_input("input")
        'float32[s0, 3] with s0 0..64'
        >>> program.module()(aten.zeros(7, 3)).shape
        aten.Size([7, 2])
    """
    if preserve_module_call_signature:
        raise NotImplementedError("export: preserve_module_call_signature is not supported")
    from aten.export.exporting import exported

    return exported(mod, args, kwargs, dynamic_shapes)

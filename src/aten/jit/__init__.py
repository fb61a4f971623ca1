"""Functions and modules as programs of their own: traced while they run, or scripted from source.

traced = aten.jit.trace(model, (x,))
scripted = aten.jit.script(model)
scripted.save("model.ptc")
model = aten.jit.load("model.ptc")
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any, Final

from aten._core.base.device import device as Device  # noqa: N812
from aten.graph.archive import Archive
from aten.graph.reader import load_program
from aten.jit import files, freezing, modules, state, tracing
from aten.jit.errors import ScriptError
from aten.jit.modules import (
    ScriptFunction,
    ScriptGraph,
    ScriptModule,
)
from aten.jit.state import is_scripting, is_tracing
from aten.jit.tracing import TracedModule, TracingCheckError
from aten.names import refusals
from aten.nn.modules.module import Module

__all__ = [
    "Final",
    "ScriptError",
    "ScriptFunction",
    "ScriptGraph",
    "ScriptModule",
    "TracedModule",
    "TracingCheckError",
    "export",
    "freeze",
    "ignore",
    "is_scripting",
    "is_tracing",
    "load",
    "save",
    "script",
    "trace",
    "unused",
]


def trace(
    func: Callable[..., Any],
    example_inputs: Any = None,
    check_trace: bool = True,
    check_tolerance: float = 1e-5,
    *,
    example_kwarg_inputs: Mapping[str, Any] | None = None,
    strict: bool = True,
) -> TracedModule:
    """The operators that a function or module calls for example inputs, as a module.

    It is run on fake tensors, and what Python decides by types, sizes and numbers is decided once
    for all; what it would decide by data is refused. Other sizes may be given later on: numbers
    made of sizes are computed from those given, where the function does the same for others. It is
    run several times for that. `save` writes a `.pt2` file.

    Args:
        example_inputs: a tensor, or a tuple of arguments.
        check_trace: run both once more, and compare; not where random numbers are drawn or buffers
            are written to.
        check_tolerance: how far results may differ, relative and absolute.
        example_kwarg_inputs: arguments by keyword.
        strict: not looked at; results may be nested of tuples, lists and dicts.

    Raises:
        aten.export.CaptureError: what the function does depends on data; the line is named.
        TracingCheckError: the function does not do the same again.

    Example:

        >>> traced = aten.jit.trace(lambda x: (x * 2).relu(), aten.ones(3))
        >>> traced(aten.tensor([-1.0, 4.0]))
        tensor([0., 8.])
    """
    given = () if example_inputs is None else example_inputs
    args = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    return tracing.traced(func, args, example_kwarg_inputs, check_trace, check_tolerance)


def script(obj: Any, **options: Any) -> Any:
    """A function or module as terms of its source, with its control flow, that run without Python.

    Scripted are if, while, for over ranges, tensors, lists, tuples, dicts and modules,
    comprehensions, early returns, asserts, raises, f-strings, calls of operators, of functions of
    `aten.nn.functional` and `math`, of other functions, of methods and of modules within.
    Parameters without annotations are tensors. Layers of `aten.nn` stay what they are.

    Raises:
        ScriptError: what is not understood, or has no one type, by file, line and column.
        TypeError: it is neither a function nor a module.

    Example:

        >>> def doubled(x, times: int):
        ...     for _ in range(times):
        ...         x = x * 2
        ...     return x
        >>> scripted = aten.jit.script(doubled)
        >>> scripted(aten.ones(2), 3)
        tensor([8., 8.])
        >>> print(scripted.graph)
        def doubled(x: Tensor, times: int) -> Tensor:
            for _ in range(times):
                x: Tensor = (x * 2)
            return x
        <BLANKLINE>
    """
    if isinstance(obj, (ScriptFunction, ScriptModule, TracedModule)):
        return obj
    if isinstance(obj, Module):
        return modules.Scripter().scripted(obj)
    if isinstance(obj, type):
        raise NotImplementedError("script: classes are not supported, modules and functions are")
    return modules.script_function(obj)


def freeze(mod: Module, preserved_attrs: Sequence[str] | None = None, **options: Any) -> Module:
    """A scripted or traced module, in evaluation, whose parameters are constants.

    Plain attributes that no method assigns to are constants of its methods, `training` among them,
    and of an if on one only the case that is taken is left.

    Args:
        preserved_attrs: attributes that stay.

    Raises RuntimeError for a module in training, and TypeError for one that is neither scripted nor
    traced.

    Example:

        >>> traced = aten.jit.trace(aten.nn.Linear(2, 1).eval(), aten.ones(1, 2))
        >>> len(list(aten.jit.freeze(traced.eval()).parameters()))
        0
    """
    if not isinstance(mod, (ScriptModule, TracedModule)):
        raise TypeError(f"freeze: expected a scripted or traced module, got {type(mod).__name__}")
    if mod.training:
        raise RuntimeError("freeze: the module is in training; call eval() first")
    return freezing.frozen(mod, preserved_attrs or ())


def save(m: Any, f: str | os.PathLike[str] | IO[bytes]) -> None:
    """Writes a scripted function or module to a file, or a traced one as a `.pt2`.

    Nothing is pickled. A file of this name is replaced when all is written.

    Raises OSError, TypeError for other things, and aten.export.FormatError for what has no place in
    a file.

    Example:

        >>> import os, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "double.pt2")
        >>> aten.jit.save(aten.jit.trace(lambda x: x * 2, aten.ones(2)), path)
        >>> aten.jit.load(path)(aten.ones(3))
        tensor([2., 2., 2.])
        >>> folder.cleanup()
    """
    if isinstance(m, TracedModule):
        m.program.save(f)
    elif isinstance(m, (ScriptFunction, ScriptModule)):
        files.save(m, f)
    else:
        raise TypeError(f"save: expected what was scripted or traced, got {type(m).__name__}")


def load(
    f: str | os.PathLike[str] | IO[bytes],
    map_location: str | Device | None = None,
    **options: Any,
) -> Any:
    """What `save` wrote. Nothing in the file is unpickled, evaluated or imported.

    Args:
        map_location: the device that tensors are to be on.

    Raises:
        OSError: the file cannot be opened.
        aten.export.ArchiveError: it is none of ours, or damaged; TorchScript's own files, which
            hold pickles and code, are not read.
        aten.export.FormatError: it says something that no program has.

    Example:

        >>> import io
        >>> file = io.BytesIO()
        >>> aten.jit.save(aten.jit.trace(aten.nn.ReLU(), aten.ones(2)), file)
        >>> file.seek(0)
        0
        >>> aten.jit.load(file)(aten.tensor([-1.0, 1.0]))
        tensor([0., 1.])
    """
    archive = Archive(f)
    if files.is_script(archive):
        made: Any = files.load(archive)
        return made.to(map_location) if map_location is not None and hasattr(made, "to") else made
    if not isinstance(f, (str, os.PathLike)):
        f.seek(0)
    program = load_program(f)
    if map_location is not None:
        program = program.to(map_location)
    return TracedModule(program, "program")


def unused(fn: Any) -> Any:
    """Marks a function or method that is not to be scripted; scripting a call of it is an error.

    Example:

        >>> @aten.jit.unused
        ... def shown(x):
        ...     print(x)
    """
    return state.mark(fn, "unused")


def export(fn: Any) -> Any:
    """Marks a method that is to be scripted though nothing calls it.

    Example:

        >>> class Head(aten.nn.Module):
        ...     @aten.jit.export
        ...     def width(self) -> int:
        ...         return 3
        >>> aten.jit.script(Head()).width()
        3
    """
    return state.mark(fn, "export")


def ignore(drop: Any = False, **options: Any) -> Any:
    """Marks a function or method that is not to be scripted; without one, a decorator.

    Example:

        >>> @aten.jit.ignore
        ... def shown(x):
        ...     print(x)
    """
    return state.mark(drop, "ignore") if callable(drop) else unused


def __getattr__(name: str) -> Any:
    refusals.refuse(__name__, name)

"""Programs for calls: a function is captured for arguments of one kind, and what came of it made
to run, with gradients where these are wanted, and for many sizes."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from aten._core.base.device import device, layout, memory_format
from aten._core.base.dtypes import dtype
from aten._core.base.errors import DataDependentOutputException, DynamicOutputShapeException
from aten._core.memory.storage import Storage
from aten._core.tensor.tensor import Tensor
from aten.compiler import UnsupportedCaptureError, state
from aten.compiler.capture import captured
from aten.compiler.differentiation import (
    DifferentiableProgram,
    UnsupportedProgramError,
    differentiable,
)
from aten.compiler.dynamic import DynamicProgram, Symbols, symbols_for
from aten.compiler.kinds import Watched, name_of, share_memory
from aten.compiler.programs import CompiledProgram
from aten.compiler.rewrites.choosing import Choices
from aten.compiler.rewrites.passes import writes
from aten.compiler.rewrites.rewriting import handed_out, with_copies, written_inputs
from aten.compiler.surroundings import LAZY, PLAIN, Surroundings
from aten.grad_mode import is_grad_enabled
from aten.graph.symbolic import SymbolicError
from aten.transforms.recording import Recording
from aten.transforms.symbols.environment import ShapeEnvironment
from aten.transforms.symbols.numbers import SymFloat, SymInt
from aten.utils._pytree import tree_leaves


class NoProgramError(RuntimeError):
    """Calls of a kind run eagerly, and why.

    Attributes:
        is_change: another call may be captured.
        has_parts: what comes before data decides may be a program.
    """

    def __init__(self, reason: str, *, is_change: bool = False, has_parts: bool = False) -> None:
        super().__init__(reason)
        self.is_change = is_change
        self.has_parts = has_parts


class SizesError(RuntimeError):
    """There is no program of many sizes, and why."""


def surroundings_of(function: Callable[..., Any], others: list[Any]) -> Surroundings:
    """What a function and its arguments that are no tensors can reach."""
    surroundings = Surroundings()
    surroundings.visit(function)
    surroundings.visit(tuple(others))
    return surroundings


def program_of(
    function: Callable[..., Any],
    leaves: list[Any],
    structure: Any,
    surroundings: Surroundings,
    choices: Choices,
) -> CompiledProgram | DifferentiableProgram:
    """The program of a call. Raises NoProgramError."""
    tensors = [one for one in leaves if isinstance(one, Tensor)]
    try:
        recording = _recording(function, leaves, structure, surroundings)
    except (DataDependentOutputException, DynamicOutputShapeException) as error:
        raise NoProgramError(_place_of(error), has_parts=True) from error
    except UnsupportedCaptureError as error:
        raise NoProgramError(str(error)) from error
    except _ChangeError as error:
        raise NoProgramError(str(error), is_change=True) from error
    except Exception as error:
        # If it is no fault of the capture, the eager call raises it.
        raise NoProgramError(f"{type(error).__name__}: {_place_of(error)}") from error
    if share_memory(tensors) and writes(recording.graph):
        raise NoProgramError("arguments share memory, and are written to")
    if is_grad_enabled() and any(one.requires_grad for one in (*tensors, *recording.constants)):
        if surroundings.uses_functions:
            raise NoProgramError("an autograd.Function has derivatives of its own")
        try:
            return differentiable(recording, tensors)
        except UnsupportedProgramError as error:
            raise NoProgramError(str(error)) from error
    return CompiledProgram(recording.graph, recording.constants, recording.results, choices=choices)


def program_of_sizes(
    function: Callable[..., Any],
    leaves: list[Any],
    structure: Any,
    surroundings: Surroundings,
    is_moving: Callable[[int, int], bool],
) -> DynamicProgram | None:
    """A program for all sizes that are moving, by the places of tensors and dimensions; None where
    there is none, and the program of one size says why. Raises SizesError where it does not."""
    tensors = [one for one in leaves if isinstance(one, Tensor)]
    if share_memory(tensors):
        return None
    environments: list[ShapeEnvironment] = []

    def symbols() -> Symbols:
        environments.append(ShapeEnvironment(are_texts_of_numbers=True))
        return symbols_for(environments[-1], tensors, is_moving)

    operands = [*tensors, *surroundings.tensors()]
    if not symbols() or (is_grad_enabled() and any(one.requires_grad for one in operands)):
        return None
    try:
        recording = _recording(function, leaves, structure, surroundings, symbols)
        if surroundings.asks_of_sizes:
            raise SizesError(f"it may ask {surroundings.asks_of_sizes}")
        if is_grad_enabled() and any(one.requires_grad for one in recording.constants):
            return None
        return DynamicProgram(recording, environments[-1], len(tensors))
    except SizesError:
        raise
    except (SymbolicError, NotImplementedError) as error:
        raise SizesError(str(error)) from error
    except Exception:  # Of one size, too: it is said there.
        return None


def _recording(
    function: Callable[..., Any],
    leaves: list[Any],
    structure: Any,
    surroundings: Surroundings,
    symbols: Callable[[], Symbols] = dict,
) -> Recording:
    """The function on these arguments, once nothing but computing came of it.

    Raises what `captured` does, and _ChangeError where the function changed what is around it,
    which is as before then.
    """
    if surroundings.is_unfinished:
        raise _ChangeError(LAZY)
    surroundings.require_computing()
    state.capturing = True
    try:
        while True:
            known = surroundings.tensors()
            read: list[Storage] = []
            is_other = False
            try:
                with surroundings:
                    recording = captured(function, leaves, structure, known, symbols(), read)
            finally:
                changed = surroundings.changed()
                surroundings.restore(changed)
                is_other = surroundings.put_tensors_back()
            if is_other:
                raise _ChangeError(
                    "it changes sizes, memory, gradients or attributes of a tensor around it"
                )
            _require_computing_only(recording, surroundings, changed)
            # Tensors that were found on the way are known from the start the next time.
            if len(surroundings.tensors()) == len(known):
                _require_known_gradients(leaves, surroundings)
                surroundings.note_classes()
                surroundings.note_tensors(read)
                return _with_own_tensors(recording, surroundings)
    finally:
        state.capturing = False


class _ChangeError(RuntimeError):
    """The function changed what is around it."""


def _require_computing_only(
    recording: Recording, surroundings: Surroundings, changed: list[Watched]
) -> None:
    """Raises _ChangeError where a function that was recorded changed what is around it, and
    UnsupportedCaptureError where it may give something else the next time, or gave objects that a
    program cannot make."""
    surroundings.require_computing()
    if changed:
        raise _ChangeError(f"it changes {', '.join(map(name_of, changed[:3]))}")
    for one in tree_leaves(recording.results):
        if not isinstance(one, Tensor) and not _is_described(one) and not surroundings.has(one):
            raise UnsupportedCaptureError(f"it returns a {type(one).__name__} of its own")


def _with_own_tensors(recording: Recording, surroundings: Surroundings) -> Recording:
    """The recording with copies, for each call, of tensors that the function itself makes of
    Python numbers, where it writes to them or returns them."""
    graph = recording.graph
    if not recording.constants:
        return recording
    inputs = graph.placeholders[-len(recording.constants) :]
    changing = written_inputs(graph) | handed_out(graph)
    pairs = zip(inputs, recording.constants, strict=True)
    made = {node for node, one in pairs if node in changing and not surroundings.has_tensor(one)}
    if not made:
        return recording
    return Recording(with_copies(graph, made), recording.constants, recording.results)


def _require_known_gradients(leaves: list[Any], surroundings: Surroundings) -> None:
    """Raises UnsupportedCaptureError where a function may read gradients of its arguments."""
    if "grad" in surroundings.names and any(
        isinstance(one, Tensor) and one.is_leaf and (one.requires_grad or one.grad is not None)
        for one in leaves
    ):
        raise UnsupportedCaptureError("it may read the gradient of an argument")


def _is_described(value: Any) -> bool:
    """Whether a result that is no tensor can be handed out again: it has no tensors within."""
    # Symbolic numbers are numbers again when a program is bound to sizes.
    return isinstance(
        value, (*PLAIN, SymInt, SymFloat, dtype, device, layout, memory_format, Enum, type)
    )


def _place_of(error: BaseException) -> str:
    """What depends on data, and the line of the program that asks for it."""
    where = ""
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_globals.get("__name__", "")
        if not name.startswith("aten.") and name != "aten":
            where = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"{error} ({where})" if where else str(error)

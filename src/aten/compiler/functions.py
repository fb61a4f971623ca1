"""`aten.compile`: functions and modules that are captured, fused and replayed."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import update_wrapper
from types import MethodType
from typing import Any, NamedTuple

from aten._core.base.device import device, layout, memory_format
from aten._core.base.dtypes import dtype, get_default_dtype
from aten._core.base.errors import DataDependentOutputException, DynamicOutputShapeException
from aten._core.base.keys import thread_included
from aten._core.dispatch.dispatcher import registrations_so_far
from aten._core.dispatch.replaying import CallGuard, holds
from aten._core.memory.collecting import resting
from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.folding.plan import is_plain
from aten.compiler import UnsupportedCaptureError, state
from aten.compiler.capture import captured
from aten.compiler.differentiation import (
    DifferentiableProgram,
    UnsupportedProgramError,
    differentiable,
)
from aten.compiler.dynamic import BoundProgram, DynamicProgram, Kind, Symbols, symbols_for
from aten.compiler.parted import parted
from aten.compiler.programs import CompiledProgram
from aten.compiler.rewrites.choosing import Choices
from aten.compiler.rewrites.passes import writes
from aten.compiler.surroundings import PLAIN, Surroundings, Watched
from aten.compiler.tuning import MeasuredChoices
from aten.grad_mode import is_grad_enabled, is_inference_mode_enabled
from aten.graph.symbolic import SymbolicError
from aten.transforms.recording import Recording
from aten.transforms.symbols.environment import ShapeEnvironment
from aten.transforms.symbols.numbers import SymFloat, SymInt
from aten.utils._pytree import tree_flatten, tree_leaves

# torch's modes, by who chooses where there are two ways. Nothing else is left to choose.
MODES: dict[str | None, type[Choices]] = {
    None: Choices,
    "default": Choices,
    "reduce-overhead": Choices,
    "max-autotune": MeasuredChoices,
    "max-autotune-no-cudagraphs": MeasuredChoices,
}
# Programs one function keeps; the one used longest ago goes.
MAXIMUM_PROGRAMS = 64
# Captures of one function; calls of further kinds run eagerly.
MAXIMUM_CAPTURES = 64
# Programs in turn for one kind of call, because what the function reads besides had changed, until
# such calls run eagerly.
MAXIMUM_RENEWALS = 16
# Programs of many sizes for one kind of call.
MAXIMUM_DYNAMIC = 12
# Kinds of calls that are found without looking for them.
MAXIMUM_GUARDS = 4
functions: weakref.WeakSet[CompiledFunction] = weakref.WeakSet()


Program = CompiledProgram | DifferentiableProgram | BoundProgram


class Break(NamedTuple):
    """Why calls of some kind run eagerly. `is_change`: another call may be captured. `instead` is
    what they call: the function, or the same with a part of it compiled."""

    reason: str
    is_change: bool
    instead: Callable[..., Any]

    def stands(self) -> bool:
        return True


@dataclass(slots=True)
class _Entry:
    """A program, what it was captured with, and the registrations it was last looked at with.

    `kept` are arguments that are known by their identity.
    """

    program: Program | Break
    watched: list[Watched]
    registrations: int
    kept: list[Any]

    def holds(self) -> bool:
        now = registrations_so_far()
        if now != self.registrations:
            if not self.program.stands():
                return False
            self.registrations = now
        return holds(self.watched)


class CompiledFunction:
    """A function whose calls are replayed from captured programs.

    One program serves calls with arguments of the same structure, whose tensors have the same
    dtypes, sizes and strides and whose other arguments are equal, while what the function names
    besides (a module's tensors and settings, variables around it) is what it was. Sizes that were
    not always the same are symbols, so that a program serves many of them.

    Attributes:
        recompilations: why programs were made after the first, one text each.
        breaks: why calls ran eagerly, one text for each kind of call.
        parts: what was compiled of a function that runs eagerly as a whole.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        fullgraph: bool = False,
        dynamic: bool | None = None,
        mode: str | None = None,
    ) -> None:
        self.function = function
        self.fullgraph = fullgraph
        self.dynamic = dynamic
        self.mode = mode
        self.recompilations: list[str] = []
        self.breaks: list[str] = []
        self._entries: OrderedDict[Any, _Entry] = OrderedDict()
        # Programs of many sizes, for calls of one size each; and the programs, by kinds of calls.
        self._bound: OrderedDict[Any, _Entry] = OrderedDict()
        self._kinds: OrderedDict[Any, Kind] = OrderedDict()
        self._captures = 0
        self._latest: tuple[tuple[CallGuard, Program], ...] = ()
        self._renewals: dict[Any, int] = {}
        self._parted: Callable[..., Any] | None = None
        self.parts: list[CompiledFunction] = []
        update_wrapper(self, function, updated=())
        functions.add(self)

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for guard, program in () if kwargs else self._latest:
            found = guard.tensors(args)
            if found is not None:
                return program(found)
        # Modes and autocast are keys of the thread: they decide what each operator is.
        if state.capturing or thread_included():
            return self.function(*args, **kwargs)
        entry, tensors = self._entry(args, kwargs)
        if isinstance(entry.program, Break):
            return entry.program.instead(*args, **kwargs)
        if not kwargs:
            self._expect(args, tensors, entry)
        return entry.program(tensors)

    def capture(self, *args: Any) -> None:
        """Have a program for these arguments, which is not run."""
        self._entry(args, {})

    def _entry(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[_Entry, list[Tensor]]:
        leaves, structure = tree_flatten((args, kwargs))
        tensors = [one for one in leaves if isinstance(one, Tensor)]
        key = (structure, (*self._state(), _share_memory(tensors)), *map(_described, leaves))
        entry = self._entries.get(key) or self._bound.get(key)
        if entry is None or not entry.holds():
            with resting:
                entry = self._found(key, leaves, structure, tensors)
        return entry, tensors

    def _expect(self, args: tuple[Any, ...], tensors: list[Tensor], entry: _Entry) -> None:
        """Let calls like this one find the program at once, if nothing else is to be looked at."""
        program = entry.program
        if isinstance(program, Break) or (program.writes and len(tensors) > 1):
            return
        try:
            guard = CallGuard(args, entry.watched)
        except TypeError:
            return
        self._latest = ((guard, program), *self._latest[: MAXIMUM_GUARDS - 1])

    def forget(self) -> None:
        """Drop all programs and what was said of them."""
        self._entries.clear()
        self._bound.clear()
        self._kinds.clear()
        self._captures = 0
        self._latest = ()
        self._renewals.clear()
        self.recompilations.clear()
        self.breaks.clear()
        self.parts.clear()
        self._parted = None

    def _state(self) -> tuple[Any, ...]:
        """What besides arguments decides what a call does, and changes often."""
        training = getattr(self.function, "training", None)
        return is_grad_enabled(), is_inference_mode_enabled(), get_default_dtype(), training

    def programs(self) -> list[CompiledProgram]:
        """The programs in use, the latest last."""
        found: list[CompiledProgram] = []
        for entry in self._entries.values():
            if isinstance(entry.program, DifferentiableProgram):
                found += (entry.program.onward, entry.program.back)
            elif isinstance(entry.program, CompiledProgram):
                found.append(entry.program)
        for kind in self._kinds.values():
            found += [program.program for program, _ in kind.programs]
        for part in self.parts:
            found += part.programs()
        return found

    def dynamic_programs(self) -> list[DynamicProgram]:
        """The programs for many sizes that are in use."""
        return [program for kind in self._kinds.values() for program, _ in kind.programs]

    def _found(self, key: Any, leaves: list[Any], structure: Any, tensors: list[Tensor]) -> _Entry:
        """The entry for calls like this one: of a program of many sizes, or captured now."""
        kind = self._kind(key, leaves, tensors)
        reasons = []
        for program, made in kind.programs if kind is not None else ():
            if not made.holds():
                continue
            bound = program.bound(tensors)
            if isinstance(bound, BoundProgram):
                entry = _Entry(bound, made.watched, made.registrations, made.kept)
                return _keep(self._bound, key, entry)
            reasons.append(bound)
        if self._captures >= MAXIMUM_CAPTURES:
            reached = self._break(f"more than {MAXIMUM_CAPTURES} captures", None)
            if reached.reason not in self.breaks:
                self.breaks.append(reached.reason)
            return _Entry(reached, [], 0, [])
        if self._captures:
            self.recompilations.append(reasons[-1] if reasons else self._difference(key))
        self._captures += 1
        return self._compiled(key, leaves, structure, tensors, kind)

    def _kind(self, key: Any, leaves: list[Any], tensors: list[Tensor]) -> Kind | None:
        """Calls like this one but for sizes; None where each size is to have its own program."""
        if self.dynamic is False or not tensors or _unfit(tensors):
            return None
        alike = (key[0], key[1], *map(_described_but_for_sizes, leaves))
        kind = self._kinds.setdefault(alike, Kind(tensors))
        self._kinds.move_to_end(alike)
        kind.note(tensors)
        if len(self._kinds) > MAXIMUM_PROGRAMS:
            self._kinds.popitem(last=False)
        return kind

    def _compiled(
        self,
        key: Any,
        leaves: list[Any],
        structure: Any,
        tensors: list[Tensor],
        kind: Kind | None,
    ) -> _Entry:
        renewals = self._renewals[key] = self._renewals.get(key, -1) + 1
        kept = [one for one in leaves if not isinstance(one, Tensor)]
        now = registrations_so_far()
        is_dynamic = kind is not None and (self.dynamic or kind.moving)
        # Where every size needs conditions of its own, programs of one size are made sooner.
        if kind is not None and is_dynamic and len(kind.programs) < MAXIMUM_DYNAMIC:
            surroundings = self._surroundings(kept)
            made = self._dynamic(leaves, structure, tensors, kind, surroundings)
            bound = made.bound(tensors) if made is not None else ""
            if made is not None and isinstance(bound, BoundProgram):
                entry = _Entry(bound, surroundings.places, now, kept)
                kind.programs = [(made, entry), *kind.programs[: MAXIMUM_PROGRAMS - 1]]
                return _keep(self._bound, key, entry)
        surroundings = self._surroundings(kept)
        if renewals > MAXIMUM_RENEWALS:
            program: Any = self._break("what it reads besides arguments changes all the time", None)
        else:
            program = self._program(leaves, structure, tensors, surroundings)
        is_program = not isinstance(program, Break)
        entry = _Entry(program, surroundings.places if is_program else [], now, kept)
        if isinstance(program, Break):
            self.breaks.append(program.reason)
            # What is made by the first call and kept for others may be there for the next one.
            if program.is_change and not renewals:
                return entry
        return _keep(self._entries, key, entry)

    def _surroundings(self, others: list[Any]) -> Surroundings:
        """What the function and its arguments that are no tensors can reach."""
        surroundings = Surroundings()
        surroundings.visit(self.function)
        surroundings.visit(tuple(others))
        return surroundings

    def _dynamic(
        self,
        leaves: list[Any],
        structure: Any,
        tensors: list[Tensor],
        kind: Kind,
        surroundings: Surroundings,
    ) -> DynamicProgram | None:
        """A program for many sizes; None where there is none, and the program of one size says
        why."""
        if _share_memory(tensors):
            return None
        environments: list[ShapeEnvironment] = []

        def symbols() -> Symbols:
            environments.append(ShapeEnvironment())
            return symbols_for(
                environments[-1],
                tensors,
                lambda place, dim: bool(self.dynamic) or (place, dim) in kind.moving,
            )

        operands = [*tensors, *surroundings.tensors()]
        if not symbols() or (is_grad_enabled() and any(one.requires_grad for one in operands)):
            return None
        try:
            recording = self._recording(leaves, structure, surroundings, symbols)
            if is_grad_enabled() and any(one.requires_grad for one in recording.constants):
                return None
            return DynamicProgram(recording, environments[-1], len(tensors))
        except (SymbolicError, NotImplementedError) as error:
            self.breaks.append(f"each size has a program of its own: {error}")
        except Exception:  # Of one size, too: it is said there.
            return None
        return None

    def _program(
        self, leaves: list[Any], structure: Any, tensors: list[Tensor], surroundings: Surroundings
    ) -> CompiledProgram | DifferentiableProgram | Break:
        reason = _unfit(tensors)
        if reason:
            return self._break(reason, None)
        try:
            recording = self._recording(leaves, structure, surroundings)
        except (DataDependentOutputException, DynamicOutputShapeException) as error:
            return self._break(_place_of(error), error)._replace(instead=self._with_parts())
        except UnsupportedCaptureError as error:
            return self._break(str(error), error)
        except _ChangeError as error:
            return self._break(str(error), error, is_change=True)
        except Exception as error:
            # If it is no fault of the capture, the eager call raises it.
            return self._break(f"{type(error).__name__}: {_place_of(error)}", error)
        if _share_memory(tensors) and writes(recording.graph):
            return self._break("arguments share memory, and are written to", None)
        if is_grad_enabled() and any(one.requires_grad for one in (*tensors, *recording.constants)):
            if surroundings.uses_functions:
                return self._break("an autograd.Function has derivatives of its own", None)
            try:
                return differentiable(recording, tensors)
            except UnsupportedProgramError as error:
                return self._break(str(error), error)
        choices = MODES[self.mode]()
        return CompiledProgram(
            recording.graph, recording.constants, recording.results, choices=choices
        )

    def _recording(
        self,
        leaves: list[Any],
        structure: Any,
        surroundings: Surroundings,
        symbols: Callable[[], Symbols] = dict,
    ) -> Recording:
        """The function on these arguments, once nothing but computing came of it.

        Raises what `captured` does, and _ChangeError where the function changed what is around it,
        which is as before then.
        """
        surroundings.require_computing()
        state.capturing = True
        try:
            while True:
                known = surroundings.tensors()
                try:
                    with surroundings:
                        given = symbols()
                        recording = captured(self.function, leaves, structure, known, given)
                finally:
                    changed = surroundings.changed()
                    surroundings.restore(changed)
                _require_computing_only(recording, surroundings, changed)
                # Tensors that were found on the way are known from the start the next time.
                if len(surroundings.tensors()) == len(known):
                    return recording
        finally:
            state.capturing = False

    def _break(self, reason: str, error: Exception | None, *, is_change: bool = False) -> Break:
        if self.fullgraph:
            name = getattr(self.function, "__qualname__", type(self.function).__name__)
            raise RuntimeError(f"aten.compile: {name} is not one graph: {reason}") from error
        return Break(reason, is_change, self.function)

    def _with_parts(self) -> Callable[..., Any]:
        """The function with what can be captured of it compiled, as far as that is known."""
        if self._parted is None:
            self._parted = parted(self.function, self._part)
        return self._parted or self.function

    def _part(self, function: Callable[..., Any]) -> CompiledFunction:
        self.parts = [CompiledFunction(function, dynamic=self.dynamic, mode=self.mode)]
        return self.parts[0]

    def _difference(self, key: Any) -> str:
        if key in self._entries:
            found = [one for one in self._entries[key].watched if not holds([one])]
            changed = [_name_of(one) for one in found]
            return f"changed: {', '.join(changed) or 'kernels of operators'}"
        if not self._entries:
            return "arguments of another structure"
        latest = next(reversed(self._entries))
        places = [
            place for place, pair in enumerate(zip(latest, key, strict=False)) if pair[0] != pair[1]
        ]
        if places and places[0] >= 2:
            place = places[0]
            return f"argument {place - 2}: {latest[place]} became {key[place]}"
        return "arguments of another structure, or another state of gradients or default type"


def _described(value: Any) -> Any:
    if isinstance(value, Tensor):
        return (
            value.dtype,
            tuple(value.shape),
            value.stride(),
            value.device,
            value.requires_grad,
            is_plain(value),
        )
    if isinstance(value, float):
        return type(value), value.hex()
    if isinstance(value, complex):
        return type(value), value.real.hex(), value.imag.hex()
    if _is_known_by_identity(value):
        return type(value), id(value)
    return type(value), value


def _described_but_for_sizes(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.dtype, value.dim(), value.device, value.requires_grad, is_plain(value)
    return _described(value)


def _keep(entries: OrderedDict[Any, _Entry], key: Any, entry: _Entry) -> _Entry:
    entries[key] = entry
    entries.move_to_end(key)
    while len(entries) > MAXIMUM_PROGRAMS:
        entries.popitem(last=False)
    return entry


def _is_known_by_identity(value: Any) -> bool:
    """Whether equal objects may differ, or are not known to be equal."""
    kind: Any = type(value)
    if kind.__hash__ is object.__hash__:
        return True
    try:
        hash(value)
    except TypeError:
        return True
    return False


def _is_described(value: Any) -> bool:
    """Whether a result that is no tensor can be handed out again: it has no tensors within."""
    # Symbolic numbers are numbers again when a program is bound to sizes.
    return isinstance(
        value, (*PLAIN, SymInt, SymFloat, dtype, device, layout, memory_format, Enum, type)
    )


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
        raise _ChangeError(f"it changes {', '.join(map(_name_of, changed[:3]))}")
    for one in tree_leaves(recording.results):
        if not isinstance(one, Tensor) and not _is_described(one) and not surroundings.has(one):
            raise UnsupportedCaptureError(f"it returns a {type(one).__name__} of its own")


def _name_of(place: Watched) -> str:
    """A place as messages say it."""
    if place.name is None:
        return f"a {type(place.namespace).__name__}"
    return str(place.name)


def _unfit(tensors: list[Tensor]) -> str:
    """Why a call is not captured, or nothing."""
    for place, one in enumerate(tensors):
        if not is_plain(one):
            return f"argument {place} is not a plain tensor on the CPU"
    return ""


def _share_memory(tensors: list[Tensor]) -> bool:
    return len({id(one.untyped_storage()) for one in tensors}) < len(tensors)


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

"""`aten.compile`: functions and modules that are captured, fused and replayed."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial, update_wrapper
from types import MethodType
from typing import Any, NamedTuple

from aten._core.base.dtypes import get_default_dtype
from aten._core.base.keys import gradient_modes, set_gradient_modes, thread_included
from aten._core.dispatch.dispatcher import registrations_so_far
from aten._core.dispatch.replaying import CallGuard, holds
from aten._core.memory.collecting import resting
from aten._core.tensor.construct import empty_strided
from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.folding.plan import is_plain
from aten.compiler import state
from aten.compiler.files import kept
from aten.compiler.kinds import (
    Kind,
    described,
    described_but_for_sizes,
    leaves_but_tensors,
    name_of,
    places_of_program,
    share_memory,
)
from aten.grad_mode import is_grad_enabled, is_inference_mode_enabled
from aten.graph.program import ProgramModule
from aten.utils._pytree import tree_flatten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from aten.compiler.differentiation import DifferentiableProgram
    from aten.compiler.dynamic import BoundProgram, DynamicProgram
    from aten.compiler.kinds import Watched
    from aten.compiler.programs import CompiledProgram
    from aten.compiler.rewrites.choosing import Choices
    from aten.compiler.surroundings import Surroundings

    Program: TypeAlias = CompiledProgram | kept.KeptProgram | DifferentiableProgram | BoundProgram

# torch's modes; in some both ways are measured where there are two. Nothing else is left to choose.
MODES = (None, "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
MEASURING = frozenset({"max-autotune", "max-autotune-no-cudagraphs"})
# Programs one function keeps; the one used longest ago goes.
MAXIMUM_PROGRAMS = 64
# Captures of one function; calls of further kinds run eagerly.
MAXIMUM_CAPTURES = 64
# Programs in turn for one kind of call, because what the function reads besides had changed, until
# such calls run eagerly.
MAXIMUM_RENEWALS = 16
# Programs of many sizes for one kind of call.
MAXIMUM_DYNAMIC = 12
# Captures of one function that are kept for other processes.
MAXIMUM_KEPT = 8
# Kinds of calls that are found without looking for them.
MAXIMUM_GUARDS = 4
functions: weakref.WeakSet[CompiledFunction] = weakref.WeakSet()


class Break(NamedTuple):
    """Why calls of some kind run eagerly. `is_change`: another call may be captured. `instead` is
    what they call: the function, or the same with a part of it compiled."""

    reason: str
    is_change: bool
    instead: Callable[..., Any]

    def stands(self) -> bool:
        return True


class _Entry:
    """A program, what it was captured with, and the registrations it was last looked at with.

    `kept` are arguments that are known by their identity.
    """

    __slots__ = ("kept", "program", "registrations", "watched")

    def __init__(
        self,
        program: Program | Break,
        watched: list[Watched],
        registrations: int,
        kept: list[Any],
    ) -> None:
        self.program = program
        self.watched = watched
        self.registrations = registrations
        self.kept = kept

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
        if entry.program.writes and _meet_constants(tensors, entry.program):
            return self.function(*args, **kwargs)
        if not kwargs:
            self._expect(args, tensors, entry)
        return entry.program(tensors)

    def capture(self, *args: Any) -> None:
        """Have a program for these arguments, which is not run."""
        self._entry(args, {})

    def _entry(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[_Entry, list[Tensor]]:
        leaves, structure = tree_flatten((args, kwargs))
        tensors = [one for one in leaves if isinstance(one, Tensor)]
        key = (structure, (*self._state(), share_memory(tensors)), *map(described, leaves))
        entry = self._entries.get(key) or self._bound.get(key)
        if entry is None or not entry.holds():
            with resting:
                entry = self._found(key, leaves, structure, tensors)
        return entry, tensors

    def _expect(self, args: tuple[Any, ...], tensors: list[Tensor], entry: _Entry) -> None:
        """Let calls like this one find the program at once, if nothing else is to be looked at."""
        program = entry.program
        if isinstance(program, Break):
            return
        # Which memory arguments share is looked at in every call.
        if program.writes and len(tensors) + len(constants_of(program)) > 1:
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
        from aten.compiler.differentiation import DifferentiableProgram
        from aten.compiler.programs import CompiledProgram

        found: list[CompiledProgram] = []
        for entry in self._entries.values():
            if isinstance(entry.program, DifferentiableProgram):
                found += (entry.program.onward, entry.program.back)
            elif isinstance(entry.program, CompiledProgram):
                found.append(entry.program)
            elif isinstance(entry.program, kept.KeptProgram):
                found.append(entry.program.origin)
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
            if not isinstance(bound, str):
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
        alike = (key[0], key[1], *map(described_but_for_sizes, leaves))
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
        now = registrations_so_far()
        is_dynamic = kind is not None and (self.dynamic or kind.moving)
        # Where every size needs conditions of its own, programs of one size are made sooner.
        if kind is not None and is_dynamic and len(kind.programs) < MAXIMUM_DYNAMIC:
            entry = self._dynamic(leaves, structure, tensors, kind, now)
            if entry is not None:
                return _keep(self._bound, key, entry)
        if renewals > MAXIMUM_RENEWALS:
            reason = "what it reads besides arguments changes all the time"
            entry = _Entry(self._break(reason, None), [], now, leaves_but_tensors(leaves))
        else:
            entry = self._entry_of(leaves, structure, tensors, now)
        if isinstance(entry.program, Break):
            self.breaks.append(entry.program.reason)
            # What is made by the first call and kept for others may be there for the next one.
            if entry.program.is_change and not renewals:
                return entry
        return _keep(self._entries, key, entry)

    def _dynamic(
        self, leaves: list[Any], structure: Any, tensors: list[Tensor], kind: Kind, now: int
    ) -> _Entry | None:
        """An entry with a program of many sizes, bound to those of the call."""
        from aten.compiler import making

        others = leaves_but_tensors(leaves)
        surroundings = making.surroundings_of(self.function, others)

        def is_moving(place: int, dim: int) -> bool:
            return bool(self.dynamic) or (place, dim) in kind.moving

        given = (self.function, leaves, structure, surroundings, is_moving)
        try:
            made = making.program_of_sizes(*given)
        except making.SizesError as error:
            self.breaks.append(f"each size has a program of its own: {error}")
            return None
        bound = made.bound(tensors) if made is not None else ""
        if made is None or isinstance(bound, str):
            return None
        entry = _Entry(bound, surroundings.places, now, others)
        kind.programs = [(made, entry), *kind.programs[: MAXIMUM_PROGRAMS - 1]]
        return entry

    def _entry_of(
        self, leaves: list[Any], structure: Any, tensors: list[Tensor], now: int
    ) -> _Entry:
        """An entry with the program of a call, kept by an earlier process or captured."""
        others = leaves_but_tensors(leaves)
        reason = _unfit(tensors)
        if reason:
            return _Entry(self._break(reason, None), [], now, others)
        name = self._name_of_kept(leaves, structure, tensors)
        found = kept.read(name, self.function) if name is not None else None
        if found is not None and found.stands():
            found.captured = self._capture_of(leaves, structure)
            # An exported program reads nothing besides its tensors.
            return _Entry(found, places_of_program(self.function), now, others)
        known = self._without_capture()
        if known is not None:
            return _Entry(known, [], now, others)
        from aten.compiler import making

        surroundings = making.surroundings_of(self.function, others)
        made = self._captured(leaves, structure, surroundings)
        if isinstance(made, Break):
            return _Entry(made, [], now, others)
        if name is not None:
            from aten.compiler.files.keeping import keep_when_run

            keep_when_run(name, made, self.function, len(tensors))
        return _Entry(made, surroundings.places, now, others)

    def _captured(
        self, leaves: list[Any], structure: Any, surroundings: Surroundings
    ) -> Program | Break:
        from aten.compiler import making

        choices = chooser(self.mode)()
        try:
            return making.program_of(self.function, leaves, structure, surroundings, choices)
        except making.NoProgramError as error:
            made = self._break(str(error), error.__cause__, is_change=error.is_change)
            return made._replace(instead=self._with_parts()) if error.has_parts else made

    def _capture_of(self, leaves: list[Any], structure: Any) -> Callable[[], Any]:
        """Captures the program of such a call, now or later."""
        makers = [_maker(one) if isinstance(one, Tensor) else one for one in leaves]
        modes = gradient_modes()

        def capture() -> Any:
            from aten.compiler import making

            given = [one() if isinstance(one, partial) else one for one in makers]
            now = gradient_modes()
            set_gradient_modes(*modes)
            try:
                surroundings = making.surroundings_of(self.function, [])
                return self._captured(given, structure, surroundings)
            finally:
                set_gradient_modes(*now)

        return capture

    def _name_of_kept(self, leaves: list[Any], structure: Any, tensors: list[Tensor]) -> str | None:
        """The file with the program of such a call, where there may be one."""
        if self.mode in MEASURING or self._captures > MAXIMUM_KEPT:
            return None
        around = (*self._state(), share_memory(tensors))
        return kept.name_of(self.function, leaves, structure, around)

    def _break(self, reason: str, error: BaseException | None, *, is_change: bool = False) -> Break:
        if self.fullgraph:
            name = getattr(self.function, "__qualname__", type(self.function).__name__)
            raise RuntimeError(f"aten.compile: {name} is not one graph: {reason}") from error
        return Break(reason, is_change, self.function)

    def _without_capture(self) -> Break | None:
        """Why there is no program, where nobody has to capture the function to find out."""
        if type(self.function) is not ProgramModule:
            return None
        from aten.compiler.parted import unknown_size

        reason = unknown_size(self.function.program.graph)
        if not reason:
            return None
        return self._break(reason, None)._replace(instead=self._with_parts())

    def _with_parts(self) -> Callable[..., Any]:
        """The function with what can be captured of it compiled, as far as that is known."""
        from aten.compiler.parted import parted

        if self._parted is None:
            self._parted = parted(self.function, self._part)
        return self._parted or self.function

    def _part(self, function: Callable[..., Any]) -> CompiledFunction:
        self.parts = [CompiledFunction(function, dynamic=self.dynamic, mode=self.mode)]
        return self.parts[0]

    def _difference(self, key: Any) -> str:
        if key in self._entries:
            found = [one for one in self._entries[key].watched if not holds([one])]
            changed = [name_of(one) for one in found]
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


def constants_of(program: Program) -> Sequence[Tensor]:
    """The tensors that a program uses besides its arguments."""
    from aten.compiler.dynamic import BoundProgram

    return (program.program if isinstance(program, BoundProgram) else program).constants


def _meet_constants(tensors: list[Tensor], program: Program) -> bool:
    """Whether an argument shares memory with what the program uses besides."""
    given = {id(one.untyped_storage()) for one in tensors}
    return any(id(one.untyped_storage()) in given for one in constants_of(program))


def _keep(entries: OrderedDict[Any, _Entry], key: Any, entry: _Entry) -> _Entry:
    entries[key] = entry
    entries.move_to_end(key)
    while len(entries) > MAXIMUM_PROGRAMS:
        entries.popitem(last=False)
    return entry


def chooser(mode: str | None) -> type[Choices]:
    """Who chooses in a mode where there are two ways: rules, or measurements."""
    if mode not in MEASURING:
        from aten.compiler.rewrites.choosing import Choices

        return Choices
    from aten.compiler.tuning import MeasuredChoices

    return MeasuredChoices


def _maker(tensor: Tensor) -> partial[Tensor]:
    """Makes a tensor of the kind, whose elements nobody looks at."""
    meta = tuple(tensor.shape), tensor.stride(), tensor.dtype, tensor.device
    return partial(empty_strided, *meta)


def _unfit(tensors: list[Tensor]) -> str:
    """Why a call is not captured, or nothing."""
    for place, one in enumerate(tensors):
        if not is_plain(one):
            return f"argument {place} is not a plain tensor on the CPU"
    return ""

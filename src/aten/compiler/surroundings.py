"""What decides what a function does besides its arguments: found while it runs once.

Each function of the program that is entered is looked at before its first line: the global names
that its code has, the variables around it, and what can be reached from these and from the
arguments, members of objects and of containers included. What was found there is what a captured
program stands on; where it is another one after the run than before, the function does more than
compute, and what it did is taken back.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dis import get_instructions
from functools import partial
from types import CellType, CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

from aten._core.dispatch.observing import CallObserver
from aten._core.dispatch.replaying import holds
from aten._core.memory.collecting import resting
from aten._core.memory.storage import Storage
from aten._core.tensor.tensor import Tensor
from aten.autograd import Function
from aten.backends.cpu.kernels.folding.plan import is_plain
from aten.compiler import UnsupportedCaptureError
from aten.compiler.appearances import Appearance, SameElements, SameSizes, appearance_of
from aten.compiler.kinds import Watched, places_of_program
from aten.graph.program import ProgramModule
from aten.nn.modules.hooks import everywhere
from aten.nn.modules.lazy import UninitializedBuffer, UninitializedParameter
from aten.nn.modules.module import Module
from aten.optim.optimizer import Optimizer

LAZY = "a lazy module makes its parameters in its first call"
_NOTHING = object()
PLAIN = (bool, int, float, complex, str, bytes, type(None))
# Members of larger containers are not looked at, nor is more than so much in all.
MAXIMUM_MEMBERS = 10_000
MAXIMUM_PLACES = 50_000
# Larger arrays of NumPy's are known by their identity.
MAXIMUM_BYTES = 1 << 16
# Modules whose functions give something else each time.
_CHANGING = frozenset({"random", "_random", "time", "secrets", "uuid", "_uuid", "datetime"})
_USED = frozenset({"aten", "llvmlite", "numpy", "yaml"})
# Packages of the standard library whose objects hold what programs put there.
_HOLDING = frozenset({"argparse", "collections", "types"})
# Methods of tensors that say something of gradients besides computing.
_OF_GRADIENTS = frozenset(
    {
        "backward",
        "register_hook",
        "requires_grad_",
        "retain_grad",
        "register_post_accumulate_grad_hook",
    }
)
# Those that say where in memory a tensor is, which is another place in each call.
_OF_PLACES = frozenset({"data_ptr", "storage_offset", "untyped_storage"})


class Variable:
    """A context variable, read as a member."""

    def __init__(self, variable: ContextVar[Any]) -> None:
        self._variable = variable

    @property
    def value(self) -> Any:
        """What it holds, or what stands for nothing."""
        return self._variable.get(_NOTHING)

    @value.setter
    def value(self, held: Any) -> None:
        if held is not _NOTHING:
            self._variable.set(held)


class SameMembers:
    """Whether classes have as many members as before."""

    def __init__(self, classes: Sequence[type]) -> None:
        self._members = [vars(one) for one in classes]
        self._counts = list(map(len, self._members))

    @property
    def members_of_classes(self) -> bool:
        """Whether it is so."""
        return list(map(len, self._members)) == self._counts


class Surroundings:
    """What a function can reach, as it was when it was reached.

    Used as a context, it watches the functions that its thread enters meanwhile.

    Attributes:
        places: what was found.
        refusals: why what the function does is not all in what it calls.
        uses_functions: whether an `autograd.Function`, which has its own derivative, was applied.
        names: what the functions have names for, members among them.
        is_unfinished: whether a module has parameters that its first call makes.
        asks_of_sizes: what of sizes that symbols stand for would be answered for one size alone.
    """

    def __init__(self) -> None:
        self.places: list[Watched] = []
        self.refusals: list[str] = []
        self.uses_functions = False
        self.names: set[str] = set()
        self.asks_of_sizes = ""
        self.is_unfinished = False
        self._seen: set[int] = set()
        self._kept: list[Any] = []
        self._tensors: dict[int, Tensor] = {}
        self._appearances: list[Appearance] = []
        self._looked_at: set[int] = set()
        self._classes: list[type] = []
        self._entered_codes: set[CodeType] = set()
        self._observer = CallObserver(self._entered, self._called, _is_of_program)

    def __enter__(self) -> Surroundings:
        # What the collector calls is no part of the function.
        resting.__enter__()
        self._observer.begin()
        return self

    def __exit__(self, *error: object) -> None:
        self._observer.end()
        resting.__exit__(None, None, None)

    def has(self, value: Any) -> bool:
        """Whether a value was there before the function ran."""
        return id(value) in self._seen

    def tensors(self) -> list[Tensor]:
        """The tensors among what was found."""
        return list(self._tensors.values())

    def has_tensor(self, value: Tensor) -> bool:
        """Whether a tensor, or its memory, was there before the function ran."""
        known = [one.value for one in self.places if isinstance(one.value, Tensor)]
        known += self._tensors.values()
        return any(one.untyped_storage() is value.untyped_storage() for one in known)

    def require_computing(self) -> None:
        """Raises UnsupportedCaptureError where the function may give something else next time."""
        if self.is_unfinished:
            raise UnsupportedCaptureError(LAZY)
        if self.refusals:
            raise UnsupportedCaptureError(self.refusals[0])

    def changed(self) -> list[Watched]:
        """The places that hold something else by now."""
        return [one for one in self.places if not holds([one])]

    def restore(self, changed: list[Watched]) -> None:
        """Put back what these places held."""
        for one in changed:
            _put_back(one)

    def put_tensors_back(self) -> bool:
        """Let the tensors be what they were when they were found; whether one was not."""
        # All of them, whatever the first one says.
        return True in [one.put_back() for one in self._appearances]

    def note_classes(self) -> None:
        """Have the program stand on the methods that were entered, and on classes having no others
        in front of these."""
        for kind in self._classes:
            for name, member in vars(kind).items():
                function = member.fget if isinstance(member, property) else member
                if (
                    isinstance(function, FunctionType)
                    and function.__code__ in self._entered_codes
                    and getattr(kind, name, None) is member
                ):
                    self.places.append(Watched(kind, name, member))
        if self._classes:
            self.places.append(Watched(SameMembers(self._classes), "members_of_classes", True))

    def note_tensors(self, read: Sequence[Storage]) -> None:
        """Have the program stand on what the tensors are, and on elements of these storages.

        Raises UnsupportedCaptureError where it cannot be known whether somebody writes to them.
        """
        plain = [one.tensor for one in self._appearances]
        if plain:
            self.places.append(Watched(SameSizes(plain), "sizes_of_tensors", True))
        if "grad" in self.names:
            self.places += [Watched(one, "grad", one.grad) for one in plain if one.is_leaf]
        found = [one for one in plain if any(one.untyped_storage() is held for held in read)]
        if found:
            self.places.append(Watched(SameElements(found), "elements_that_were_read", True))

    def _entered(self, frame: FrameType, code: CodeType) -> None:
        self._enter(frame, code)
        # Before it is called: a number that was drawn is gone.
        self.require_computing()

    def _called(self, function: Any) -> None:
        self._meet(function)
        self.require_computing()

    def _enter(self, frame: FrameType, code: CodeType) -> None:
        self._entered_codes.add(code)
        if code is _APPLY:
            self.uses_functions = True
        package = _package(frame.f_globals.get("__name__"))
        if package in _CHANGING:
            if frame.f_back is not None and _is_of_program(frame.f_back.f_globals):
                self.refusals.append(f"{package}.{code.co_name} gives something else each time")
        elif _is_of_program(frame.f_globals):
            self._visit_globals(code, frame.f_globals)

    def _meet(self, function: Any) -> None:
        """A compiled function that the program calls."""
        owner = getattr(function, "__self__", None)
        if isinstance(owner, Tensor):
            if function.__name__ in _OF_GRADIENTS:
                self.refusals.append(f"{function.__name__}, which concerns gradients")
            return
        if isinstance(owner, ModuleType):
            name = owner.__name__
        else:
            name = (owner if isinstance(owner, type) else type(owner)).__module__
        if _is_changing(name):
            called = getattr(function, "__name__", "a function")
            self.refusals.append(f"{called} of {name} gives something else each time")

    def _visit_globals(self, code: CodeType, namespace: dict[str, Any]) -> None:
        self.names.update(code.co_names)
        self.asks_of_sizes = self.asks_of_sizes or _asked_of_sizes(code)
        for name in _OF_PLACES.intersection(code.co_names):
            self.refusals.append(f"{name} says something else of each argument")
        # Its functions are compiled, and no event tells that they are called.
        if "random" in code.co_names and "numpy" in sys.modules:
            names = {*code.co_names, *code.co_freevars}
            given = [namespace.get(one) for one in names]
            if not names.isdisjoint(("np", "numpy")) or any(
                one is sys.modules["numpy"] for one in given
            ):
                self.refusals.append("numpy.random gives something else each time")
        for name in code.co_names:
            if name not in namespace:
                continue
            value = namespace[name]
            if isinstance(value, ModuleType):
                self._visit_members_of_module(value, code)
            self._note(namespace, name, value)

    def _visit_members_of_module(self, module: ModuleType, code: CodeType) -> None:
        if not _is_of_program(vars(module)):
            return
        for name in code.co_names:
            if name in vars(module):
                self._note(vars(module), name, vars(module)[name])

    def _note(self, namespace: Any, name: Any, value: Any) -> None:
        self.places.append(Watched(namespace, name, value))
        self.visit(value)

    def visit(self, value: Any) -> None:
        """Find what can be reached from a value."""
        if isinstance(value, Tensor):
            self._visit_tensor(value)
        if isinstance(value, (*PLAIN, Tensor, ModuleType)) or id(value) in self._seen:
            return
        if len(self.places) > MAXIMUM_PLACES:
            return
        self._seen.add(id(value))
        # No other object gets its identity meanwhile.
        self._kept.append(value)
        for kinds, look in _LOOKS:
            if isinstance(value, kinds):
                look(self, value)
                return
        if isinstance(value, type):
            self._visit_classes(value)
        elif _is_class_of_program(type(value)) or _package(type(value).__module__) in _HOLDING:
            self._visit_object(value)
        elif hasattr(type(value), "__next__") or _is_changing(type(value).__module__):
            self.refusals.append(f"a {type(value).__name__} gives something else each time")
        elif 0 < getattr(value, "nbytes", 0) <= MAXIMUM_BYTES and hasattr(value, "tobytes"):
            self.places.append(Watched(value, None, value.tobytes()))

    def _visit_tensor(self, value: Tensor) -> None:
        if id(value) in self._tensors:
            return
        self._tensors[id(value)] = value
        if isinstance(value, (UninitializedParameter, UninitializedBuffer)):
            self.is_unfinished = True
        if not is_plain(value):
            return
        # The function may change it from now on.
        self._appearances.append(appearance_of(value))
        attributes = vars(value)
        if attributes:
            self._visit_dict(attributes)

    def _visit_dict(self, value: dict[Any, Any]) -> None:
        self.places.append(Watched(value, None, frozenset(value)))
        if len(value) <= MAXIMUM_MEMBERS:
            for name, member in list(value.items()):
                self._note(value, name, member)

    def _visit_sequence(self, value: Any) -> None:
        members = tuple(value)
        if not isinstance(value, (tuple, frozenset)):
            self.places.append(Watched(value, None, members))
        if len(members) <= MAXIMUM_MEMBERS:
            for member in members:
                self.visit(member)

    def _visit_variable(self, value: ContextVar[Any]) -> None:
        held = value.get(_NOTHING)
        self.places.append(Watched(Variable(value), "value", held))
        if held is not _NOTHING:
            self.visit(held)

    def _visit_local(self, value: threading.local) -> None:
        for name, member in list(vars(value).items()):
            self._note(value, name, member)

    def _visit_function(self, value: FunctionType) -> None:
        self.places.append(Watched(value, "__code__", value.__code__))
        if value.__dict__:
            self.visit(value.__dict__)
        if value.__kwdefaults__ is not None:
            self.places.append(Watched(value, "__kwdefaults__", value.__kwdefaults__))
        self.visit(value.__defaults__)
        self.visit(value.__kwdefaults__)
        if value.__defaults__ is not None:
            self.places.append(Watched(value, "__defaults__", value.__defaults__))
        cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
        for name, cell in cells:
            try:
                held = cell.cell_contents
            except ValueError:
                continue
            if isinstance(held, ModuleType):
                self._visit_members_of_module(held, value.__code__)
            self._note(cell, name, held)

    def _visit_method(self, value: MethodType) -> None:
        self.visit(value.__self__)
        self.visit(value.__func__)

    def _visit_partial(self, value: partial[Any]) -> None:
        self.visit(value.func)
        self.visit(value.args)
        self.visit(value.keywords)

    def _visit_program(self, value: ProgramModule) -> None:
        # Its tensors are met where they are used: here it is who they are.
        self.places += places_of_program(value)

    def _visit_object(self, value: Any) -> None:
        if _is_class_of_program(type(value)):
            self.places.append(Watched(value, "__class__", type(value)))
        if isinstance(value, Module):
            self.visit(everywhere)
        namespace = _own_names(value)
        for name, member in list(namespace.items()):
            if isinstance(value, Module) and isinstance(member, dict) and name in _OF_MODULES:
                # Always the same one: what it holds is looked at.
                self.visit(member)
            else:
                self._note(namespace, name, member)
        self.places.append(Watched(namespace, None, frozenset(namespace)))
        for kind in type(value).__mro__:
            slots = vars(kind).get("__slots__", ()) if _is_class_of_program(kind) else ()
            for name in (slots,) if isinstance(slots, str) else slots:
                if _has(value, name):
                    self._note(value, name, getattr(value, name))
        self._visit_classes(type(value))

    def _visit_classes(self, value: type) -> None:
        """What a class and those above it hold besides functions."""
        for kind in value.__mro__:
            if not _is_class_of_program(kind) or id(kind) in self._looked_at:
                continue
            self._looked_at.add(id(kind))
            self._classes.append(kind)
            for name, member in list(vars(kind).items()):
                is_of_language = name.startswith("__") and name.endswith("__")
                if isinstance(member, (*PLAIN, Tensor, *_CONTAINERS)) and not is_of_language:
                    self._note(kind, name, member)


def _has(value: Any, name: str) -> bool:
    try:
        return hasattr(value, name)
    except Exception:
        return False


def _own_names(value: Any) -> dict[str, Any]:
    """The attributes of an object itself, whatever its class answers for them."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found if isinstance(found, dict) else {}


_OF_MODULES = frozenset(vars(Module()))
_CONTAINERS = (list, dict, set, tuple)
_APPLY = Function.apply.__func__.__code__  # type: ignore[attr-defined]
_LOOKS: tuple[tuple[Any, Callable[[Surroundings, Any], None]], ...] = (
    (dict, Surroundings._visit_dict),
    ((list, tuple, set, frozenset, deque), Surroundings._visit_sequence),
    (FunctionType, Surroundings._visit_function),
    (MethodType, Surroundings._visit_method),
    (partial, Surroundings._visit_partial),
    (ContextVar, Surroundings._visit_variable),
    (threading.local, Surroundings._visit_local),
    (ProgramModule, Surroundings._visit_program),
    ((Module, Optimizer), Surroundings._visit_object),
)


def _asked_of_sizes(code: CodeType) -> str:
    """What code may ask for that symbols in the place of sizes answer in another way."""
    names = code.co_names
    if "nbytes" in names:
        return "how many bytes a tensor has"
    if "int" not in names or not {"isinstance", "type"}.intersection(names):
        return ""
    # As a member, `type` is that of a device or a tensor.
    loaded = {one.argval for one in get_instructions(code) if one.opname == "LOAD_GLOBAL"}
    return "whether a size is an int" if {"isinstance", "type"} & loaded else ""


def _put_back(place: Watched) -> None:
    namespace, name, value = place
    if name is not None:
        if isinstance(namespace, CellType):
            namespace.cell_contents = value
        elif isinstance(namespace, dict):
            namespace[name] = value
        else:
            setattr(namespace, name, value)
    elif isinstance(namespace, dict):
        for added in [one for one in namespace if one not in value]:
            del namespace[added]
    elif isinstance(namespace, list):
        namespace[:] = value
    elif isinstance(namespace, (set, deque)):
        namespace.clear()
        (namespace.extend if isinstance(namespace, deque) else namespace.update)(value)


def _is_changing(module: Any) -> bool:
    return _package(module) in _CHANGING or str(module).startswith("numpy.random")


def _package(name: Any) -> str:
    return name.partition(".")[0] if isinstance(name, str) else ""


def _is_class_of_program(kind: type) -> bool:
    return _is_of_program(vars(sys.modules.get(kind.__module__, sys)))


def _is_of_program(namespace: dict[str, Any]) -> bool:
    """Whether a module, given by its names, is neither of this package nor of those it uses nor of
    the standard library: what these keep for themselves decides nothing."""
    package = _package(namespace.get("__name__"))
    return package == "__main__" or (
        package not in _USED and package not in sys.stdlib_module_names
    )

"""Which kernel serves which key: registrations, where they were made, and the rule of precedence.

Nothing here runs in an ordinary call. The dispatcher asks once for each operator and key and keeps
the answer in the operator's row; a registration empties the rows it may change. What is registered
is kept by the operator's qualified name, so that kernels may come before the definition, and in any
order: the answer depends on the registrations alone, except that of several kernels for one key the
newest wins (and warns).
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from weakref import WeakSet

from aten._core.base.keys import BACKENDS, DispatchKey, DispatchKeySet, runtime_keys
from aten._core.threads import forks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import TypeAlias

    from aten._core.dispatch.dispatcher import Kernel, OpOverload

    _Kernels: TypeAlias = Mapping[DispatchKey, tuple[Kernel, ...]]

# Frames of these modules pass registrations on; the place of one is their caller's.
_PASSING_ON = frozenset(
    {
        *(__name__, "aten._core.dispatch.dispatcher", "aten.dispatch", "aten.registry"),
        *("aten.library.custom", "aten.library.gradients", "aten.library.registration"),
    }
)
_PACKAGE_PARENT = os.path.abspath(__file__).rsplit(os.sep, 4)[0]

_KERNELS_OF_TENSORS = frozenset({"Dense", "Quantized", "Sparse", "SparseCsr", "NestedTensor"})
_AUTOGRAD = frozenset({"AutogradFunctionality", "AutogradOther", "AutogradNestedTensor"})
# Run functional programs only, while kernels of the NonFunctional alias may write in place inside.
_FUNCTIONAL_BACKENDS = frozenset({"XLA", "Lazy"})

# Layers without which a call still gives the right answer. The others (Conjugate, Functionalize, …)
# change what a tensor means, so that an operator they do not know is an error.
_SKIPPED_BY_DEFAULT = _AUTOGRAD | {
    "BackendSelect",
    "Python",
    "ADInplaceOrView",
    "AutogradRecording",
    "InferenceTensor",
    "Tracer",
    "AutocastCPU",
    "AutocastMTIA",
    "AutocastXPU",
    "AutocastHPU",
    "AutocastXLA",
    "AutocastMPS",
    "AutocastCUDA",
    "AutocastPrivateUse1",
    "PythonTLSSnapshot",
    "PreDispatch",
    "PythonDispatcher",
    "Overriding",
}

DIRECT = "direct"
FALLBACK = "fallback"
SKIPPED = "skipped by default"
MISSING = "missing"

# A FallthroughKernel, set by the dispatcher, which owns the class.
skip: Kernel = None  # type: ignore[assignment]

_registrations: dict[str, Registrations] = {}
_attached: WeakSet[OpOverload] = WeakSet()
_fallbacks: _Kernels = {}
# Held while registrations change, and while the operators told of it are counted up.
_changing = threading.RLock()
forks.hold(_changing)
_code_generators: set[str] = set()


def _alias_members(alias: str) -> frozenset[DispatchKey]:
    def is_member(key: DispatchKey) -> bool:
        of_tensors = key.functionality in _KERNELS_OF_TENSORS and key.backend != ""
        if alias == "Autograd":
            return key.functionality in _AUTOGRAD and key.slot >= 0
        if alias == "Structured":
            return key.functionality == "Dense" and key.backend != ""
        if alias == "CompositeExplicitAutogradNonFunctional":
            return (
                key.functionality == "Dense"
                and key.backend != ""
                and key.backend not in _FUNCTIONAL_BACKENDS
            )
        if alias == "CompositeExplicitAutograd":
            return of_tensors or key.kind == "undefined"
        # CompositeImplicitAutograd. A nested tensor has no sizes for a composite to compute with.
        if key.functionality in ("NestedTensor", "AutogradNestedTensor"):
            return False
        in_autograd = key.functionality in _AUTOGRAD and key.slot >= 0
        return of_tensors or in_autograd or key.kind == "undefined"

    return frozenset(key for key in DispatchKey.__members__.values() if is_member(key))


# In the order of precedence; all of them after a key's own kernel.
_MEMBERS = {
    DispatchKey.__members__[alias]: _alias_members(alias)
    for alias in (
        "Structured",
        "CompositeExplicitAutogradNonFunctional",
        "CompositeExplicitAutograd",
        "CompositeImplicitAutograd",
        "Autograd",
    )
}
# The run-time keys of each functionality that may be skipped as a whole.
_RUNTIME_KEYS = {
    functionality: tuple(
        key for key in runtime_keys() if key.functionality == functionality.functionality
    )
    for functionality in DispatchKey.__members__.values()
    if functionality.kind in ("single", "functionality")
    and functionality.name not in _KERNELS_OF_TENSORS
}
_EXPLICIT_COMPOSITES = (
    DispatchKey.CompositeExplicitAutogradNonFunctional,
    DispatchKey.CompositeExplicitAutograd,
)


def place(filename: str, line: int) -> str:
    """`file:line`, relative to the directory of the package for the package's own files."""
    if filename.startswith(_PACKAGE_PARENT + os.sep):
        filename = filename[len(_PACKAGE_PARENT) + 1 :]
    return f"{filename}:{line}"


def caller_place() -> str:
    """Where the registration being made was asked for."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__") in _PASSING_ON:
        frame = frame.f_back
    return place(frame.f_code.co_filename, frame.f_lineno)


class RegistrationHandle:
    """One registration; `destroy()` takes it back and uncovers the one it had covered."""

    __slots__ = ("_kernel", "_key", "_owner")

    def __init__(self, owner: Registrations | None, key: DispatchKey, kernel: Kernel) -> None:
        self._owner = owner
        self._key = key
        self._kernel: Kernel | None = kernel

    def destroy(self) -> None:
        """Takes the registration back; a second time does nothing."""
        kernel, self._kernel = self._kernel, None
        if kernel is None:
            return
        with _changing:
            if self._owner is None:
                _set_fallbacks(_without(_fallbacks, self._key, kernel))
                invalidate_all()
            else:
                self._owner.kernels = _without(self._owner.kernels, self._key, kernel)
                self._owner.invalidate()


def _without(kernels: _Kernels, key: DispatchKey, kernel: Kernel) -> _Kernels:
    """The kernels without the newest registration of `kernel` for `key`."""
    stack = kernels.get(key, ())
    newest = max((place for place, other in enumerate(stack) if other is kernel), default=None)
    if newest is None:
        return kernels
    left = stack[:newest] + stack[newest + 1 :]
    others = {other: stack for other, stack in kernels.items() if other is not key}
    return {**others, key: left} if left else others


def _with(kernels: _Kernels, key: DispatchKey, kernel: Kernel) -> _Kernels:
    return {**kernels, key: (*kernels.get(key, ()), kernel)}


def _warn_of_override(kernels: _Kernels, key: DispatchKey, kernel: Kernel, what: str) -> None:
    stack = kernels.get(key)
    if stack is None:
        return
    filename, _, line = (kernel.provenance or "").rpartition(":")
    warnings.warn_explicit(
        f"{what}: the kernel for {key.name} registered at {stack[-1].provenance} "
        f"is overridden by the one registered at {kernel.provenance}",
        UserWarning,
        filename or "<unknown>",
        int(line) if line.isdecimal() else 0,
    )


class Registrations:
    """The kernels of one operator. Of several for one key the last serves.

    What `kernels` holds never changes: another thread may be looking at it. A registration puts
    another dictionary into its place.
    """

    __slots__ = ("_operators", "kernels", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.kernels: _Kernels = {}
        self._operators: WeakSet[OpOverload] = WeakSet()

    def attach(self, op: OpOverload) -> None:
        """Tells `op`, whose row borrows these kernels, of every change from now on."""
        with _changing:
            self._operators.add(op)
            _attached.add(op)

    def add(self, key: DispatchKey, kernel: Kernel) -> RegistrationHandle:
        """Registers `kernel` for a run-time or alias key. Warns where the key has one already.

        Raises:
            ValueError: the key has no kernels (Undefined, or a functionality without a backend).
        """
        if key.slot <= 0 and key.kind != "alias":
            raise ValueError(f"{self.name}: no kernel can be registered for {key.name}")
        _warn_of_override(self.kernels, key, kernel, self.name)
        with _changing:
            self.kernels = _with(self.kernels, key, kernel)
            self.invalidate()
        return RegistrationHandle(self, key, kernel)

    def invalidate(self) -> None:
        with _changing:
            for op in self._operators:
                op.invalidate()

    def resolve(self, key: DispatchKey) -> tuple[Kernel | None, str]:
        """The kernel that serves `key` and why that one; (None, "missing") where none does."""
        direct = self.kernels.get(key)
        if direct is not None:
            return direct[-1], DIRECT
        for alias, members in _MEMBERS.items():
            kernels = self.kernels.get(alias)
            if kernels is None or key not in members or not self._applies(alias, key):
                continue
            return kernels[-1], alias.name
        return resolve_fallback(key)

    def _applies(self, alias: DispatchKey, key: DispatchKey) -> bool:
        if alias is DispatchKey.Structured:
            return key.backend in _code_generators
        # Calls with autograd must not go past the backend's kernel and its derivative into a
        # composite that only serves the backends without a kernel.
        if alias is DispatchKey.CompositeImplicitAutograd and key.functionality in _AUTOGRAD:
            return not self._has_backend_kernel(key)
        return True

    def _has_backend_kernel(self, autograd_key: DispatchKey) -> bool:
        if any(alias in self.kernels for alias in _EXPLICIT_COMPOSITES):
            return True
        backend = autograd_key.backend
        if DispatchKey.Structured in self.kernels and backend in _code_generators:
            return True
        return any(
            key.backend == backend and key.functionality in _KERNELS_OF_TENSORS
            for key in self.kernels
        )


def resolve_fallback(key: DispatchKey) -> tuple[Kernel | None, str]:
    """What serves `key` for operators that have no kernel for it."""
    own = _fallbacks.get(key)
    if own is not None:
        return own[-1], FALLBACK
    if key.kind == "backend":
        every_backend = _fallbacks.get(DispatchKey.__members__[key.functionality])
        if every_backend is not None:
            return every_backend[-1], f"{FALLBACK} of {key.functionality}"
    if key.functionality in _SKIPPED_BY_DEFAULT:
        return skip, SKIPPED
    return None, MISSING


def skipped_keys(registrations: Registrations) -> DispatchKeySet:
    """The functionalities that calls of this operator need not look at: fallthrough throughout."""
    skipped = DispatchKeySet()
    for functionality, keys in _RUNTIME_KEYS.items():
        kernels = (registrations.resolve(key)[0] for key in keys)
        if all(isinstance(kernel, type(skip)) for kernel in kernels):
            skipped |= DispatchKeySet(functionality)
    return skipped


def registrations_of(name: str) -> Registrations:
    """The registrations for the operator of this qualified name (`aten::add.Tensor`)."""
    found = _registrations.get(name)
    if found is None:
        found = _registrations.setdefault(name, Registrations(name))
    return found


def all_registrations() -> Iterator[Registrations]:
    return iter(tuple(_registrations.values()))


def add_fallback(key: DispatchKey, kernel: Kernel) -> RegistrationHandle:
    """Registers what serves `key` for every operator without a kernel for it.

    A functionality key (`Sparse`) stands for its keys on all backends.

    Raises:
        ValueError: `key` is an alias or Undefined.
    """
    if key.kind in ("alias", "undefined"):
        raise ValueError(f"no fallback can be registered for {key.name}")
    _warn_of_override(_fallbacks, key, kernel, "fallback for every operator")
    with _changing:
        _set_fallbacks(_with(_fallbacks, key, kernel))
        invalidate_all()
    return RegistrationHandle(None, key, kernel)


def _set_fallbacks(kernels: _Kernels) -> None:
    global _fallbacks
    _fallbacks = kernels


def fallbacks() -> dict[DispatchKey, Kernel]:
    """The fallbacks in force."""
    return {key: kernels[-1] for key, kernels in _fallbacks.items()}


def invalidate_all() -> None:
    """Empties every operator's row."""
    with _changing:
        for op in _attached:
            op.invalidate()


def change_rows(function: Callable[[Kernel], Kernel]) -> None:
    """Puts `function(kernel)` into the place of each kernel in every operator's row."""
    with _changing:
        for op in _attached:
            op.change_row(function)


def set_code_generator(backend: str, available: bool) -> None:
    """Says whether Structured kernels serve `backend`. ValueError: there is no such backend."""
    if backend not in {name for name, _ in BACKENDS}:
        raise ValueError(f"unknown backend component: {backend}")
    if available:
        _code_generators.add(backend)
    else:
        _code_generators.discard(backend)
    invalidate_all()


def code_generators() -> frozenset[str]:
    """The backends that have a code generator."""
    return frozenset(_code_generators)

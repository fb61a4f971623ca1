"""Which modules the operators that run belong to, on the way forward and back."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from threading import get_ident
from typing import Any, Self

from aten._core.autograd.engine import Walk, current_walk, watch_walks
from aten._core.tensor.tensor import Tensor
from aten.autograd.graph import register_multi_grad_hook
from aten.grad_mode import is_grad_enabled
from aten.nn.modules.module import (
    Module,
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from aten.utils._pytree import tree_leaves

__all__ = ["ModuleTracker"]

GLOBAL = "Global"


class ModuleTracker:
    """A context in which `parents` names the modules whose code or gradients are being computed.

    A module that is called by none is named after its class, those in it "Class.attribute". On the
    way back a module is among the parents from when the gradients of its results are there until
    those of its arguments are; where no argument requires gradients, until the walk ends. Calls and
    walks of other threads are none of its business.

    Example:

        >>> layer = aten.nn.Sequential(aten.nn.Identity())
        >>> with aten.utils.module_tracker.ModuleTracker() as tracker:
        ...     handle = layer[0].register_forward_hook(lambda *_: print(sorted(tracker.parents)))
        ...     y = layer(aten.ones(1))
        ['Global', 'Sequential', 'Sequential.0']
    """

    def __init__(self) -> None:
        self._names: weakref.WeakKeyDictionary[Module, str] = weakref.WeakKeyDictionary()
        self._thread: int | None = None
        self._called: list[str] = []
        # What the walks under way are at: one may begin another, as reentrant checkpoints do.
        self._walked: weakref.WeakKeyDictionary[Walk, set[str]] = weakref.WeakKeyDictionary()
        self._handles: list[Any] = []
        self._hooks: weakref.WeakSet[Any] = weakref.WeakSet()

    @property
    def parents(self) -> set[str]:
        """Names of the modules, and "Global"."""
        if not self.is_bw:
            self._walked.clear()  # walks that an exception ended may be held by somebody
        return {GLOBAL, *self._called}.union(*self._walked.values())

    @property
    def is_bw(self) -> bool:
        """Whether a walk back is under way in this thread."""
        return current_walk() is not None

    def __enter__(self) -> Self:
        if self._handles:
            raise RuntimeError(f"{type(self).__name__}: it has been entered already")
        watch_walks(1)
        self._thread = get_ident()
        self._handles = [
            register_module_forward_pre_hook(self._entered),
            register_module_forward_hook(self._left, always_call=True),
        ]
        return self

    def __exit__(self, *exc_info: object) -> None:
        for handle in (*self._handles, *self._hooks):
            handle.remove()
        self._handles = []
        self._called.clear()
        self._walked.clear()
        watch_walks(-1)

    def _name_of(self, module: Module) -> str:
        """What a module goes by, and from now on those in it."""
        name = self._names.setdefault(module, type(module).__name__)
        for attribute, child in module.named_children():
            self._names.setdefault(child, f"{name}.{attribute}")
        return name

    def _entered(self, module: Module, args: Any) -> None:
        if get_ident() != self._thread:
            return
        name = self._name_of(module)
        self._called.append(name)
        self._when_known(args, lambda walked: walked.discard(name))

    def _left(self, module: Module, args: Any, results: Any) -> None:
        name = self._name_of(module)
        if get_ident() != self._thread or name not in self._called:
            return
        self._called.remove(name)
        self._when_known(results, lambda walked: walked.add(name))

    def _when_known(self, values: Any, note: Callable[[set[str]], None]) -> None:
        """Has `note` change what each walk is at that has come to all gradients of `values`."""
        if not is_grad_enabled():
            return
        tensors = [
            one for one in tree_leaves(values) if isinstance(one, Tensor) and one.requires_grad
        ]

        def see(gradients: Any) -> None:
            walk = current_walk()
            if walk is not None and get_ident() == self._thread:
                note(self._walked.setdefault(walk, set()))

        if tensors:
            self._hooks.add(register_multi_grad_hook(tensors, see))

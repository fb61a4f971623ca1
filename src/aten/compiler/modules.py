"""Modules whose calls are replayed."""

from __future__ import annotations

from typing import Any

from aten.compiler.functions import CompiledFunction
from aten.nn.modules.module import Module


class CompiledModule(Module):
    """A module whose calls are replayed; attributes are those of the module."""

    def __init__(self, module: Module, compiled: CompiledFunction) -> None:
        super().__init__()
        self._orig_mod = module
        object.__setattr__(self, "_compiled", compiled)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._compiled(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("_orig_mod"), name)

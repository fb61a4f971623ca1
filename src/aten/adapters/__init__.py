"""What other libraries need to know of tensors, told to them when they are imported.

Nothing of theirs is imported from here before the program does: a finder, asked for every module
that is imported from now on, waits for theirs.
"""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Module of another library → the module here that builds on it.
_WAITED_FOR = {"einops._backends": "aten.adapters.einops"}


class _Finder:
    """Finds nothing itself; has the adapter imported behind the module that is waited for."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        adapter = _WAITED_FOR.get(name)
        if adapter is None:
            return None
        spec = _found_by_others(name, path, target)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader, adapter)
        return spec


def _found_by_others(name: str, path: Any, target: Any) -> Any:
    for finder in sys.meta_path:
        find = None if finder is _finder else getattr(finder, "find_spec", None)
        spec = None if find is None else find(name, path, target)
        if spec is not None:
            return spec
    return None


class _Loader:
    """Another loader, and then the adapter."""

    def __init__(self, loader: Any, adapter: str) -> None:
        self._loader = loader
        self._adapter = adapter

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: Any) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        # The module is as it would be without us.
        module.__loader__ = module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        import_module(self._adapter)


_finder: Any = _Finder()


def install() -> None:
    """Wait for the libraries, and tell those that are there already."""
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    for module, adapter in _WAITED_FOR.items():
        if module in sys.modules:
            import_module(adapter)

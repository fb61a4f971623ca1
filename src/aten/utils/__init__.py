"""What training needs around networks: data, and modes that see its operators."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from aten.names.refusals import refuse

__all__ = ["data"]
_MODULES = frozenset(
    {"_python_dispatch", "_pytree", "checkpoint", "data", "flop_counter", "module_tracker"}
)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"aten.utils.{name}")
    return refuse(__name__, name)

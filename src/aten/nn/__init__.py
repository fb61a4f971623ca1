"""Neural networks: the functions of `aten.nn.functional`, initial values, and sequences."""

from importlib import import_module
from types import ModuleType

from aten.nn import functional
from aten.refusals import refuse

__all__ = ["functional"]


def __getattr__(name: str) -> ModuleType:
    if name in ("attention", "init", "utils"):
        return import_module(f"aten.nn.{name}")
    return refuse(__name__, name)

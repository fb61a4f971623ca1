"""Neural networks: the functions of `aten.nn.functional`, initial values, and sequences."""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from aten.nn import functional
from aten.refusals import refuse

__all__ = ["attention", "functional", "init", "utils"]


if TYPE_CHECKING:
    from aten.nn import attention, init, utils
else:  # so that checkers know of no name that is not there

    def __getattr__(name: str) -> ModuleType:
        if name in ("attention", "init", "utils"):
            return import_module(f"aten.nn.{name}")
        return refuse(__name__, name)

"""The names under which functions are known: those of the modules that show them."""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType

from aten._core.base.dtypes import can_cast
from aten._core.dispatch.functions import CompletingFunction, OverridableFunction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Functions of Python and of Cython, and compiled ones in the place of Python's.
_FUNCTIONS = (FunctionType, type(can_cast), CompletingFunction, OverridableFunction)
# Of classes, that they are made by a class statement, or as if: the others have no room for names.
_MADE_AT_RUN_TIME = 1 << 9


def show_as_own(module: str, names: Mapping[str, Any]) -> None:
    """Let Python's functions and classes be known as those of the module that shows them.

    The functions of other public modules, which it shows too, stay theirs.
    """
    for name, found in names.items():
        if type(found) not in _FUNCTIONS and not (
            type(found) is type and found.__flags__ & _MADE_AT_RUN_TIME
        ):
            continue
        if found.__name__ == name and found.__module__.startswith(f"{module}."):
            found.__module__ = module

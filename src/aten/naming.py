"""The names under which functions are known: those of the modules that show them."""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType
from typing import Any

from aten._core.dtypes import can_cast

# Functions of Python and of Cython.
_FUNCTIONS = (FunctionType, type(can_cast))
# Of classes, that they are made by a class statement, or as if: the others have no room for names.
_MADE_AT_RUN_TIME = 1 << 9


def show_as_own(module: str, names: Mapping[str, Any]) -> None:
    """Let Python's functions and classes be known as those of the module that shows them.

    The functions of other public modules, which it shows too, stay theirs.
    """
    for name, found in names.items():
        if name.startswith("_") or getattr(found, "__name__", "") != name:
            continue
        inner = getattr(found, "__module__", None) or ""
        if not inner.startswith(f"{module}."):
            continue
        if type(found) in _FUNCTIONS or (
            type(found) is type and found.__flags__ & _MADE_AT_RUN_TIME
        ):
            found.__module__ = module

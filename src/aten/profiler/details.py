"""What is kept of a call besides its times: shapes, types, numbers, the caller's lines.

Nothing here keeps a tensor: memory is freed when it would be without a profile.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import aten._core
from aten._core.dispatcher import OpOverload
from aten._core.tensor import Tensor

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(aten._core.__file__))) + os.sep
_PLAIN = (int, float, bool, complex, str, type(None))


class Details:
    """What was seen of one call; empty lists where nobody asked for it."""

    __slots__ = ("args", "concrete", "dtypes", "output", "shapes", "stack")

    def __init__(self, args: str | None = None) -> None:
        self.args = args  # of a user's block
        self.shapes: list[Any] = []
        self.dtypes: list[str] = []
        self.concrete: list[Any] = []
        self.output: list[Any] = []
        self.stack: list[str] = []


def looking(shapes: bool, stack: bool) -> Callable[[OpOverload, list[Any]], Details] | None:
    """What looks at calls before they are made; None where there is nothing to look at."""
    if not (shapes or stack):
        return None

    def look(op: OpOverload, arguments: list[Any]) -> Details:
        details = Details()
        if shapes:
            details.shapes = [shape_of(value) for value in arguments]
            details.dtypes = [_type_of(value) for value in arguments]
            details.concrete = [_concrete(value) for value in arguments]
        if stack:
            details.stack = callers()
        return details

    return look


def block(args: str | None) -> Details:
    """What is kept of a user's block, where lines of Python are."""
    known = Details(args)
    known.stack = callers()
    return known


def finish(details: Details | None, result: Any) -> None:
    """Adds the shapes of what was returned."""
    if details is not None:
        results = result if isinstance(result, (tuple, list)) else [result]
        details.output = [shape_of(value) for value in results]


def shape_of(value: Any) -> Any:
    """The sizes of a tensor, a list of them for a list of tensors, [] for everything else."""
    if isinstance(value, Tensor):
        return list(value.shape)
    if isinstance(value, (list, tuple)) and any(isinstance(one, Tensor) for one in value):
        return [shape_of(one) for one in value]
    return []


def _type_of(value: Any) -> str:
    if isinstance(value, Tensor):
        return value.dtype.name
    if isinstance(value, (list, tuple)):
        inner = next((one for one in value if isinstance(one, Tensor)), None)
        return "TensorList" if inner is not None else "ScalarList"
    return "" if value is None else "Scalar"


def _concrete(value: Any) -> Any:
    """A number, a text, a list of them, or the words for anything else; "" for tensors."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Tensor):
        return ""
    if isinstance(value, (list, tuple)):
        return [_concrete(one) for one in value]
    return str(value)


def callers() -> list[str]:
    """The lines of Python that led here, innermost first, without the package's own."""
    found = []
    frame = sys._getframe(1)
    outer: Any = frame
    while outer is not None:
        code = outer.f_code
        if not code.co_filename.startswith(_PACKAGE):
            found.append(f"{code.co_filename}({outer.f_lineno}): {code.co_name}")
        outer = outer.f_back
    return found

"""What is known of an event besides its times: shapes, types, values, the caller's lines."""

from __future__ import annotations

import os
import sys
from typing import Any

import aten._core
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.dispatch.recording import Known, Seen
from aten._core.tensor.tensor import Tensor
from aten.transforms.trees import tensors_in

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(aten._core.__file__))) + os.sep


class Details:
    """Of one event; empty lists where nobody asked for them. Lists of shapes are as torch's."""

    __slots__ = ("args", "concrete", "dtypes", "output", "shapes", "stack")

    def __init__(self, known: Known | None = None) -> None:
        self.shapes: list[Any] = []  # one for each argument; [] for what is no tensor
        self.dtypes: list[str] = []
        self.concrete: list[Any] = []  # numbers, texts and lists; "" for tensors
        self.output: list[Any] = []  # of each result
        self.stack: list[str] = []
        self.args: str | None = None  # of a user's block
        if known is None:
            return
        arguments = known.arguments or ()
        self.shapes = [_shape(value) for value in arguments]
        self.dtypes = [_type(value) for value in arguments]
        self.concrete = [_concrete(value) for value in arguments]
        results = known.result if isinstance(known.result, tuple) else (known.result,)
        self.output = [_shape(value) for value in results if isinstance(value, Seen)]
        self.stack = known.stack or []
        self.args = known.text


def _shape(value: Any) -> Any:
    """The sizes of a tensor, a list of them for a list of tensors, [] for everything else."""
    if isinstance(value, Seen):
        return list(value.sizes)
    if isinstance(value, tuple) and any(isinstance(one, Seen) for one in value):
        return [_shape(one) for one in value]
    return []


def _type(value: Any) -> str:
    if isinstance(value, Seen):
        return value.dtype.name
    if isinstance(value, tuple):
        has_tensors = any(isinstance(one, Seen) for one in value)
        return "TensorList" if has_tensors else "ScalarList"
    return "" if value is None else "Scalar"


def _concrete(value: Any) -> Any:
    if isinstance(value, Seen):
        return ""
    return [_concrete(one) for one in value] if isinstance(value, tuple) else value


def details_of_call(
    op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], results: Any
) -> Details:
    """What the formulas for operations ask for, as of a profiled call."""
    names = [one.name for one in op._schema.arguments]
    named = {**dict(zip(names, args, strict=False)), **kwargs}
    values = [named.get(name) for name in names]
    details = Details()
    details.shapes = [_sizes_of(value) for value in values]
    details.concrete = ["" if isinstance(value, Tensor) else value for value in values]
    details.output = [list(one.shape) for one in tensors_in(results)]
    return details


def _sizes_of(value: Any) -> Any:
    if isinstance(value, Tensor):
        return list(value.shape)
    if isinstance(value, (list, tuple)) and any(isinstance(one, Tensor) for one in value):
        return [_sizes_of(one) for one in value]
    return []


def callers() -> list[str]:
    """The lines of Python that led here, innermost first, without the package's own."""
    found = []
    frame: Any = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(_PACKAGE):
            found.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return found

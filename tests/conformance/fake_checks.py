"""What is asked of an entry of torch's operator database on tensors without data."""

from __future__ import annotations

from typing import Any

import torch
from database_translation import DEVICE, Translator
from torch._subclasses.fake_tensor import (
    DataDependentOutputException as TheirDataDependentOutput,
)
from torch._subclasses.fake_tensor import (
    DynamicOutputShapeException as TheirDynamicOutputShape,
)
from torch._subclasses.fake_tensor import FakeTensorMode as TheirMode

import aten
from aten._core.base.errors import DataDependentOutputException, DynamicOutputShapeException
from aten.transforms import FakeTensorMode

Described = list[tuple[str, tuple[int, ...], tuple[int, ...]]]
_UNKNOWN = (DataDependentOutputException, DynamicOutputShapeException)
_THEIRS_UNKNOWN = (TheirDataDependentOutput, TheirDynamicOutputShape)


def compare(ours: Any, theirs: Any, sample: Any) -> None:
    """dtypes, sizes and strides of the results are those of torch's fake tensors, or of what torch
    computes; or both say that they depend on values."""
    arguments = (sample.input, *sample.args), sample.kwargs
    translate = Translator()
    given = _ours(ours, translate(arguments[0]), translate(arguments[1]))
    expected = _theirs(theirs, *arguments)
    if given == expected or (given is None and expected == "refused"):
        return
    found = _described(theirs(*arguments[0], **arguments[1]))
    assert given == found, f"{given}, expected {expected} or {found}"


def _ours(function: Any, args: Any, kwargs: Any) -> Described | None:
    """What comes out; None where that depends on values."""
    mode = FakeTensorMode()
    fake_args, fake_kwargs = (
        _mapped(one, lambda tensor: mode.from_tensor(tensor)) for one in (args, kwargs)
    )
    with mode:
        try:
            results = function(*fake_args, **fake_kwargs)
        except _UNKNOWN:
            return None
    for one in _tensors(results):
        assert one.device.type == DEVICE, f"a result is on {one.device}"
    return _described(results)


def _theirs(function: Any, args: Any, kwargs: Any) -> Described | str | None:
    mode = TheirMode(allow_non_fake_inputs=True)
    fake_args, fake_kwargs = (
        _mapped(one, lambda tensor: mode.from_tensor(tensor)) for one in (args, kwargs)
    )
    with mode:
        try:
            return _described(function(*fake_args, **fake_kwargs))
        except _THEIRS_UNKNOWN:
            return None
        except Exception:
            return "refused"


def _mapped(value: Any, change: Any) -> Any:
    if isinstance(value, (torch.Tensor, aten.Tensor)):
        return change(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_mapped(one, change) for one in value))
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return type(value)(_mapped(one, change) for one in value)
    if isinstance(value, dict):
        return {key: _mapped(one, change) for key, one in value.items()}
    return value


def _tensors(value: Any) -> list[Any]:
    if isinstance(value, (torch.Tensor, aten.Tensor)):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [one for part in value for one in _tensors(part)] if _is_nest(value) else []


def _is_nest(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _described(results: Any) -> Described:
    return [
        (str(one.dtype).rpartition(".")[2], tuple(one.shape), tuple(one.stride()))
        for one in _tensors(results)
    ]

"""Keys of the standard's indexing in the form that tensors take.

Tensors have no negative steps: such a dimension is first cut and turned, then taken whole. Arrays
of any integer type are indices; for tensors uint8 would be a mask. A mask without elements takes
none, whatever size it stands beside.
"""

from __future__ import annotations

from math import prod
from typing import Any

from aten import registry
from aten._core.base.dtypes import DTYPES
from aten._core.tensor.tensor import Tensor
from aten.construction import as_tensor

_EVERYTHING = slice(None)
_flip = registry.operator("flip")
_INDEX = DTYPES["int64"]
_BOOL = DTYPES["bool"]


def forwards(window: Tensor, key: Any) -> tuple[Tensor, Any]:
    """The tensor and a key that together give `window[key]`.

    Raises IndexError for too many indices.
    """
    if type(key) is int or key is Ellipsis:
        return window, key
    parts = key if isinstance(key, tuple) else (key,)
    if not any(isinstance(part, (slice, Tensor)) for part in parts):
        return window, key
    found: list[Any] = []
    dim = 0
    for place, part in enumerate(parts):
        if part is Ellipsis:
            dim = window.dim() - sum(map(_taken, parts[place + 1 :]))
            found.append(part)
            continue
        after = dim + _taken(part)
        if isinstance(part, Tensor):
            found.extend(_indices(window, part, dim))
        elif isinstance(part, slice) and _goes_back(part) and dim < window.dim():
            window = _turned(window, part, dim)
            found.append(_EVERYTHING)
        else:
            found.append(part)
        dim = after
    return window, tuple(found)


def _taken(part: Any) -> int:
    """How many dimensions of the array a part of the key stands for."""
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    if isinstance(part, Tensor) and part.dtype is _BOOL:
        return part.dim()
    return 1


def _goes_back(part: slice) -> bool:
    return part.step is not None and part.step.__index__() < 0


def _turned(window: Tensor, part: slice, dim: int) -> Tensor:
    taken = range(window.shape[dim])[part]
    first = taken[-1] if len(taken) else 0
    cut = slice(first, first + (len(taken) - 1) * -taken.step + 1 if len(taken) else 0, -taken.step)
    return _flip(window[(*[_EVERYTHING] * dim, cut)], [dim])  # type: ignore[no-any-return]


def _indices(window: Tensor, part: Tensor, dim: int) -> list[Tensor]:
    part = part.as_subclass(Tensor)
    if part.dtype is not _BOOL:
        return [part.to(_INDEX) if part.dtype.kind in ("signed", "unsigned") else part]
    beside = tuple(window.shape[dim : dim + part.dim()])
    if part.numel() or tuple(part.shape) == beside:
        return [part]
    if len(beside) < part.dim() or any(
        size not in (0, other) for size, other in zip(part.shape, beside, strict=True)
    ):
        return [part]
    return [registry.ops.aten.empty([0], dtype=_INDEX)] * part.dim()


def assign(window: Tensor, key: Any, value: Any) -> None:
    """Write `value` to the elements that `key` takes. Raises what `window[key] = value` raises."""
    source, plain_key = forwards(window, key)
    if source is window:
        window[plain_key] = value
        return
    # A turned dimension is a copy, so the places are looked up instead, and written one by one.
    places = registry.ops.aten.arange(prod(window.shape), device=window.device)
    turned, plain_key = forwards(places.reshape(window.shape), key)
    wanted = turned[plain_key]
    values = as_tensor(value, dtype=window.dtype, device=window.device)
    window.put_(wanted, values.expand(wanted.shape).contiguous())

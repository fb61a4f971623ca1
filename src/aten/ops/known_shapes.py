"""Metadata of results that a library computes: found on matrices so small as to cost nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, TypeVar

from aten._core.construct import empty_strided
from aten._core.device import device
from aten._core.tensor import Tensor
from aten.registry import ops

Function = TypeVar("Function", bound=Callable[..., Any])

_CPU = device("cpu")


def known_by_shape(function: Function) -> Function:
    """Let a function of tensors run on tensors without memory, too.

    Every size of its results has to be one of the operands' sizes, 0 or 1; which, may depend on
    how sizes compare. The function sees identities whose sizes compare alike.
    """

    @wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        for one in arguments:
            if isinstance(one, Tensor) and one.is_meta:
                break
        else:
            return function(*arguments, **keywords)
        tensors = [one for one in (*arguments, *keywords.values()) if isinstance(one, Tensor)]
        small = _small_sizes(size for tensor in tensors for size in tensor.shape)
        try:
            made = function(
                *(_stand_in(one, small) for one in arguments),
                **{name: _stand_in(one, small) for name, one in keywords.items()},
            )
        except RuntimeError as error:
            meaning = ", ".join(f"{one} for {size}" for size, one in small.items() if one != size)
            raise type(error)(f"{error} (standing {meaning})" if meaning else str(error)) from None
        place = next(tensor.device for tensor in tensors if tensor.is_meta)
        full = {one: size for size, one in small.items()}
        if isinstance(made, Tensor):
            return _of_full_size(made, full, place)
        return tuple(_of_full_size(one, full, place) for one in made)

    return call  # type: ignore[return-value]


def _small_sizes(sizes: Iterable[int]) -> dict[int, int]:
    """Sizes of which each is 0, 1 or larger as the given one is, and which compare as they do."""
    above = sorted(set(sizes) - {0, 1})
    return {0: 0, 1: 1, **{size: place for place, size in enumerate(above, 2)}}


def _stand_in(value: Any, small: Mapping[int, int]) -> Any:
    """For a tensor, identities of the small sizes; of integers, 1 to n."""
    if not isinstance(value, Tensor):
        return value
    shape = [small[size] for size in value.shape]
    if value.dtype.kind in ("float", "complex") and len(shape) >= 2:
        return ops.aten.eye(*shape[-2:], dtype=value.dtype).expand(shape)
    if value.dtype.kind in ("signed", "unsigned") and shape:
        return ops.aten.arange(1, shape[-1] + 1, dtype=value.dtype).expand(shape)
    return ops.aten.zeros(shape, dtype=value.dtype)


def _of_full_size(made: Tensor, full: Mapping[int, int], place: device) -> Tensor:
    """A tensor without memory whose dimensions lie in the order of those of `made`."""
    shape = [full[size] for size in made.shape]
    strides = [0] * len(shape)
    step = 1
    for dim in sorted(range(len(shape)), key=lambda dim: (made.stride(dim), -dim)):
        strides[dim] = step
        step *= max(shape[dim], 1)
    return empty_strided(shape, strides, made.dtype, place)

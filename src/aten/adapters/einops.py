"""einops' backend for tensors. Being defined is enough: einops finds it among the subclasses."""

from __future__ import annotations

from typing import Any

from einops._backends import AbstractBackend

from aten import registry
from aten._core.base.dtypes import DTYPES
from aten._core.tensor.tensor import Tensor
from aten.functional.contraction import einsum
from aten.interop import from_numpy, to_numpy

_ops = registry.ops.aten
_INT64 = DTYPES["int64"]
# Operators that fold several dimensions at once; the others take one after the other.
_FOLDS = {"min": "amin", "max": "amax", "sum": "sum", "mean": "mean", "any": "any", "all": "all"}


class Backend(AbstractBackend):
    """What einops does with tensors."""

    framework_name = "aten"

    def is_appropriate_type(self, tensor: Any) -> bool:
        return isinstance(tensor, Tensor)

    def from_numpy(self, x: Any) -> Tensor:
        return from_numpy(x)

    def to_numpy(self, x: Tensor) -> Any:
        return to_numpy(x, force=True)

    def arange(self, start: int, stop: int) -> Tensor:
        return _ops.arange(start, stop, dtype=_INT64)

    def shape(self, x: Tensor) -> tuple[int, ...]:
        return tuple(x.shape)

    def reshape(self, x: Tensor, shape: Any) -> Tensor:
        return _ops.reshape(x, shape)

    def transpose(self, x: Tensor, axes: Any) -> Tensor:
        return _ops.permute(x, axes)

    def reduce(self, x: Tensor, operation: str, axes: Any) -> Tensor:
        if operation in _FOLDS:
            return getattr(_ops, _FOLDS[operation])(x, list(axes))  # type: ignore[no-any-return]
        if operation != "prod":
            raise NotImplementedError(f"einops: there is no reduction named {operation!r}")
        for axis in sorted(axes, reverse=True):
            x = _ops.prod(x, axis)
        return x

    def stack_on_zeroth_dimension(self, tensors: list[Tensor]) -> Tensor:
        return _ops.stack(tensors)

    def add_axis(self, x: Tensor, new_position: int) -> Tensor:
        return _ops.unsqueeze(x, new_position)

    def add_axes(self, x: Tensor, n_axes: int, pos2len: dict[int, int]) -> Tensor:
        sizes = [-1] * n_axes
        for position, length in pos2len.items():
            x = _ops.unsqueeze(x, position)
            sizes[position] = length
        return _ops.expand(x, sizes)

    def tile(self, x: Tensor, repeats: Any) -> Tensor:
        return _ops.repeat(x, repeats)

    def concat(self, tensors: list[Tensor], axis: int) -> Tensor:
        return _ops.cat(tensors, axis)

    def is_float_type(self, x: Tensor) -> bool:
        return x.is_floating_point()

    def einsum(self, pattern: str, *x: Tensor) -> Tensor:
        return einsum(pattern, *x)

"""Tensors for tests: of a shape, with numbers drawn from a range."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aten._core.base.device import device
from aten._core.base.dtypes import DTYPES, dtype
from aten._core.tensor.tensor import Tensor
from aten.registry import ops


def make_tensor(
    *shape: int | Sequence[int],
    dtype: dtype,
    device: device | str,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor with numbers drawn evenly from [low, high): [-9, 9) of floats, [-9, 10) of integers.

    `noncontiguous` leaves gaps between elements; `exclude_zero` makes zeros to ones. Which numbers
    are drawn is not what torch draws. Raises ValueError where low is not below high,
    NotImplementedError for `requires_grad`.
    """
    if requires_grad:
        raise NotImplementedError("make_tensor(): requires_grad=True needs gradients")
    given: Any = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
    sizes: tuple[int, ...] = tuple(given)
    low, high = _range(dtype, low, high)
    if not low < high:
        raise ValueError(f"make_tensor(): expected low < high, got {low} and {high}")
    wide = (*sizes[:-1], 2 * sizes[-1]) if noncontiguous and sizes else sizes
    made = _drawn(wide, dtype, low, high)
    if noncontiguous and sizes:
        made = made[..., ::2]
    if exclude_zero:
        made.masked_fill_(made == 0, 1)
    if memory_format is not None:
        made = made.contiguous(memory_format=memory_format)
    return made.to(device=device)


def _range(element: dtype, low: float | None, high: float | None) -> tuple[float, float]:
    if element.kind == "bool":
        return 0, 2
    first = 0 if element.kind == "unsigned" else -9
    last = 10 if element.kind in ("signed", "unsigned") else 9
    return (first if low is None else low), (last if high is None else high)


def _drawn(sizes: tuple[int, ...], element: dtype, low: float, high: float) -> Tensor:
    if element.kind in ("bool", "signed", "unsigned"):
        return ops.aten.randint(int(low), int(high), sizes).to(dtype=element)
    if element.is_complex:
        real = element.to_real()
        wide = DTYPES["float32"] if real.name == "float16" else real
        parts = [ops.aten.empty(sizes, dtype=wide).uniform_(low, high) for _ in range(2)]
        return ops.aten.complex(*parts).to(dtype=element)
    drawn = ops.aten.empty(sizes, dtype=DTYPES["float64"]).uniform_(low, high)
    return drawn.to(dtype=element)

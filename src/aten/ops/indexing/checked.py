"""Indices that are looked at before a kernel computes addresses of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.registry import ops


def checked_index(index: Tensor, self: Tensor, dim: int, wraps: bool, operator: str) -> Tensor:
    """`index` itself, where it chooses from dimension `dim` of `self` for an operator.

    With `wraps`, those below zero count from the end. Raises what the operator raises for an
    index that is outside.
    """
    _CHOOSING[operator](self, dim, index)
    return index


_CHOOSING: dict[str, Callable[[Tensor, int, Tensor], Any]] = {
    "embedding": lambda self, dim, index: ops.aten.embedding(self, index),
    "gather": lambda self, dim, index: ops.aten.gather(self, dim, index),
    "index": lambda self, dim, index: ops.aten.index.Tensor(self, [*[None] * dim, index]),
    "index_select": lambda self, dim, index: ops.aten.index_select(self, dim, index),
}

# An operator of the namespace `fused`, which compiled programs call and nobody else: its schema.
FUSED_CHECKS: dict[str, Callable[..., Tensor]] = {
    "checked_index(Tensor(a) index, Tensor self, int dim, bool wraps, str operator)"
    " -> Tensor(a)": checked_index
}

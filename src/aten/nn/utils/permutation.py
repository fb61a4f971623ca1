"""Orders taken back."""

from __future__ import annotations

from aten._core.tensor.tensor import Tensor
from aten.registry import ops

__all__ = ["invert_permutation"]


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that takes `permutation` back; None of None."""
    if permutation is None:
        return None
    places = ops.aten.arange(permutation.numel(), device=permutation.device)
    return ops.aten.empty_like(permutation).scatter_(
        0, permutation, places.to(dtype=permutation.dtype)
    )

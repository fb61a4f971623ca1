"""Operators that other libraries define, and that programs exported from their models call.

They come into being when one of them is first asked for.
"""

from __future__ import annotations

from functools import partial

from aten import registry
from aten._core.base.keys import DispatchKey
from aten._core.tensor.tensor import Tensor


def grouped_mm(input: Tensor, weight: Tensor, offs: Tensor) -> Tensor:
    """Rows (n, k) times the matrix (g, k, m) of their group: (n, m).

    Group i ends before row `offs[i]`; rows behind the last group are zero. Raises RuntimeError for
    other ranks and for offsets that are not as many as the matrices.
    """
    if input.dim() != 2 or weight.dim() != 3 or tuple(offs.shape) != (weight.size(0),):
        raise RuntimeError(
            "grouped_mm: expected rows (n, k), matrices (g, k, m) and g offsets, but got "
            f"{list(input.shape)}, {list(weight.shape)} and {list(offs.shape)}"
        )
    out = input.new_zeros((input.size(0), weight.size(2)))
    if input.is_meta:
        return out
    start = 0
    for place, end in enumerate(offs.tolist()):
        if end > start:
            out[start:end] = input[start:end] @ weight[place]
        start = max(start, end)
    return out


_OPERATORS = {
    "transformers": {"grouped_mm_fallback(Tensor input, Tensor weight, Tensor offs)": grouped_mm},
}


def _load(namespace: str) -> None:
    for signature, function in _OPERATORS[namespace].items():
        op = registry.define(namespace, f"{signature} -> Tensor")
        op.register(DispatchKey.CompositeImplicitAutograd, function)


def install() -> None:
    """Announce the namespaces."""
    for namespace in _OPERATORS:
        registry.register_namespace(namespace, partial(_load, namespace))

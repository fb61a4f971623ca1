"""Operators that other libraries define, and that programs exported from their models call.

They come into being when one of them is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from aten import registry
from aten._core.base.device import MEMORY_FORMATS
from aten._core.base.keys import DispatchKey
from aten._core.tensor.tensor import Tensor
from aten.registry import ops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ROW_MAJOR = MEMORY_FORMATS["contiguous_format"]


def grouped_mm(input: Tensor, weight: Tensor, offs: Tensor) -> Tensor:
    """Rows (n, k) times the matrix (g, k, m) of their group: (n, m).

    Group i ends before row `offs[i]`; rows behind the last group are zero. Raises RuntimeError for
    other ranks and for offsets that are not as many as the matrices.
    """
    _check_groups(input, weight, offs)
    out = input.new_zeros((input.size(0), weight.size(2)))
    if input.is_meta:
        return out
    for place, start, end in _groups(offs):
        out[start:end] = input[start:end] @ weight[place]
    return out


def _check_groups(input: Tensor, weight: Tensor, offs: Tensor) -> None:
    if input.dim() != 2 or weight.dim() != 3 or tuple(offs.shape) != (weight.size(0),):
        raise RuntimeError(
            "grouped_mm: expected rows (n, k), matrices (g, k, m) and g offsets, but got "
            f"{list(input.shape)}, {list(weight.shape)} and {list(offs.shape)}"
        )


def grouped_mm_backward(
    grad_output: Tensor, input: Tensor, weight: Tensor, offs: Tensor
) -> tuple[Tensor, Tensor]:
    """The gradients (n, k) of the rows and (g, k, m) of the matrices of `grouped_mm`.

    Raises RuntimeError where the gradient is not (n, m), and what `grouped_mm` raises.
    """
    _check_groups(input, weight, offs)
    if tuple(grad_output.shape) != (input.size(0), weight.size(2)):
        raise RuntimeError(
            "grouped_mm: expected a gradient of shape "
            f"{[input.size(0), weight.size(2)]}, but got {list(grad_output.shape)}"
        )
    of_rows = ops.aten.zeros_like(input, memory_format=_ROW_MAJOR)
    of_matrices = ops.aten.zeros_like(weight, memory_format=_ROW_MAJOR)
    if input.is_meta:
        return of_rows, of_matrices
    for place, start, end in _groups(offs):
        of_rows[start:end] = grad_output[start:end] @ weight[place].t()
        of_matrices[place] = input[start:end].t() @ grad_output[start:end]
    return of_rows, of_matrices


def _groups(offs: Tensor) -> Iterator[tuple[int, int, int]]:
    """Number, first row and end of each group that has rows."""
    start = 0
    for place, end in enumerate(offs.tolist()):
        if end > start:
            yield place, start, end
        start = max(start, end)


_OPERATORS: dict[str, dict[str, Callable[..., Any]]] = {
    "transformers": {
        "grouped_mm_fallback(Tensor input, Tensor weight, Tensor offs) -> Tensor": grouped_mm,
        "grouped_mm_fallback_backward(Tensor grad_output, Tensor input, Tensor weight, "
        "Tensor offs) -> (Tensor, Tensor)": grouped_mm_backward,
    },
}


def _load(namespace: str) -> None:
    for signature, function in _OPERATORS[namespace].items():
        op = registry.define(namespace, signature)
        op.register(DispatchKey.CompositeImplicitAutograd, function)


def install() -> None:
    """Announce the namespaces."""
    for namespace in _OPERATORS:
        registry.register_namespace(namespace, partial(_load, namespace))

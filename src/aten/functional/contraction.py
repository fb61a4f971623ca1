"""Contractions and distances whose arguments are freer than their schemas say."""

from __future__ import annotations

from collections.abc import Sequence

from aten._core.tensor.tensor import Tensor
from aten.registry import ops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["cdist", "chain_matmul", "einsum", "tensordot"]

_COMPUTE_MODES = {
    "use_mm_for_euclid_dist_if_necessary": None,
    "use_mm_for_euclid_dist": 1,
    "donot_use_mm_for_euclid_dist": 2,
}


def einsum(*args: Any, path: Sequence[int] | None = None) -> Tensor:
    """Called as einsum(equation, *operands), or einsum(operand, labels, …, [output labels]).

    Raises ValueError for too few arguments and labels that are not numbers from 0 to 51, and
    RuntimeError for equations that do not fit the operands.

    Example:

        >>> aten.einsum("ij,j->i", aten.tensor([[1, 2], [3, 4]]), aten.tensor([1, 1]))
        tensor([3, 7])
    """
    from aten.ops.linear_algebra.einsum import sublist_equation

    if len(args) < 2:
        raise ValueError("einsum: expected an equation and operands, or operands and their labels")
    equation, operands = args[0], list(args[1:])
    if isinstance(equation, Tensor):
        equation, operands = sublist_equation(args)
    elif len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = list(operands[0])
    return ops.aten.einsum(equation, operands, path=path)


def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """`dims`: how many dimensions from a's end and b's start are summed over, or two lists.

    Raises RuntimeError for sizes that differ, and for a negative number.

    Example:

        >>> aten.tensordot(aten.tensor([[1, 2], [3, 4]]), aten.tensor([1, 1]), dims=1)
        tensor([3, 7])
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if not 0 <= dims <= min(a.dim(), b.dim()):
            raise RuntimeError(
                f"tensordot: dims is {dims}, the operands have {a.dim()} and {b.dim()} dimensions"
            )
        dims = list(range(a.dim() - dims, a.dim())), list(range(dims))
    pairs = [[one] if isinstance(one, int) else list(one) for one in dims]
    left, right = pairs if len(pairs) > 1 else (pairs[0], [])
    return ops.aten.tensordot(a, b, left, right, **_given(out=out))


def chain_matmul(*matrices: Any, out: Tensor | None = None) -> Tensor:
    """The product of matrices, given one by one or as a list.

    Example:

        >>> aten.chain_matmul(aten.ones(2, 3), aten.ones(3, 4), aten.ones(4, 1))
        tensor([[12.],
                [12.]])
    """
    given = matrices[0] if len(matrices) == 1 and not isinstance(matrices[0], Tensor) else matrices
    return ops.aten.chain_matmul(list(given), **_given(out=out))


def cdist(
    x1: Tensor,
    x2: Tensor,
    p: float = 2.0,
    compute_mode: str = "use_mm_for_euclid_dist_if_necessary",
) -> Tensor:
    """Distances of all rows of x1 (*, n, m) to those of x2 (*, k, m).

    Raises ValueError for a mode that is not one of the three.

    Example:

        >>> aten.cdist(aten.tensor([[0.0, 0.0]]), aten.tensor([[3.0, 4.0], [0.0, 1.0]]))
        tensor([[5., 1.]])
    """
    if compute_mode not in _COMPUTE_MODES:
        raise ValueError(f"cdist: {compute_mode!r} is not one of {', '.join(_COMPUTE_MODES)}")
    return ops.aten.cdist(x1, x2, p, _COMPUTE_MODES[compute_mode])


def _given(**arguments: Any) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}

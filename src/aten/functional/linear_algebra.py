"""Norms and factors of matrices whose arguments are freer than their schemas say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aten._core.dtypes import dtype
from aten._core.memory import write_out
from aten._core.tensor import Tensor
from aten.registry import ops

__all__ = ["lu", "norm"]


def norm(
    input: Tensor,
    p: float | str | None = "fro",
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    out: Tensor | None = None,
    dtype: dtype | None = None,
) -> Tensor:
    """A vector norm of all dimensions or those listed; "nuc" is that of matrices.

    Raises RuntimeError for other names, and for elements that are neither floating nor complex.
    """
    dims = [dim] if isinstance(dim, int) else None if dim is None else list(dim)
    options: dict[str, Any] = {"dtype": dtype, **({} if out is None else {"out": out})}
    if isinstance(p, str) and (p != "fro" or len(dims or ()) > 2):
        over = list(range(input.dim())) if dims is None else dims
        return ops.aten.linalg_matrix_norm(input, p, over, keepdim, **options)  # type: ignore[no-any-return]
    order = p if isinstance(p, (int, float)) else 2
    return ops.aten.linalg_vector_norm(input, order, dims, keepdim, **options)  # type: ignore[no-any-return]


def lu(
    A: Tensor,  # noqa: N803
    pivot: bool = True,
    get_infos: bool = False,
    out: Sequence[Tensor] | None = None,
) -> tuple[Tensor, ...]:
    """LU factors and pivots, and what is singular if `get_infos`; else that is a LinAlgError."""
    factor = ops.aten.linalg_lu_factor_ex if get_infos else ops.aten.linalg_lu_factor
    made: tuple[Tensor, ...] = tuple(factor(A, pivot=pivot))
    if out is None:
        return made
    if len(out) != len(made):
        raise TypeError(f"lu: expected {len(made)} tensors as out, got {len(out)}")
    for given, result in zip(out, made, strict=True):
        write_out("lu", given, result.contiguous(), ops.aten.copy_)
    return tuple(out)

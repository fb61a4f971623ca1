"""Products of matrices of eight-bit numbers, which come with the scales they were divided by."""

from __future__ import annotations

from collections.abc import Sequence

from aten._core.base.dtypes import DTYPES, dtype
from aten._core.tensor.memory import write_out
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.registry import ops

_FLOAT32 = DTYPES["float32"]
_BY_TENSOR, _BY_ROW = 0, 1


@op
def _scaled_mm(
    self: Tensor,
    mat2: Tensor,
    scale_a: Tensor,
    scale_b: Tensor,
    bias: Tensor | None = None,
    scale_result: Tensor | None = None,
    out_dtype: dtype | None = None,
    use_fast_accum: bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """(scale_a self) (scale_b mat2) + bias, computed in float32: (n, k), (k, m) -> (n, m).

    Scales are of one element, or (n, 1) and (1, m). The result is of `out_dtype`, or of the dtype
    of `self`; `scale_result` is not looked at, as on torch's CPU. Raises RuntimeError for operands
    that are not matrices of eight-bit floating-point numbers, or do not fit.
    """
    name = "_scaled_mm"
    _check_matrices(name, self, mat2)
    _check_scale(name, "scale_a", scale_a, (self.size(0), 1))
    _check_scale(name, "scale_b", scale_b, (1, mat2.size(1)))
    scales = (_of_matrix(scale_a), _of_matrix(scale_b))
    if out is None:
        return _product(self, mat2, scales, bias, self.dtype if out_dtype is None else out_dtype)
    # Into any dtype, without a rounding to eight bits before.
    write_out(name, out, _product(self, mat2, scales, bias, out.dtype), ops.aten.copy_.default)
    return out


@op
def _scaled_mm_v2(
    self: Tensor,
    mat2: Tensor,
    scale_a: Sequence[Tensor],
    recipe_a: Sequence[int],
    swizzle_a: Sequence[int],
    scale_b: Sequence[Tensor],
    recipe_b: Sequence[int],
    swizzle_b: Sequence[int],
    bias: Tensor | None,
    out_dtype: dtype | None,
    contraction_dim: Sequence[int] = (),
    use_fast_accum: bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """As `_scaled_mm`; a recipe says of what a scale is: 0 of the matrix, 1 of each row or column.

    Raises RuntimeError for scales that are not of their recipe, NotImplementedError for recipes of
    blocks, and for scales that are not in order, ValueError for `out` of another dtype.
    """
    name = "_scaled_mm_v2"
    element = self.dtype if out_dtype is None else out_dtype
    if out is not None and out.dtype is not element:
        raise ValueError(f"{name}: expected out of {element}, got {out.dtype}")
    _check_matrices(name, self, mat2)
    scales = (
        _scale_of_recipe(name, "a", scale_a, recipe_a, swizzle_a, (self.size(0), 1)),
        _scale_of_recipe(name, "b", scale_b, recipe_b, swizzle_b, (1, mat2.size(1))),
    )
    made = _product(self, mat2, scales, bias, element)
    if out is None:
        return made
    write_out(name, out, made, ops.aten.copy_.default)
    return out


def _scale_of_recipe(
    name: str,
    label: str,
    scales: Sequence[Tensor],
    recipes: Sequence[int],
    swizzles: Sequence[int],
    by_row: tuple[int, int],
) -> Tensor:
    if len(scales) != 1 or len(recipes) != 1 or recipes[0] not in (_BY_TENSOR, _BY_ROW):
        raise NotImplementedError(
            f"{name}: recipe_{label} must be [0] (one scale) or [1] (a scale for each row), got "
            f"{list(recipes)}"
        )
    if any(swizzles):
        raise NotImplementedError(f"{name}: swizzle_{label} must be [0], got {list(swizzles)}")
    expected = by_row if recipes[0] == _BY_ROW else (1, 1)
    _check_scale(name, f"scale_{label}", scales[0], expected)
    return _of_matrix(scales[0])


def _check_matrices(name: str, self: Tensor, mat2: Tensor) -> None:
    if self.dim() != 2 or mat2.dim() != 2 or self.size(1) != mat2.size(0):
        raise RuntimeError(
            f"{name}: expected matrices of (n, k) and (k, m), got {list(self.shape)} and "
            f"{list(mat2.shape)}"
        )
    for label, one in (("self", self), ("mat2", mat2)):
        if not one.dtype.name.startswith("float8"):
            raise RuntimeError(
                f"{name}: expected {label} of an eight-bit floating-point dtype, got {one.dtype}"
            )


def _check_scale(name: str, label: str, scale: Tensor, by_row: tuple[int, int]) -> None:
    if scale.dtype is not _FLOAT32:
        raise RuntimeError(f"{name}: expected {label} of float32, got {scale.dtype}")
    if scale.numel() != 1 and tuple(scale.shape) != by_row:
        raise RuntimeError(
            f"{name}: expected {label} of one element or {list(by_row)}, got {list(scale.shape)}"
        )


def _of_matrix(scale: Tensor) -> Tensor:
    return scale if scale.dim() == 2 else scale.reshape((1, 1))


def _product(
    self: Tensor,
    mat2: Tensor,
    scales: tuple[Tensor, Tensor],
    bias: Tensor | None,
    element: dtype,
) -> Tensor:
    left, right = self.to(_FLOAT32) * scales[0], mat2.to(_FLOAT32) * scales[1]
    made: Tensor = ops.aten.mm(left, right)
    if bias is not None:
        made = made + bias
    return made.to(element)

"""Operators on the elements that a mask selects: `mask` is True where an element counts.

Masks broadcast to the shape of what they mask. An element that does not count is replaced by the
operator's identity; a row in which none counts gives the identity, or NaN where there is none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from aten._core.base.dtypes import DTYPES, dtype
from aten._core.tensor.tensor import Tensor
from aten._core.tensor.tensor_impl import wrap_dimension
from aten.registry import ops

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]

Dims = int | Sequence[int] | None

_aten = ops.aten


def _zero(element: dtype) -> float:
    return 0


def _one(element: dtype) -> float:
    return 1


def _nan(element: dtype) -> float:
    return math.nan


def _least(element: dtype) -> float:
    """What is no greater than any element."""
    _require_order(element)
    if element.kind == "float":
        return -math.inf
    return 0 if element.kind == "unsigned" else -(1 << (8 * element.itemsize - 1))


def _greatest(element: dtype) -> float:
    """What is no less than any element."""
    _require_order(element)
    if element.kind == "float":
        return math.inf
    return (1 << (8 * element.itemsize - (element.kind == "signed"))) - 1


def _log_of_zero(element: dtype) -> float:
    return -math.inf if element.is_complex else _least(element)


def _require_order(element: dtype) -> None:
    """Raises NotImplementedError for bool, TypeError for complex numbers."""
    if element.kind == "bool":
        raise NotImplementedError("masked: there is no identity among elements of type bool")
    if element.is_complex:
        raise TypeError(f"masked: elements of type {element} have no order")


def _filled(input: Tensor, mask: Tensor | None, identity: Callable[[dtype], float]) -> Tensor:
    """`input` with the identity of its type where the mask is False."""
    if mask is None:
        return input
    return _aten.where(_fitting(mask, input), input, input.new_full((), identity(input.dtype)))


def _fitting(mask: Tensor, input: Tensor) -> Tensor:
    """The mask as bool, in the shape of `input`. Raises IndexError for more dimensions."""
    if mask.dim() > input.dim():
        raise IndexError(
            f"masked: mask must have at most {input.dim()} dimensions, but has {mask.dim()}"
        )
    return mask.to(DTYPES["bool"]).expand(input.shape)


def _dims(dim: Dims, input: Tensor) -> tuple[int, ...]:
    """Dimensions from the front. Raises RuntimeError for repeated ones, IndexError out of range."""
    if dim is None:
        return tuple(range(input.dim()))
    wrapped = tuple(
        wrap_dimension(one, input.dim()) for one in ((dim,) if isinstance(dim, int) else dim)
    )
    if len(set(wrapped)) != len(wrapped):
        raise RuntimeError(f"masked: dims must differ, got {dim}")
    return wrapped


def _summed_type(input: Tensor, dtype: dtype | None) -> dtype:
    if dtype is not None:
        return dtype
    return input.dtype if input.dtype.kind in ("float", "complex") else DTYPES["int64"]


def sum(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The sum of the elements where `mask` is true.

    Example:

        >>> aten.masked.sum(aten.tensor([1.0, 5.0, 3.0]), mask=aten.tensor([True, False, True]))
        tensor(4.)
    """
    filled = _filled(input, mask, _zero)
    return filled.sum(_dims(dim, input), bool(keepdim), dtype=_summed_type(input, dtype))


def prod(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The product of the elements where `mask` is true.

    Example:

        >>> aten.masked.prod(aten.tensor([1.0, 5.0, 3.0]), mask=aten.tensor([True, False, True]))
        tensor(3.)
    """
    made, element = _filled(input, mask, _one), _summed_type(input, dtype)
    for one in sorted(_dims(dim, input), reverse=True):
        made = made.prod(one, bool(keepdim), dtype=element)
    return made.to(element)


def cumsum(
    input: Tensor, dim: int, *, dtype: dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """Sums of the elements so far where `mask` is true; the others count as 0.

    Example:

        >>> aten.masked.cumsum(
        ...     aten.tensor([1.0, 5.0, 3.0]), 0, mask=aten.tensor([True, False, True])
        ... )
        tensor([1., 1., 4.])
    """
    return _filled(input, mask, _zero).cumsum(dim, dtype=dtype or input.dtype)


def cumprod(
    input: Tensor, dim: int, *, dtype: dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """Products of the elements so far where `mask` is true; the others count as 1.

    Example:

        >>> aten.masked.cumprod(
        ...     aten.tensor([1.0, 5.0, 3.0]), 0, mask=aten.tensor([True, False, True])
        ... )
        tensor([1., 1., 3.])
    """
    return _filled(input, mask, _one).cumprod(dim, dtype=dtype or input.dtype)


def amax(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The largest elements where `mask` is true.

    Example:

        >>> aten.masked.amax(aten.tensor([1.0, 5.0, 3.0]), mask=aten.tensor([True, False, True]))
        tensor(3.)
    """
    made = _filled(input, mask, _least).amax(_dims(dim, input), bool(keepdim))
    return made.to(dtype or input.dtype)


def amin(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The smallest elements where `mask` is true.

    Example:

        >>> aten.masked.amin(aten.tensor([1.0, 5.0, 3.0]), mask=aten.tensor([False, True, True]))
        tensor(3.)
    """
    made = _filled(input, mask, _greatest).amin(_dims(dim, input), bool(keepdim))
    return made.to(dtype or input.dtype)


def argmax(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The place of the greatest element that counts; in `dtype`, by default that of `input`.

    Example:

        >>> aten.masked.argmax(
        ...     aten.tensor([1.0, 5.0, 3.0]), dim=0, mask=aten.tensor([True, False, True])
        ... )
        tensor(2.)
    """
    return _filled(input, mask, _least).argmax(dim, bool(keepdim)).to(dtype or input.dtype)


def argmin(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The place of the least element that counts; in `dtype`, by default that of `input`.

    Example:

        >>> aten.masked.argmin(
        ...     aten.tensor([1.0, 5.0, 3.0]), dim=0, mask=aten.tensor([False, True, True])
        ... )
        tensor(2.)
    """
    return _filled(input, mask, _greatest).argmin(dim, bool(keepdim)).to(dtype or input.dtype)


def mean(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Raises ValueError for a `dtype`, by default that of `input`, that has no fractions.

    Example:

        >>> aten.masked.mean(aten.tensor([1.0, 5.0, 3.0]), mask=aten.tensor([True, False, True]))
        tensor(2.)
    """
    element = dtype or input.dtype
    if element.kind not in ("float", "complex"):
        raise ValueError(f"masked.mean: dtype must be floating or complex, but is {element}")
    total = sum(input, dim, keepdim=keepdim, dtype=element, mask=mask)
    return total / _count(input, _dims(dim, input), keepdim, mask)


def _count(input: Tensor, dims: Dims, keepdim: bool | None, mask: Tensor | None) -> Tensor:
    """How many elements count along `dims`."""
    counted = _aten.ones(input.shape, dtype=DTYPES["int64"], device=input.device)
    return sum(counted, dims, keepdim=keepdim, mask=mask)


def median(
    input: Tensor,
    dim: int = -1,
    *,
    keepdim: bool = False,
    dtype: dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Raises ValueError where no element of a row of integers counts.

    Example:

        >>> aten.masked.median(
        ...     aten.tensor([1.0, 5.0, 3.0]), 0, mask=aten.tensor([True, False, True])
        ... )
        tensor(1.)
    """
    floating = input.dtype.is_floating_point
    values = input if floating else input.to(DTYPES["float32"])
    found = _aten.nanmedian(_filled(values, mask, _nan), _dims(dim, input)[0], keepdim)[0]
    if floating:
        return found
    if bool(found.isnan().any().item()):
        raise ValueError("masked.median: of integers, some element of every row must count")
    return found.to(dtype or input.dtype)


def logsumexp(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The logarithm of the sum of exponentials where `mask` is true.

    Example:

        >>> aten.masked.logsumexp(
        ...     aten.tensor([0.0, 0.0, 9.0]), 0, mask=aten.tensor([True, True, False])
        ... )
        tensor(0.6931)
    """
    made = _filled(input, mask, _log_of_zero).logsumexp(_dims(dim, input), keepdim)
    return made.to(dtype or input.dtype)


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: dtype | None = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """log(exp(input) + exp(other)), of what the masks leave.

    Example:

        >>> aten.masked.logaddexp(
        ...     aten.tensor([0.0]), aten.tensor([0.0]), input_mask=aten.tensor([True]),
        ...     other_mask=aten.tensor([True])
        ... )
        tensor([0.6931])
    """
    left, right = _filled(input, input_mask, _least), _filled(other, other_mask, _least)
    return _aten.logaddexp(left, right).to(dtype or input.dtype)


def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The norm of the elements where `mask` is true.

    Example:

        >>> aten.masked.norm(
        ...     aten.tensor([3.0, 4.0, 9.0]), 2.0, 0, mask=aten.tensor([True, True, False])
        ... )
        tensor(5.)
    """
    order = 2.0 if ord is None else ord
    filled = _filled(input, mask, _greatest if order == -math.inf else _zero)
    return _aten.linalg_vector_norm(
        filled, order, _dims(dim, input), bool(keepdim), dtype=dtype or input.dtype
    )


def var(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The mean square of differences from the mean; `correction`, 1 by default, is taken off
    the count.

    Example:

        >>> aten.masked.var(aten.tensor([1.0, 5.0, 3.0]), mask=aten.tensor([True, False, True]))
        tensor(2.)
    """
    if unbiased is not None and correction is not None:
        raise AssertionError("masked.var: unbiased and correction exclude each other")
    if correction is None:
        correction = 0.0 if unbiased is False else 1.0
    element = dtype or (
        input.dtype if input.dtype.kind in ("float", "complex") else DTYPES["float32"]
    )
    compute = element if element.kind in ("float", "complex") else DTYPES["float32"]
    dims = _dims(dim, input)
    average = sum(input, dims, keepdim=True, dtype=element, mask=mask) / _count(
        input, dims, True, mask
    )
    centred = input - average
    squares = centred * (_aten.conj(centred) if centred.dtype.is_complex else centred)
    total = sum(squares, dims, keepdim=keepdim, dtype=compute, mask=mask)
    count = _count(input, dims, keepdim, mask).to(compute.to_real())
    return (total / (count - correction).clamp_min(0)).to(element)


def std(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The square root of `var`.

    Example:

        >>> aten.masked.std(aten.tensor([1.0, 5.0, 3.0]), mask=aten.tensor([True, False, True]))
        tensor(1.4142)
    """
    return var(
        input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask
    ).sqrt()


def softmax(
    input: Tensor, dim: int, *, dtype: dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """`softmax` of the elements where `mask` is true; the others get nothing.

    Example:

        >>> aten.masked.softmax(
        ...     aten.tensor([1.0, 1.0, 3.0]), 0, mask=aten.tensor([True, True, False])
        ... )
        tensor([0.5000, 0.5000, 0.0000])
    """
    return _filled(input, mask, _least).softmax(dim, dtype or input.dtype)


def log_softmax(
    input: Tensor, dim: int, *, dtype: dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The logarithm of `softmax` of the elements where `mask` is true.

    Example:

        >>> aten.masked.log_softmax(
        ...     aten.tensor([1.0, 1.0, 3.0]), 0, mask=aten.tensor([True, True, False])
        ... )
        tensor([-0.6931, -0.6931,    -inf])
    """
    return _filled(input, mask, _least).log_softmax(dim, dtype or input.dtype)


def softmin(
    input: Tensor, dim: int, *, dtype: dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The softmax of `-input`.

    Example:

        >>> aten.masked.softmin(
        ...     aten.tensor([1.0, 1.0, 3.0]), 0, mask=aten.tensor([True, True, False])
        ... )
        tensor([0.5000, 0.5000, 0.0000])
    """
    return (-_filled(input, mask, _greatest)).softmax(dim, dtype or input.dtype)


def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Divided by the norm of order `ord` along `dim`, or by `eps` where that is less.

    Example:

        >>> aten.masked.normalize(
        ...     aten.tensor([3.0, 4.0, 9.0]), 2.0, 0, mask=aten.tensor([True, True, False])
        ... )
        tensor([0.6000, 0.8000, 0.0000])
    """
    size = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _filled(input, mask, _zero) / _aten.maximum(size, size.new_full((), eps))

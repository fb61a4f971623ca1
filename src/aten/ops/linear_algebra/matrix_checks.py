"""What linear algebra asks of its operands, and how it says what a matrix does not allow."""

from __future__ import annotations

from aten._core.tensor.making import has_data, whole_of
from aten._core.tensor.tensor import Tensor
from aten.prims.factorizations import LinAlgError as LinAlgError
from aten.registry import ops

_ELEMENTS = ("float32", "float64", "complex64", "complex128")


def require_inexact_matrix(name: str, argument: str, given: Tensor) -> None:
    """Refuse tensors of less than two dimensions, and elements that LAPACK does not take."""
    if given.dim() < 2:
        raise RuntimeError(
            f"{name}: expected {argument} of two dimensions or more, got {given.dim()}"
        )
    require_element(name, argument, given)


def require_element(name: str, argument: str, given: Tensor) -> None:
    if given.dtype.name not in _ELEMENTS:
        raise RuntimeError(
            f"{name}: expected {argument} of a dtype among {', '.join(_ELEMENTS)}, got "
            f"{given.dtype.name}"
        )


def require_square(name: str, argument: str, given: Tensor) -> None:
    """As require_inexact_matrix; refuse also matrices that are not square."""
    require_inexact_matrix(name, argument, given)
    require_equal_sides(name, argument, given)


def require_equal_sides(name: str, argument: str, given: Tensor) -> None:
    if given.dim() < 2 or given.shape[-1] != given.shape[-2]:
        raise RuntimeError(
            f"{name}: expected {argument} to be square matrices, got shape {list(given.shape)}"
        )


def require_same(name: str, **operands: Tensor) -> None:
    """Refuse operands of several dtypes or devices."""
    (first, one), *others = operands.items()
    for second, other in others:
        if one.dtype != other.dtype or one.device != other.device:
            raise RuntimeError(
                f"{name}: expected {first} and {second} of one dtype and on one device, got "
                f"{one.dtype.name} on {one.device} and {other.dtype.name} on {other.device}"
            )


def require_rows(name: str, rows: int, other: Tensor, place: int) -> None:
    """Refuse a right-hand side whose dimension `place` has not as many elements as A has rows."""
    if other.shape[place] != rows:
        raise RuntimeError(
            f"{name}: the right-hand side has shape {list(other.shape)}; dimension {place} should "
            f"be {rows}"
        )


def require_finite(name: str, stack: Tensor) -> None:
    """Raise LinAlgError for infinities and NaNs, which keep iterations from ending."""
    if not bool(ops.aten.isfinite(whole_of(stack)).all()):
        raise LinAlgError(f"{name}: expected finite elements, got infinities or NaNs")


def refuse_reported(
    name: str, info: Tensor, meaning: str, kind: type[RuntimeError] = LinAlgError
) -> None:
    """Raise an error of `kind` for the first matrix of a batch that LAPACK reports something of.

    `meaning` says what, with {number} for the number reported.
    """
    if not has_data(info):
        return
    info = whole_of(info).reshape((-1,))
    reported = info.nonzero()
    if reported.numel():
        index = int(reported[0, 0].item())
        place = f" (batch element {index})" if info.numel() > 1 else ""
        raise kind(f"{name}: {meaning.format(number=info[index].item())}{place}")


SINGULAR = "diagonal element {number} of U is zero, the matrix is singular"
INDEFINITE = "the leading minor of order {number} is not positive"
DIVERGED = "the method did not converge (LAPACK reports {number})"

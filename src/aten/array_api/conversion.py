"""Arrays of another dtype."""

from __future__ import annotations

from aten._core.base.device import device as Device  # noqa: N812
from aten._core.base.dtypes import dtype
from aten._core.tensor.tensor import Tensor
from aten.array_api.array import Array, plain, wrap

__all__ = ["astype"]


def astype(
    x: Tensor, dtype: dtype, /, *, copy: bool = True, device: Device | str | None = None
) -> Array:
    """The array with another dtype, on another device if one is given.

    A new array, but for `copy` false where it has that dtype already. Raises TypeError for what is
    no dtype.
    """
    given = plain(x)
    _check(dtype)
    return wrap(given.to(given.device if device is None else device, dtype, copy=copy))


def _check(element: object) -> None:
    if not isinstance(element, dtype):
        raise TypeError(f"astype: expected a dtype, not {type(element).__name__}")

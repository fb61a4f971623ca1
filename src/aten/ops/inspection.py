"""From tensors to Python values."""

from __future__ import annotations

from collections.abc import Sequence

from aten._core import construct
from aten._core.device import device, layout
from aten._core.dtypes import dtype
from aten._core.tensor import Tensor
from aten.ops.definition import op
from aten.prims import Number


@op("size.int")
@op("sym_size.int")
def size(self: Tensor, dim: int) -> int:
    return self.size(dim)


@op("numel")
@op("sym_numel")
def numel(self: Tensor) -> int:
    return self.numel()


@op("item")
@op("_local_scalar_dense")
def item(self: Tensor) -> Number:
    """The only element, as a Python number. Raises RuntimeError unless there is just one."""
    return construct.item(self)  # type: ignore[no-any-return]


@op
def is_nonzero(self: Tensor) -> bool:
    """Whether the only element is not zero. Raises RuntimeError unless there is just one."""
    if self.numel() != 1:
        what = "no values" if self.numel() == 0 else "more than one value"
        raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
    return bool(construct.item(self))


@op
def equal(self: Tensor, other: Tensor) -> bool:
    """Whether shapes and all elements are equal; NaN equals nothing."""
    if self.dtype is not other.dtype:
        raise RuntimeError(
            f"equal: Expected dtype {self.dtype} for argument 'other' but got {other.dtype}"
        )
    if self.shape != other.shape:
        return False
    return self.numel() == 0 or bool(self.eq(other).all().item())


@op
def _assert_tensor_metadata(
    a: Tensor,
    size: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
    dtype: dtype | None = None,
    *,
    device: device | None = None,
    layout: layout | None = None,
) -> None:
    """Raises RuntimeError where the tensor is not what a program recorded it to be."""
    expected = {
        "sizes": (None if size is None else tuple(size), tuple(a.shape)),
        "strides": (None if stride is None else tuple(stride), a.stride()),
        "dtype": (dtype, a.dtype),
        "device": (device, a.device),
        "layout": (layout, a.layout),
    }
    for what, (wanted, found) in expected.items():
        if wanted is not None and wanted != found:
            raise RuntimeError(f"Tensor {what} mismatch! Expected: {wanted}, Got: {found}")

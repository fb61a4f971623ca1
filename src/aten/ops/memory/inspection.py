"""From tensors to Python values."""

from __future__ import annotations

from collections.abc import Sequence

from aten._core.base.device import device, layout
from aten._core.base.dtypes import dtype
from aten._core.base.errors import NoElementsError
from aten._core.tensor.making import has_data
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.prims import Number
from aten.registry import ops


@op("size.int")
@op("sym_size.int")
def size(self: Tensor, dim: int) -> int:
    return self.size(dim)


@op("numel")
@op("sym_numel")
def numel(self: Tensor) -> int:
    return self.numel()


@op
def item(self: Tensor) -> Number:
    """The only element, as a Python number. Raises RuntimeError unless there is just one."""
    return ops.aten._local_scalar_dense.default(self)


@op
def _local_scalar_dense(self: Tensor) -> Number:
    """The only element, as a Python number, on a device other than the CPU: copied from there."""
    if self.is_cpu or not has_data(self):
        raise NoElementsError(f"_local_scalar_dense: a tensor on {self.device} has no element")
    return ops.aten._local_scalar_dense(self.to("cpu"))


@op
def is_nonzero(self: Tensor) -> bool:
    """Whether the only element is not zero. Raises RuntimeError unless there is just one."""
    if self.numel() != 1:
        what = "no values" if self.numel() == 0 else "more than one value"
        raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
    return bool(ops.aten.item.default(self))


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
def allclose(
    self: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether all elements are close, as `isclose` says."""
    return bool(ops.aten.isclose(self, other, rtol, atol, equal_nan).all().item())


@op
def _is_all_true(self: Tensor) -> Tensor:
    """Whether all elements of a bool tensor are true."""
    _require_bool("_is_all_true", self)
    return self.all()


@op
def _is_any_true(self: Tensor) -> Tensor:
    """Whether some element of a bool tensor is true."""
    _require_bool("_is_any_true", self)
    return self.any()


def _require_bool(name: str, self: Tensor) -> None:
    if self.dtype.kind != "bool":
        raise RuntimeError(f"{name}: self must be of type bool, but is {self.dtype}")


@op
def _assert_async(self: Tensor) -> None:
    """Raises RuntimeError where the only element is zero."""
    ops.aten._assert_async.msg(self, "the tensor's only element is zero")


@op("_assert_async.msg")
def _assert_async_msg(self: Tensor, assert_msg: str) -> None:
    if has_data(self) and not ops.aten.is_nonzero(self):
        raise RuntimeError(f"_assert_async: {assert_msg}")


@op
def _assert_scalar(self: Number, assert_msg: str) -> None:
    """Raises RuntimeError where the number is zero."""
    if not self:
        raise RuntimeError(f"_assert_scalar: {assert_msg}")


@op("_functional_assert_async.msg")
def _functional_assert_async_msg(self: Tensor, assert_msg: str, dep_token: Tensor) -> Tensor:
    ops.aten._assert_async.msg(self, assert_msg)
    return dep_token.clone()


@op
def _functional_assert_scalar(self: Number, assert_msg: str, dep_token: Tensor) -> Tensor:
    ops.aten._assert_scalar(self, assert_msg)
    return dep_token.clone()


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

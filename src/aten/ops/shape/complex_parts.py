"""Views of complex tensors' parts, and of pairs of numbers as complex ones."""

from __future__ import annotations

from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.registry import ops


@op
def view_as_real(self: Tensor) -> Tensor:
    """Real and imaginary parts along a new last dimension. Raises RuntimeError for real dtypes."""
    if not self.is_complex():
        raise RuntimeError(f"view_as_real: self must be complex, but it is {self.dtype}")
    if self.is_conj():
        raise RuntimeError(
            "view_as_real: self is a lazy conjugate, whose parts are not in memory; "
            "resolve_conj() puts them there"
        )
    return self.unsqueeze(-1).view(self.dtype.to_real())


@op
def view_as_complex(self: Tensor) -> Tensor:
    """The last dimension, of size 2, as complex numbers.

    Raises RuntimeError for other sizes, strides that do not pair the parts, and other dtypes.
    """
    if not self.is_floating_point() or self.dtype.name == "bfloat16":
        raise RuntimeError(
            f"view_as_complex: self must be float16, float32 or float64, but it is {self.dtype}"
        )
    if self.dim() == 0 or self.shape[-1] != 2:
        raise RuntimeError(
            f"view_as_complex: self's last dimension must have size 2, got shape {list(self.shape)}"
        )
    if self.stride(-1) != 1 or self.storage_offset() % 2:
        raise RuntimeError(
            "view_as_complex: self's last dimension must have stride 1 and its storage_offset be "
            f"even, got strides {self.stride()} and offset {self.storage_offset()}"
        )
    if any(stride % 2 for stride in self.stride()[:-1]):
        raise RuntimeError(
            f"view_as_complex: self's strides but the last must be even, got {self.stride()}"
        )
    return self.view(self.dtype.to_complex()).squeeze(-1)


@op
def real(self: Tensor) -> Tensor:
    """A view of the real parts; a real tensor itself."""
    if not self.is_complex():
        return self
    pairs: Tensor = ops.aten.view_as_real.default(self._conj() if self.is_conj() else self)
    return pairs.select(-1, 0)


@op
def imag(self: Tensor) -> Tensor:
    """A view of the imaginary parts. Raises RuntimeError for real dtypes."""
    if not self.is_complex():
        raise RuntimeError(f"imag: self must be complex, but it is {self.dtype}")
    if self.is_conj():
        return ops.aten.view_as_real.default(self._conj()).select(-1, 1)._neg_view()
    return ops.aten.view_as_real.default(self).select(-1, 1)


@op
def conj(self: Tensor) -> Tensor:
    """A view that reads as the complex conjugate; a real tensor itself."""
    return ops.aten._conj(self) if self.is_complex() else self


@op
def resolve_conj(self: Tensor) -> Tensor:
    """The tensor with its conjugation carried out in memory: itself, unless it is lazy."""
    return self.clone() if self.is_conj() else self


@op
def resolve_neg(self: Tensor) -> Tensor:
    """The tensor with its negation carried out in memory: itself, unless it is lazy."""
    return self.clone() if self.is_neg() else self

"""What tensors around a program are besides their elements, and whether that is still so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from aten._core.dispatch.replaying import CallGuard, WriteGuard
from aten._core.memory.storage import Storage
from aten._core.tensor.construct import empty_strided
from aten._core.tensor.memory import exchange
from aten._core.tensor.tensor import Tensor
from aten.compiler import UnsupportedCaptureError
from aten.compiler.kinds import described
from aten.grad_mode import no_grad
from aten.graph.mapping import MappedFile


class Appearance(NamedTuple):
    """What a tensor was when it was met, so that it can be put back."""

    tensor: Tensor
    described: Any
    storage: Storage
    offset: int
    grad: Tensor | None
    attributes: dict[str, Any]

    def put_back(self) -> bool:
        """Let the tensor be what it was; whether it was something else."""
        now = appearance_of(self.tensor)
        attributes = now.attributes.keys() == self.attributes.keys() and all(
            value is self.attributes[name] for name, value in now.attributes.items()
        )
        shown = (now.described, now.offset) == (self.described, self.offset)
        if shown and attributes and now.storage is self.storage and now.grad is self.grad:
            return False
        if not attributes:
            vars(self.tensor).clear()
            vars(self.tensor).update(self.attributes)
        if now.grad is not self.grad:
            self.tensor.grad = self.grad
        if not shown or now.storage is not self.storage:
            dtype, sizes, strides, place, requires_grad, _ = self.described
            with no_grad():
                window = empty_strided((0,), (1,), dtype, place)
                exchange(self.tensor, window.set_(self.storage, self.offset, sizes, strides))
            if self.tensor.is_leaf:
                self.tensor.requires_grad = requires_grad
        return True


def appearance_of(tensor: Tensor) -> Appearance:
    """What a tensor is now."""
    return Appearance(
        tensor,
        described(tensor),
        tensor.untyped_storage(),
        tensor.storage_offset(),
        tensor.grad if tensor.is_leaf else None,
        dict(vars(tensor)),
    )


class SameSizes:
    """Whether tensors are of the sizes, strides and dtypes of before, and need gradients or not."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self._tensors = tuple(tensors)
        self._described = list(map(described, self._tensors))
        self._guard = CallGuard(self._tensors, [])

    @property
    def sizes_of_tensors(self) -> bool:
        """Whether it is so."""
        if self._guard.tensors(self._tensors) is not None:
            return True
        if list(map(described, self._tensors)) != self._described:
            return False
        # Something else that the guard looks at has changed: a kernel that somebody registered.
        self._guard = CallGuard(self._tensors, [])
        return True


class SameElements:
    """Whether nobody has written to tensors since this was made.

    Raises UnsupportedCaptureError where that cannot be known.
    """

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        try:
            self._guard = WriteGuard(tensors, MappedFile)
        except RuntimeError:
            raise UnsupportedCaptureError("it reads elements of an inference tensor") from None
        if not self._guard.sees_all:
            raise UnsupportedCaptureError("it reads elements that others may write to")

    @property
    def elements_that_were_read(self) -> bool:
        """Whether it is so."""
        return self._guard.holds()

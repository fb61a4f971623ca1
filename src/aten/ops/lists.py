"""Lists of tensors that are changed one after another: all of them, or none."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

from aten._core.tensor.tensor import Tensor

Tensors = Sequence[Tensor]


class Unchanged:
    """While open, an exception leaves the tensors of `written` as they were before.

    That may be memory that is refused for one of the last, so copies of all of them are kept.
    """

    __slots__ = ("_kept", "_written")

    def __init__(self, written: Sequence[Tensors]) -> None:
        self._written = [one for tensors in written for one in tensors]
        self._kept = [one.clone() for one in self._written]

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            return
        for one, elements in zip(self._written, self._kept, strict=True):
            one.copy_(elements)

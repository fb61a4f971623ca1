"""Sizes that data decide, where there are no data: whoever captures programs says what they are."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from aten._core.base.errors import NoElementsError
from aten._core.tensor.tensor import Tensor


class Sizes(Protocol):
    """Says how large results are that nobody knows."""

    def size(self, name: str, operands: Sequence[object], least: int, most: int | None) -> int:
        """See `unknown_size`."""

    def same(self, one: Tensor, other: Tensor) -> None:
        """Lets tensors with memory of their own have the same elements."""


class _InForce(threading.local):
    def __init__(self) -> None:
        self.entered: list[Sizes | None] = []


_in_force = _InForce()


@contextmanager
def saying(sizes: Sizes | None) -> Iterator[None]:
    """Lets `sizes` say how large results are on this thread; with None nobody does."""
    _in_force.entered.append(sizes)
    try:
        yield
    finally:
        _in_force.entered.pop()


def saying_now() -> Sizes | None:
    """What says how large results are on this thread."""
    return _in_force.entered[-1] if _in_force.entered else None


def unknown_size(name: str, operands: Sequence[object], least: int, most: int | None) -> int:
    """A size that the elements of operands without data would decide.

    Args:
        name: what is counted. The same name and operands are the same size.
        operands: the tensors and numbers that it depends on.
        least, most: what it is for any data; None where there is no limit.

    Raises NoElementsError where nobody says.
    """
    return _said(name).size(name, operands, least, most)


def unknown_count(caller: str, *masks: Tensor) -> int:
    """How many elements of masks without data are not zero; several name as many each.

    Raises NoElementsError where nobody says.
    """
    return _said(caller).size("nonzero", masks, 0, max(one.numel() for one in masks))


def _said(caller: str) -> Sizes:
    sizes = saying_now()
    if sizes is None:
        raise NoElementsError(f"{caller}: the elements are not known on the meta device")
    return sizes

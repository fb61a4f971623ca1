"""Forward mode by tensors that carry their tangents, as torch spells it.

Example:

    >>> from aten.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(aten.tensor(3.0), aten.tensor(1.0))
    ...     forward_ad.unpack_dual(x * x).tangent
    tensor(6.)
"""

from __future__ import annotations

from typing import Any, NamedTuple

from aten._core.tensor.tensor import Tensor
from aten.transforms import duals

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]


class UnpackedDualTensor(NamedTuple):
    """A tensor's primal, and its tangent, or None where it has none."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Begin a level, in which tensors may have tangents. Raises RuntimeError where there is one."""
    duals.enter_level()
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """End the level: its tangents are gone. Raises RuntimeError where there is none."""
    if level not in (None, 0):
        raise RuntimeError(f"exit_dual_level: there is level 0 alone, not {level}")
    duals.leave_level()


class dual_level:  # noqa: N801 (torch's name)
    """A context with a level: tangents given in it are gone behind it."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exc_info: object) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A tensor that shows the memory of `tensor`, and has `tangent` for its tangent.

    Raises:
        RuntimeError: there is no level, or shapes or dtypes are not the same.
        ValueError: the tensor is of integers.
    """
    return duals.made_dual(tensor, tangent)


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """The tensor without its tangent, and that."""
    return UnpackedDualTensor(*duals.parts_of(tensor))

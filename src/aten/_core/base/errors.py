"""What errors say of things that are not there."""

from __future__ import annotations

from aten._core.base.keys import DispatchKey

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NO_GRADIENTS = "there are no gradients in aten yet; without them everything else works"


class NoDeviceError(AssertionError, NotImplementedError):
    """A device that nothing here computes on.

    torch raises AssertionError, RuntimeError or NotImplementedError for it, by the device; programs
    that expect any of them catch this one.
    """

    def __init__(self, place: Any) -> None:
        super().__init__(
            f"there is no backend for the device {place}: this build of aten has the devices cpu "
            f"and meta, and those that a program registers"
        )


class OutOfMemoryError(RuntimeError):
    """An accelerator's memory is used up; nothing here raises it, programs may name it."""


class AcceleratorError(RuntimeError):
    """An accelerator has failed; nothing here raises it, programs may name it."""


class NoElementsError(NotImplementedError):
    """What is asked for depends on elements, and a tensor on the meta device has none."""


class DataDependentOutputException(RuntimeError):  # noqa: N818 (torch's name)
    """What an operator gives depends on the values of a tensor that has none.

    `func` is the operator, by name where it is not an operator of the registry.
    """

    def __init__(self, func: Any, tensor: Any = None) -> None:
        self.func = func
        if tensor is None:
            shown = ""
        elif tensor._dispatch_keys().has(DispatchKey.__members__["FuncTorchBatched"]):
            shown = f", of one row of a batch under vmap, of shape {list(tensor.shape)}"
        else:
            shown = f", of a fake {tensor.dtype} tensor of {list(tensor.shape)}"
        super().__init__(f"{func}: the result depends on values{shown}, and there are none")


class DynamicOutputShapeException(RuntimeError):  # noqa: N818 (torch's name)
    """How large an operator's result is depends on the values of a tensor that has none."""

    def __init__(self, func: Any) -> None:
        self.func = func
        super().__init__(f"{func}: the sizes of the result depend on values, and there are none")

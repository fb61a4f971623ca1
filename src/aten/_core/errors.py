"""What errors say of things that are not there."""

from __future__ import annotations

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

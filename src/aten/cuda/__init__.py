"""GPUs with CUDA, of which there are none: questions have answers, what needs a device says so."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from aten._core.base.errors import AcceleratorError, OutOfMemoryError
from aten.cuda import amp
from aten.names.absent_devices import answers, chosen_device
from aten.tensor_type.tensor_types import CUDA_TYPES

__all__ = [
    "AcceleratorError",
    "OutOfMemoryError",
    "amp",
    "device",
    "has_half",
    "has_magma",
    "stream",
]

has_half = True
has_magma = False
device = chosen_device


def stream(stream: Any) -> Any:
    """The context in which work goes to `stream`; None is no stream, and changes nothing.

    Raises NoDeviceError for others, which there cannot be.
    """
    if stream is None:
        return nullcontext()
    return answers("cuda")["set_stream"](stream)


globals().update(answers("cuda"))
globals().update(CUDA_TYPES)

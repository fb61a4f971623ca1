from collections.abc import Callable
from typing import Any

from aten._core.dispatch.dispatcher import Kernel
from aten._core.dispatch.fast_path import FastPath

NAMES: tuple[str, ...]

class SmallSpectrumKernel(FastPath):
    def __init__(
        self,
        native: str,
        address_of: Callable[[str], int],
        replaced: tuple[str, ...],
        find: Callable[[str], Any],
        otherwise: Kernel,
    ) -> None: ...

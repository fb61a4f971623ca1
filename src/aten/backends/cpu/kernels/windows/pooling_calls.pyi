from collections.abc import Callable
from typing import Any

from aten._core.dispatch.dispatcher import Kernel
from aten._core.dispatch.fast_path import FastPath

KINDS: dict[str, tuple[str, int, str]]

class PoolKernel(FastPath):
    def __init__(
        self,
        native: str,
        prepare: Callable[..., Any],
        arguments: int,
        replaced: tuple[str, ...],
        find: Callable[[str], Any],
        otherwise: Kernel,
    ) -> None: ...

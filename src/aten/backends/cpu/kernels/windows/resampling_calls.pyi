from collections.abc import Callable
from typing import Any

from aten._core.dispatch.dispatcher import Kernel, OpOverload
from aten._core.dispatch.fast_path import FastPath

NAMES: tuple[str, ...]

class SizeKernel(FastPath):
    def __init__(
        self,
        target: OpOverload,
        rank: int,
        replaced: tuple[str, ...],
        find: Callable[[str], OpOverload],
        otherwise: Kernel,
    ) -> None: ...

class ResizeKernel(FastPath):
    def __init__(
        self,
        native: str,
        prepare: Callable[..., Any],
        arguments: int,
        replaced: tuple[str, ...],
        find: Callable[[str], OpOverload],
        otherwise: Kernel,
    ) -> None: ...

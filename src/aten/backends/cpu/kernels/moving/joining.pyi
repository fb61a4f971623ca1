from collections.abc import Callable

from aten._core.dispatch.dispatcher import Kernel, OpOverload
from aten._core.dispatch.fast_path import FastPath

class JoinKernel(FastPath):
    def __init__(
        self,
        native: str,
        copy: OpOverload,
        replaced: tuple[str, ...],
        find: Callable[[str], OpOverload],
        otherwise: Kernel,
        has_out: bool = False,
    ) -> None: ...

NAMES: tuple[str, ...]

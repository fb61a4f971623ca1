from collections.abc import Callable

from aten._core.dispatch.dispatcher import Kernel, OpOverload
from aten._core.dispatch.fast_path import FastPath

NAMES: dict[str, tuple[int, bool]]

class NamedConvolutionKernel(FastPath):
    def __init__(
        self,
        native: str,
        replaced: tuple[str, ...],
        find: Callable[[str], OpOverload],
        otherwise: Kernel,
    ) -> None: ...

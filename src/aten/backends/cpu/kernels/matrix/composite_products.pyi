from collections.abc import Callable, Sequence

from aten._core.dispatch.dispatcher import Kernel, OpOverload
from aten._core.dispatch.fast_path import FastPath

class MatmulKernel(FastPath):
    def __init__(
        self,
        products: Sequence[OpOverload],
        replaced: tuple[str, ...],
        find: Callable[[str], OpOverload],
        otherwise: Kernel,
    ) -> None: ...

class LinearKernel(FastPath):
    def __init__(
        self,
        replaced: tuple[str, ...],
        find: Callable[[str], OpOverload],
        otherwise: Kernel,
    ) -> None: ...

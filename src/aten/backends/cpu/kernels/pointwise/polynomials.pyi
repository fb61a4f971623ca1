from collections.abc import Callable

from aten._core.dispatch.dispatcher import Kernel, OpOverload
from aten._core.dispatch.fast_path import FastPath

NAMES: tuple[str, ...]

class PolynomialKernel(FastPath):
    def __init__(
        self,
        native: str,
        limits: tuple[float, float],
        most_steps: float,
        replaced: tuple[str, ...],
        find: Callable[[str], OpOverload],
        otherwise: Kernel,
    ) -> None: ...

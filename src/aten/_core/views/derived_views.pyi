from collections.abc import Callable

from aten._core.dispatch.dispatcher import Kernel, OpOverload
from aten._core.dispatch.fast_path import FastPath

class DerivedViewKernel(FastPath):
    def __init__(
        self,
        native: str,
        replaced: tuple[str, ...],
        find: Callable[[str], OpOverload],
        otherwise: Kernel,
        many: bool,
    ) -> None: ...

NAMES: tuple[str, ...]

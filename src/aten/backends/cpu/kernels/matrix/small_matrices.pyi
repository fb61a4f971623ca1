from collections.abc import Callable
from typing import Any

from aten._core.dispatch.dispatcher import Kernel
from aten._core.dispatch.stand_in import CompiledFirst, StandIn

NAMES: tuple[str, ...]

class SmallMatrixKernel(CompiledFirst):
    def __init__(self, native: str, otherwise: Kernel) -> None: ...

class SmallMatrixStandIn(StandIn):
    def __init__(
        self, native: str, replaced: tuple[str, ...], find: Callable[[str], Any], otherwise: Kernel
    ) -> None: ...

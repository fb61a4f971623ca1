from collections.abc import Callable
from typing import Any

from aten._core.dispatch.dispatcher import Kernel
from aten._core.dispatch.stand_in import CompiledFirst, StandIn

NAMES: tuple[str, ...]

class SpectrumOfSmall(CompiledFirst):
    def __init__(
        self, native: str, address_of: Callable[[str], int], otherwise: Kernel
    ) -> None: ...

class SpectrumStandIn(StandIn):
    def __init__(
        self,
        native: str,
        address_of: Callable[[str], int],
        replaced: tuple[str, ...],
        find: Callable[[str], Any],
        otherwise: Kernel,
    ) -> None: ...

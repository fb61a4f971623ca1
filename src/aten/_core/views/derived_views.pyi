from collections.abc import Callable

from aten._core.dispatch.dispatcher import Kernel, OpOverload
from aten._core.dispatch.stand_in import StandIn

class DerivedViewKernel(StandIn):
    def __init__(
        self,
        native: str,
        replaced: tuple[str, ...],
        find: Callable[[str], OpOverload],
        otherwise: Kernel,
        many: bool,
    ) -> None: ...

NAMES: tuple[str, ...]

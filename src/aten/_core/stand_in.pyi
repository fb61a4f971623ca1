from collections.abc import Sequence

from aten._core.dispatcher import Kernel, OpOverload

class StandIn(Kernel):
    def __init__(self, native: str, operators: Sequence[OpOverload], otherwise: Kernel) -> None: ...

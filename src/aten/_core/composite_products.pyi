from collections.abc import Sequence

from aten._core.dispatcher import Kernel, OpOverload
from aten._core.stand_in import StandIn

class MatmulKernel(StandIn):
    def __init__(self, operators: Sequence[OpOverload], otherwise: Kernel) -> None: ...

class LinearKernel(StandIn):
    def __init__(self, operators: Sequence[OpOverload], otherwise: Kernel) -> None: ...

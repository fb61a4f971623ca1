from aten._core.device import device, memory_format
from aten._core.dispatcher import Kernel, OpOverload
from aten._core.dtypes import dtype
from aten._core.stand_in import StandIn
from aten._core.tensor import Tensor

class FactoryKernel(Kernel):
    place: str
    def __init__(self, op: OpOverload, native: str) -> None: ...

def empty_like(
    source: Tensor,
    element: dtype | None = None,
    place: device | None = None,
    format: memory_format | None = None,
) -> Tensor: ...
def sequence(count: int, start: float, step: float, element: dtype) -> Tensor: ...
def sequence_between(
    count: int, start: float, end: float, step: float, element: dtype
) -> Tensor: ...

class SequenceKernel(StandIn): ...

SEQUENCES: tuple[str, ...]

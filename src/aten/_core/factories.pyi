from aten._core.device import device, memory_format
from aten._core.dispatcher import Kernel, OpOverload
from aten._core.dtypes import dtype
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

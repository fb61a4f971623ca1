from collections.abc import Callable
from typing import Any

from aten._core.base.device import device, memory_format
from aten._core.base.dtypes import dtype
from aten._core.dispatch.dispatcher import Kernel, OpOverload
from aten._core.tensor.tensor import Tensor

NAMES: frozenset[str]

class FactoryKernel(Kernel):
    place: str
    def __init__(self, op: OpOverload, native: str) -> None: ...

def set_fill_operator(operator: Callable[[Tensor, Any], Any]) -> None: ...
def empty_like(
    source: Tensor,
    element: dtype | None = None,
    place: device | None = None,
    format: memory_format | None = None,
) -> Tensor: ...

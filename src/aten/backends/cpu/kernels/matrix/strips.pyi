from aten._core.dispatch.dispatcher import Kernel
from aten._core.dispatch.fast_path import FastPath
from aten._core.tensor.tensor import Tensor

class StripsKernel(FastPath):
    def __init__(self, otherwise: Kernel) -> None: ...

def width_of_strips(element: str, columns: int) -> int: ...
def multiplied(*arguments: object) -> Tensor | None: ...
def multiply_piece(
    out: Tensor,
    left: Tensor,
    strips: Tensor,
    bias: Tensor | None,
    first: int,
    low: float | None = None,
    high: float | None = None,
) -> bool: ...

from collections.abc import Sequence

from aten._core.dispatch.dispatcher import Kernel, OpOverload
from aten._core.tensor.tensor import Tensor

class ViewKernel(Kernel):
    place: str
    def __init__(self, op: OpOverload, native: str) -> None: ...

def try_view(base: Tensor, sizes: Sequence[int]) -> Tensor | None: ...
def inferred_shape(base: Tensor, sizes: Sequence[int]) -> tuple[int, ...]: ...

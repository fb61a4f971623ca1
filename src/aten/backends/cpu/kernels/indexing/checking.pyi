from aten._core.dispatch.dispatcher import Kernel
from aten._core.dispatch.fast_path import FastPath
from aten._core.tensor.tensor import Tensor

class CheckedIndexKernel(FastPath):
    def __init__(self, otherwise: Kernel) -> None: ...

def checked(*arguments: object) -> Tensor | None: ...

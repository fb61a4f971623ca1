from typing import Any

from aten._core.dispatch.dispatcher import Kernel
from aten._core.dispatch.fast_path import FastPath
from aten._core.tensor.tensor import Tensor

def convolved(*arguments: Any) -> Tensor | None: ...
def projected(*arguments: Any) -> Tensor | None: ...

class ExpandedConvolutionKernel(FastPath):
    def __init__(self, otherwise: Kernel) -> None: ...

class InvertedResidualKernel(FastPath):
    def __init__(self, otherwise: Kernel) -> None: ...

from typing import Any

from aten._core.dispatch.dispatcher import Kernel
from aten._core.dispatch.fast_path import FastPath
from aten._core.tensor.tensor import Tensor

def convolved(*arguments: Any) -> Tensor | None: ...

class ConvolutionKernel(FastPath):
    def __init__(self, otherwise: Kernel, has_epilogue: bool) -> None: ...

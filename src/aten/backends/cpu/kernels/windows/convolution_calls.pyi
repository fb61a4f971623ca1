from aten._core.dispatch.dispatcher import Kernel
from aten._core.dispatch.fast_path import FastPath

class ConvolutionKernel(FastPath):
    def __init__(self, otherwise: Kernel, has_epilogue: bool) -> None: ...

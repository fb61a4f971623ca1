from aten._core.dispatch.dispatcher import Kernel

class ConvolutionKernel(Kernel):
    def __init__(self, otherwise: Kernel, has_epilogue: bool) -> None: ...

from aten._core.dispatch.dispatcher import Kernel, OpOverload
from aten._core.dispatch.fast_path import FastPath

class ForwardingKernel(FastPath):
    target: OpOverload
    sources: tuple[int | tuple[object], ...]
    def __init__(
        self,
        target: OpOverload,
        sources: tuple[int | tuple[object], ...],
        absent: tuple[int, ...],
        first: bool,
        otherwise: Kernel,
    ) -> None: ...

from aten._core.dispatch.dispatcher import Kernel, OpOverload

class ForwardingKernel(Kernel):
    target: OpOverload
    otherwise: Kernel
    sources: tuple[int | tuple[object], ...]
    def __init__(
        self,
        target: OpOverload,
        sources: tuple[int | tuple[object], ...],
        absent: tuple[int, ...],
        first: bool,
        otherwise: Kernel,
    ) -> None: ...

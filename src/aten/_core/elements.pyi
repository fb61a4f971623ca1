from aten._core.dispatcher import Kernel, OpOverload

NATIVE: tuple[str, ...]

class ElementKernel(Kernel):
    def __init__(self, op: OpOverload, native: str, otherwise: Kernel) -> None: ...
    @property
    def native(self) -> str: ...
    @property
    def otherwise(self) -> Kernel: ...

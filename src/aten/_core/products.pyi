from collections.abc import Collection

from aten._core.dispatcher import Kernel, OpOverload

FORMS: Collection[str]

class ProductKernel(Kernel):
    @property
    def form(self) -> str: ...
    @property
    def executes(self) -> bool: ...
    def __init__(self, op: OpOverload, form: str, executes: bool) -> None: ...

class MatmulKernel(Kernel):
    def __init__(
        self,
        matrices: OpOverload,
        matrix_vector: OpOverload,
        vectors: OpOverload,
        otherwise: Kernel,
    ) -> None: ...

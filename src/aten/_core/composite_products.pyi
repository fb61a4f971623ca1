from aten._core.dispatcher import Kernel, OpOverload

class MatmulKernel(Kernel):
    @property
    def place(self) -> str: ...
    def __init__(
        self,
        matrices: OpOverload,
        matrix_vector: OpOverload,
        vectors: OpOverload,
        batches: OpOverload,
        otherwise: Kernel,
    ) -> None: ...

class LinearKernel(Kernel):
    @property
    def place(self) -> str: ...
    def __init__(
        self, matrices: OpOverload, added_matrices: OpOverload, otherwise: Kernel
    ) -> None: ...

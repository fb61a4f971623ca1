from collections.abc import Callable

from aten._core.dispatch.dispatcher import Kernel, OpOverload
from aten._core.dispatch.fast_path import FastPath
from aten._core.tensor.tensor import Tensor

def picked_and_weighed(
    values: Tensor,
    index: Tensor,
    weight: Tensor | None,
    ignored: int,
    summed: bool,
    averaged: bool,
) -> tuple[Tensor, Tensor] | None: ...

class CrossEntropyKernel(FastPath):
    def __init__(
        self,
        logarithms: OpOverload,
        many: int,
        replaced: tuple[str, ...],
        find: Callable[[str], OpOverload],
        otherwise: Kernel,
    ) -> None: ...

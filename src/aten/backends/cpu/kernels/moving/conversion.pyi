from collections.abc import Callable
from typing import Any

from aten._core.base.dtypes import dtype
from aten._core.dispatch.dispatcher import Kernel, OpOverload
from aten._core.dispatch.fast_path import FastPath
from aten._core.tensor.tensor import Tensor

class CopyKernel(FastPath):
    def __init__(self, otherwise: Kernel) -> None: ...

class ReorderKernel(FastPath):
    def __init__(self, copy: OpOverload, otherwise: Kernel) -> None: ...

class ConvertKernel(FastPath):
    def __init__(
        self, convert: OpOverload, positions: tuple[int, int], otherwise: Kernel
    ) -> None: ...

class ConvertedCopyKernel(FastPath):
    def __init__(
        self,
        write: OpOverload,
        replaced: tuple[str, ...],
        find: Callable[[str], OpOverload],
        otherwise: Kernel,
    ) -> None: ...

def conversion_method(convert: OpOverload, element: dtype) -> Callable[..., Tensor]: ...
def free_conversion_method(
    convert: OpOverload, general: Callable[..., Any]
) -> Callable[..., Tensor]: ...

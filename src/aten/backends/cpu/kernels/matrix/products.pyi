from collections.abc import Collection
from typing import Any

from aten._core.dispatch.dispatcher import Kernel, OpOverload
from aten._core.tensor.tensor import Tensor

FORMS: Collection[str]

def multiplied(kernel: ProductKernel, *arguments: Any) -> Tensor | None: ...

class ProductKernel(Kernel):
    @property
    def form(self) -> str: ...
    @property
    def executes(self) -> bool: ...
    def __init__(self, op: OpOverload, form: str, executes: bool) -> None: ...

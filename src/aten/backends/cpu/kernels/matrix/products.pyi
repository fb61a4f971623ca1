from collections.abc import Collection

from aten._core.dispatch.dispatcher import Kernel, OpOverload

FORMS: Collection[str]

class ProductKernel(Kernel):
    @property
    def form(self) -> str: ...
    @property
    def executes(self) -> bool: ...
    def __init__(self, op: OpOverload, form: str, executes: bool) -> None: ...

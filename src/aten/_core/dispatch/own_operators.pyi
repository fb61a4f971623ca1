from collections.abc import Callable
from typing import Any

from aten._core.dispatch.dispatcher import OpOverload
from aten._core.dispatch.python_kernel import PythonKernel

class CustomOperator:
    _opoverload: OpOverload
    def __init__(self, op: OpOverload) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

class CustomKernel(PythonKernel):
    def serve_by(self, function: Callable[..., Any]) -> None: ...

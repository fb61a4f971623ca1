from typing import Any

from aten._core.dispatch.dispatcher import Kernel, OpOverload

class PointwiseKernel(Kernel):
    op: OpOverload
    backend: Any
    parameters: tuple[tuple[str, str, bool, frozenset[Any] | None], ...]
    label: str
    def __init__(
        self,
        op: OpOverload,
        backend: object,
        parameters: tuple[tuple[str, str, bool, frozenset[Any] | None], ...],
        defaults: tuple[object, ...],
        out_position: int,
        inplace: bool,
        repeatable: bool = ...,
    ) -> None: ...

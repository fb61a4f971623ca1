from collections.abc import Sequence
from typing import Any

from aten._core.base.dtypes import dtype
from aten._core.dispatch.dispatcher import Kernel, OpOverload
from aten._core.tensor.tensor import Tensor
from aten.backends.terms import LaunchTerms

class Launch:
    label: str
    def __init__(self, terms: LaunchTerms, address: int, owner: object) -> None: ...

class Plan:
    def __init__(
        self,
        launches: Sequence[Launch],
        outputs: Sequence[tuple[dtype, tuple[int, ...], tuple[int, ...] | None]],
        temporaries: Sequence[tuple[dtype, tuple[int, ...], tuple[int, ...] | None]],
        inputs: int,
        single: bool,
        device_type: int,
        executes: bool,
    ) -> None: ...

class PlanKernel(Kernel):
    op: OpOverload
    backend: Any
    label: str
    def __init__(self, op: OpOverload, backend: object, count: int) -> None: ...

def is_plain(tensor: Tensor) -> bool: ...

class FusedKernel:
    label: str
    def __init__(self, label: str, backend: object, count: int) -> None: ...
    def __call__(self, *tensors: Tensor) -> Any: ...

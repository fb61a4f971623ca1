from aten._core.base.dtypes import dtype
from aten._core.dispatch.fast_path import FastPath
from aten._core.tensor.tensor import Tensor

def sequence(count: int, start: float, step: float, element: dtype) -> Tensor: ...
def sequence_between(
    count: int, start: float, end: float, step: float, element: dtype
) -> Tensor: ...

class SequenceKernel(FastPath): ...

NAMES: tuple[str, ...]

BETWEEN: tuple[str, ...]

class BetweenKernel(FastPath): ...

TRIANGLES: tuple[str, ...]

class TriangleKernel(FastPath): ...

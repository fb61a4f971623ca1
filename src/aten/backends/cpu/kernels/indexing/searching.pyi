from aten._core.dispatch.fast_path import FastPath
from aten._core.tensor.tensor import Tensor

NAMES: tuple[str, ...]

def search_sorted(
    boundaries: Tensor, values: Tensor, order: Tensor | None, out: Tensor, right: bool
) -> None: ...

class SearchKernel(FastPath): ...

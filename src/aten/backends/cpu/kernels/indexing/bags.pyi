from collections.abc import Callable, Sequence

from aten._core.dispatch.dispatcher import Kernel, OpOverload
from aten._core.dispatch.fast_path import FastPath
from aten._core.tensor.tensor import Tensor

def fold_bags(
    table: Tensor,
    indices: Tensor,
    offsets: Tensor,
    mode: int,
    weights: Tensor | None,
    count: int,
    padding: int,
    lists_bags: bool = True,
) -> tuple[Tensor, Tensor, Tensor, Tensor]: ...
def sum_bags(
    tables: Sequence[Tensor],
    indices: Sequence[Tensor],
    offsets: Sequence[Tensor],
    without: int,
) -> list[Tensor] | None: ...

class BagsKernel(FastPath):
    def __init__(
        self, replaced: tuple[str, ...], find: Callable[[str], OpOverload], otherwise: Kernel
    ) -> None: ...

from collections.abc import Sequence

from aten._core.tensor import Tensor

def max_pool(
    input: Tensor,
    out: Tensor,
    indices: Tensor | None,
    begins: Sequence[Sequence[int]],
    ends: Sequence[Sequence[int]],
    steps: Sequence[int],
    apart: bool = False,
) -> None: ...
def average_pool(
    input: Tensor,
    out: Tensor,
    begins: Sequence[Sequence[int]],
    ends: Sequence[Sequence[int]],
    extents: Sequence[Sequence[int]],
    divisor: int,
) -> None: ...
def average_pool_backward(
    gradient: Tensor,
    out: Tensor,
    begins: Sequence[Sequence[int]],
    ends: Sequence[Sequence[int]],
    extents: Sequence[Sequence[int]],
    divisor: int,
) -> None: ...
def spread_planes(values: Tensor, indices: Tensor, out: Tensor, accumulates: bool) -> None: ...

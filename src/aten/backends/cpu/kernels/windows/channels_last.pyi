from collections.abc import Sequence

from aten._core.tensor.tensor import Tensor

def suits_last(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    sizes: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> bool: ...
def convolve_last(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    out: Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    finish: tuple[Tensor | None, float, float, int] | None = None,
) -> None: ...

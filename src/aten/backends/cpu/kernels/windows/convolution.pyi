from collections.abc import Sequence

from aten._core.tensor.tensor import Tensor

def convolve(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    out: Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    groups: int,
    finish: tuple[Tensor | None, float, float, int] | None = None,
) -> None: ...

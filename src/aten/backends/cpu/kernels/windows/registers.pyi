from collections.abc import Sequence

from aten._core.tensor.tensor import Tensor

def convolve_in_registers(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    out: Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> None: ...
def suits_registers(
    input: Tensor,
    weight: Tensor,
    sizes: Sequence[int],
    last: bool,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> bool: ...

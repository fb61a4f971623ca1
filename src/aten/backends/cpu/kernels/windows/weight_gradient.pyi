from collections.abc import Sequence

from aten._core.tensor.tensor import Tensor

def weigh(
    wide: Tensor,
    narrow: Tensor,
    out: Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> bool: ...

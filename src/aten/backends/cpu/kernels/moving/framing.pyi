from collections.abc import Sequence

from aten._core.tensor.tensor import Tensor

def frame(out: Tensor, base: Tensor, before: Sequence[int], mode: str) -> bool: ...

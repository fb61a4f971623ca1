from aten._core.tensor.tensor import Tensor

def transform(
    given: Tensor, out: Tensor, dim: int, length: int, inverse: bool, scale: float
) -> None: ...

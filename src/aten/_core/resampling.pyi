from aten._core.tensor import Tensor

def weigh(
    input: Tensor,
    out: Tensor,
    dim: int,
    begins: Tensor,
    counts: Tensor,
    weights: Tensor,
    precision: int = 0,
) -> None: ...
def sample(
    input: Tensor,
    grid: Tensor,
    out: Tensor,
    mode: int,
    padding: int,
    align_corners: bool,
) -> None: ...

from aten._core.tensor.tensor import Tensor

def weigh(
    input: Tensor,
    out: Tensor,
    dim: int,
    begins: Tensor,
    counts: Tensor,
    weights: Tensor,
    precision: int = 0,
) -> None: ...
def weigh_planes(
    input: Tensor,
    out: Tensor,
    dim: int,
    across: tuple[Tensor, Tensor, Tensor],
    down: tuple[Tensor, Tensor, Tensor],
) -> None: ...
def repeat_planes(input: Tensor, out: Tensor, across: Tensor, down: Tensor) -> None: ...

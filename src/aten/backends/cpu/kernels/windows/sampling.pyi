from aten._core.tensor.tensor import Tensor

def sample(
    input: Tensor,
    grid: Tensor,
    out: Tensor,
    mode: int,
    padding: int,
    align_corners: bool,
) -> None: ...
def sample_backward(
    gradient: Tensor,
    input: Tensor,
    grid: Tensor,
    image_gradient: Tensor | None,
    grid_gradient: Tensor | None,
    mode: int,
    padding: int,
    align_corners: bool,
) -> None: ...

from aten._core.tensor.tensor import Tensor

def attend_back(
    gradient: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    is_causal: bool,
    scale: float,
    out: Tensor,
    logarithms: Tensor,
    gradients: tuple[Tensor, Tensor, Tensor],
) -> None: ...

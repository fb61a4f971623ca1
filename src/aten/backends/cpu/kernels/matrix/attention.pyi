from aten._core.tensor.tensor import Tensor

def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    is_causal: bool,
    scale: float,
    out: Tensor,
    logarithms: Tensor,
) -> None: ...

from aten._core.tensor.tensor import Tensor

def picked_and_weighed(
    values: Tensor,
    index: Tensor,
    weight: Tensor | None,
    ignored: int,
    summed: bool,
    averaged: bool,
) -> tuple[Tensor, Tensor] | None: ...

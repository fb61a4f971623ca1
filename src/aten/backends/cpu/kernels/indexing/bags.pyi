from aten._core.tensor.tensor import Tensor

def fold_bags(
    table: Tensor,
    indices: Tensor,
    offsets: Tensor,
    mode: int,
    weights: Tensor | None,
    count: int,
    padding: int,
    lists_bags: bool = True,
) -> tuple[Tensor, Tensor, Tensor, Tensor]: ...

from aten._core.tensor.tensor import Tensor

def choose(
    self: Tensor,
    dim: int,
    way: str,
    rank: int,
    descending: bool,
    values: Tensor,
    indices: Tensor,
) -> None: ...
def unique(flat: Tensor, inverse: bool, counts: bool) -> tuple[Tensor, Tensor, Tensor]: ...

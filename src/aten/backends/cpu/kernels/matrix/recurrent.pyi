from aten._core.tensor.tensor import Tensor

def shares_of(batch: int, width: int) -> int: ...
def lstm_steps(
    added: Tensor,
    hidden: Tensor,
    cell: Tensor,
    weights: Tensor,
    hiddens: Tensor,
    cells: Tensor,
    gates: Tensor,
) -> bool: ...

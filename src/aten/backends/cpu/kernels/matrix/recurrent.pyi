from aten._core.tensor.tensor import Tensor

def units_of_a_block(width: int, batch: int) -> int: ...
def lstm_steps(
    added: Tensor,
    hidden: Tensor,
    cell: Tensor,
    weights: Tensor,
    hiddens: Tensor,
    cells: Tensor,
    gates: Tensor,
) -> bool: ...

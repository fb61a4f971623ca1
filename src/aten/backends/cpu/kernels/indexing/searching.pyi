from aten._core.tensor.tensor import Tensor

def search_sorted(
    boundaries: Tensor, values: Tensor, order: Tensor | None, out: Tensor, right: bool
) -> None: ...

from collections.abc import Callable, Sequence
from typing import Any

from aten._core.tensor.tensor import Tensor

def set_operators(
    sums: Callable[[], tuple[Callable[..., Any], Callable[..., Any]]],
    owned: Callable[..., Any],
    fitted: Callable[..., Any],
    has_nan: Callable[..., bool],
) -> None: ...

class Walk: ...

def watch_walks(more: int) -> None: ...
def current_walk() -> Walk | None: ...
def will_reach(tensor: Tensor) -> bool: ...
def run_backward(
    tensors: tuple[Any, ...],
    gradients: tuple[Any, ...],
    retain_graph: bool,
    create_graph: bool,
    inputs: Sequence[tuple[Any, int]] | None = None,
) -> Any: ...

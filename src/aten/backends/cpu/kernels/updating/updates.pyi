from collections.abc import Sequence

from aten._core.tensor.tensor import Tensor

Columns = tuple[Sequence[Tensor], ...]

def adam(columns: Columns, settings: Sequence[tuple[float, ...]]) -> bool: ...
def adagrad(columns: Columns, settings: Sequence[tuple[float, ...]]) -> bool: ...
def descend(
    columns: Columns,
    sign: float,
    coupled: float,
    momentum: float,
    adding: float,
    rate: float,
    first: bool,
    ahead: bool,
) -> bool: ...

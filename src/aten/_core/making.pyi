from collections.abc import Sequence
from typing import Any

from aten._core.dtypes import dtype
from aten._core.tensor import Tensor

def tensor_from_buffer(
    buffer: Any,
    dtype: dtype,
    sizes: Sequence[int],
    strides: Sequence[int] | None = None,
    byte_offset: int = 0,
) -> Tensor: ...

from collections.abc import Sequence
from typing import Any

from aten._core.base.device import device
from aten._core.base.dtypes import dtype
from aten._core.base.keys import DispatchKeySet
from aten._core.memory.storage import Storage
from aten._core.tensor.tensor import Tensor

def tensor_from_buffer(
    buffer: Any,
    dtype: dtype,
    sizes: Sequence[int],
    strides: Sequence[int] | None = None,
    byte_offset: int = 0,
) -> Tensor: ...
def fake_window(described: Tensor, place: device) -> Tensor: ...
def meta_window(tensor: Tensor, storage: Storage | None = None) -> Tensor: ...
def row_window(tensor: Tensor, keys: DispatchKeySet) -> Tensor: ...
def is_fake(tensor: Tensor) -> bool: ...
def has_data(tensor: Tensor) -> bool: ...

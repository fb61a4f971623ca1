"""From tensors to Python values."""

from __future__ import annotations

from aten._core.tensor import python_numbers
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.prims import Number


@op
def _local_scalar_dense(self: Tensor) -> Number:
    """The only element, as a Python number. Raises RuntimeError unless there is just one."""
    return python_numbers.item(self)  # type: ignore[no-any-return]

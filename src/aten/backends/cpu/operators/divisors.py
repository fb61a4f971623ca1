"""Divisors of integers."""

from __future__ import annotations

from aten._core.base.dtypes import DTYPES
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.pointwise.composed import common_divisors, integers
from aten.ops.pointwise.stepwise import is_any

_INT32, _INT64 = DTYPES["int32"], DTYPES["int64"]


@op
def gcd(self: Tensor, other: Tensor) -> Tensor:
    """Short integers are divided several times as fast, and numbers are seldom larger."""
    left, right = integers("gcd", self, other)
    if left.dtype is not _INT64 or is_any((left.abs() | right.abs()) >> 31 != 0):
        return common_divisors(left, right)
    return common_divisors(left.to(_INT32), right.to(_INT32)).to(_INT64)

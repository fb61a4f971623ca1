"""Scans that compiled loops fold one by one."""

from __future__ import annotations

from aten._core.base.dtypes import DTYPES
from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.folding.accumulating import log_sums_of_exponentials
from aten.ops.definition import op
from aten.ops.reductions.scan import check_logcumsumexp
from aten.registry import ops


@op
def logcumsumexp(self: Tensor, dim: int) -> Tensor:
    dim = check_logcumsumexp(self, dim)
    made: Tensor = ops.aten.empty(self.shape, dtype=self.dtype)
    if self.numel() == 0:
        return made
    if self.dim() == 0:
        return made.copy_(self)
    if self.dtype.name in ("float32", "float64", "complex64", "complex128"):
        log_sums_of_exponentials(self, made, dim)
        return made
    given = self.to(DTYPES["complex128" if self.dtype.is_complex else "float64"])
    log_sums_of_exponentials(given, given, dim)
    return made.copy_(given)

"""Functions of the gamma family that are made of other operators."""

from __future__ import annotations

import math

from aten._core.dtypes import get_default_dtype
from aten._core.tensor import Tensor
from aten.ops.definition import op
from aten.ops.requirements import refusal
from aten.registry import ops


@op
def mvlgamma(self: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function: `p` of lgamma's, half a unit apart.

    Raises RuntimeError for p < 1.
    """
    if p < 1:
        raise RuntimeError(f"mvlgamma: p has to be at least 1, but got {p}")
    if self.dtype.kind in ("bool", "complex"):
        raise refusal("mvlgamma", self.dtype)
    element = self.dtype if self.dtype.is_floating_point else get_default_dtype()
    shifts = ops.aten.arange(p, dtype=element, device=self.device) * -0.5
    terms = (self.to(element).unsqueeze(-1) + shifts).lgamma()
    return terms.sum(-1).add_(p * (p - 1) / 4 * math.log(math.pi))  # type: ignore[no-any-return]

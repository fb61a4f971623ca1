"""Operators that repeat a step for each element as often as it needs."""

from __future__ import annotations

from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.pointwise.stepwise import (
    greatest_divisors,
    incomplete_gamma,
    set_up,
)
from aten.ops.definition import op
from aten.ops.pointwise.composed import common_divisors, integers
from aten.ops.pointwise.gamma import LARGE, MOST_STEPS, STIRLING_FROM, STIRLING_SERIES
from aten.ops.pointwise.stepwise import as_float64, in_float64

set_up(LARGE, MOST_STEPS, STIRLING_FROM, STIRLING_SERIES)


@op
def gcd(self: Tensor, other: Tensor) -> Tensor:
    left, right = integers("gcd", self, other)
    made = greatest_divisors(left, right)
    return common_divisors(left, right) if made is None else made


@op
def igamma(self: Tensor, other: Tensor) -> Tensor:
    return _incomplete("igamma", self, other, lower=True)


@op
def igammac(self: Tensor, other: Tensor) -> Tensor:
    return _incomplete("igammac", self, other, lower=False)


def _incomplete(name: str, self: Tensor, other: Tensor, *, lower: bool) -> Tensor:
    element = in_float64(name, self, other, integers=False)
    a, x = as_float64(self, other)
    return incomplete_gamma(a, x, lower, element.itemsize > 4).to(element)

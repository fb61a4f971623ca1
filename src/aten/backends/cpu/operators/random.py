"""Random numbers drawn by the CPU's generator: torch's, bit for bit.

Numbers are drawn for the elements in the order they have in memory; the kernels are in
_core/random/random_numbers.pyx.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from aten._core.base.dtypes import DTYPES, dtype
from aten._core.random.generator import Generator, default_generator
from aten._core.tensor.memory import check_writable, mark_written
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.random.random import (
    check_bernoulli,
    check_cauchy,
    check_exponential,
    check_geometric,
    check_log_normal,
    check_normal,
    check_uniform,
    checked_probabilities,
    checked_range,
    checked_whole_range,
    in_memory_order,
)
from aten.registry import ops

Draw = Callable[[Tensor], None]

_FLOAT32, _FLOAT64, _INT64 = DTYPES["float32"], DTYPES["float64"], DTYPES["int64"]
# Types of the same width into which int64 is cut off.
_SIGNED = {name: DTYPES[name[1:]] for name in ("uint16", "uint32", "uint64")}


def given_or_default(generator: Generator | None) -> Generator:
    """The generator an operator draws from."""
    return default_generator if generator is None else generator


def fill(self: Tensor, element: dtype, draw: Draw) -> Tensor:
    """Have `draw` fill a row-major tensor of `element`; `self` gets its numbers in memory order.

    Complex tensors get two numbers for each element. Raises RuntimeError where elements of `self`
    share memory.
    """
    check_writable(self)
    if self.numel() == 0:
        return self
    target = in_memory_order(self, self)
    if target.dtype is element and target.is_contiguous():
        draw(target)
        mark_written(self)
        return self
    sizes = (*target.shape, 2) if self.is_complex() else target.shape
    drawn = ops.aten.empty.memory_format(sizes, dtype=element)
    draw(drawn)
    if self.is_complex():
        drawn = drawn.to(self.dtype.to_real()).view(self.dtype).squeeze(-1)
    if self.dtype.name in _SIGNED:
        drawn = drawn.to(_SIGNED[self.dtype.name]).view(self.dtype)
    target.copy_(drawn)
    return self


def _computed(element: dtype) -> dtype:
    """The type of which uniform and normal numbers are drawn."""
    return _FLOAT64 if element.name in ("float64", "complex128") else _FLOAT32


def _rounded_to(self: Tensor) -> dtype:
    """The type that numbers of a distribution are rounded to when they are drawn."""
    return _FLOAT32 if self.dtype is _FLOAT32 else _FLOAT64


def _fill_from(
    self: Tensor, generator: Generator | None, name: str, first: float, second: float = 0.0
) -> Tensor:
    source = given_or_default(generator)
    return fill(self, _rounded_to(self), lambda out: source.draw(name, out, first, second))  # type: ignore[arg-type]


@op("uniform", inplace="preserve_format")
def uniform_(
    self: Tensor, low: float = 0.0, high: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    check_uniform(self, low, high)
    source = given_or_default(generator)
    if self.dtype.name not in ("float16", "bfloat16"):
        return fill(self, _computed(self.dtype), lambda out: source.uniform(out, low, high))

    def draw(out: Tensor) -> None:
        source.uniform(out, low, high)
        # Half types round numbers up to `high`, too, which is outside of the interval.
        rounded = out.to(self.dtype)
        out.masked_fill_(rounded.eq(ops.aten.scalar_tensor(high, dtype=self.dtype)), low)

    return fill(self, _FLOAT32, draw)


@op("normal_functional", "normal_", inplace="preserve_format")
def normal_(
    self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    check_normal(self.dtype, std, self.numel())
    if self.is_complex():
        std = std / math.sqrt(2)
    source, blocked = given_or_default(generator), self.is_contiguous()
    is_half = self.dtype.name in ("float16", "bfloat16", "complex32")
    return fill(
        self,
        _computed(self.dtype),
        lambda out: source.normal(out, mean, std, blocked, not is_half),
    )


@op("exponential", inplace="preserve_format")
def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    check_exponential(self, lambd)
    return _fill_from(self, generator, "exponential", lambd)


@op("cauchy", inplace="preserve_format")
def cauchy_(
    self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    check_cauchy(self, sigma)
    return _fill_from(self, generator, "cauchy", median, sigma)


@op("log_normal", inplace="preserve_format")
def log_normal_(
    self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Generator | None = None
) -> Tensor:
    check_log_normal(self, std)
    return _fill_from(self, generator, "log_normal", mean, std)


@op("geometric", inplace="preserve_format")
def geometric_(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    check_geometric(self, p)
    return _fill_from(self, generator, "geometric", p)


@op("bernoulli_.float")
def bernoulli_(self: Tensor, p: float = 0.5, *, generator: Generator | None = None) -> Tensor:
    check_bernoulli(self, p)
    return _fill_from(self, generator, "bernoulli", p)


@op("bernoulli_.Tensor")
def bernoulli_tensor_(self: Tensor, p: Tensor, *, generator: Generator | None = None) -> Tensor:
    probabilities = checked_probabilities(self, p)
    if self.numel() == 0:
        return self
    name = "bernoulli" if p.dtype is _FLOAT64 else "bernoulli_float"
    ordered = in_memory_order(probabilities, self).to(_FLOAT64).contiguous()
    source = given_or_default(generator)
    return fill(self, _rounded_to(self), lambda out: source.draw(name, out, ordered))  # type: ignore[arg-type]


def _fill_integers(
    self: Tensor, generator: Generator | None, span: int, base: int, wide: bool
) -> Tensor:
    source = given_or_default(generator)
    return fill(self, _INT64, lambda out: source.integers(out, span, base, wide))


@op("random", inplace="preserve_format")
def random_(self: Tensor, *, generator: Generator | None = None) -> Tensor:
    return _fill_integers(self, generator, *checked_whole_range(self))


@op("random.to", inplace="preserve_format")
def random_to_(self: Tensor, to: int, *, generator: Generator | None = None) -> Tensor:
    return _fill_integers(self, generator, *checked_range(self, 0, to))


@op("random.from", inplace="preserve_format")
def random_from_(
    self: Tensor, start: int, to: int | None, *, generator: Generator | None = None
) -> Tensor:
    return _fill_integers(self, generator, *checked_range(self, start, to))

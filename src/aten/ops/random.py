"""Random numbers written into tensors, and what all operators that draw them have in common.

Numbers are drawn for the elements in the order they have in memory, as torch does. All of them are
torch's, bit for bit: the kernels are in _core/random_numbers.pyx.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

from aten._core.device import device
from aten._core.dtypes import DTYPES, dtype
from aten._core.generator import Generator, default_generator
from aten._core.memory import check_writable, mark_written
from aten._core.tensor import Tensor
from aten.ops.definition import op
from aten.ops.requirements import refusal
from aten.registry import ops

Draw = Callable[[Tensor], None]

_CPU = device("cpu")
_FLOAT32, _FLOAT64, _INT64 = DTYPES["float32"], DTYPES["float64"], DTYPES["int64"]
# Bits of a significand: up to 2^bits all integers can be told apart.
_DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
_LARGEST = {
    "float16": 65504.0,
    "bfloat16": 3.3895313892515355e38,
    "float32": 3.4028234663852886e38,
    "float64": sys.float_info.max,
}
_INT64_LIMIT = 1 << 63
# Types of the same width into which int64 is cut off.
_SIGNED = {name: DTYPES[name[1:]] for name in ("uint16", "uint32", "uint64")}
# From this range on integers are drawn from 64 bits.
_WIDE_RANGE = 1 << 28


def given_or_default(generator: Generator | None) -> Generator:
    """The generator an operator draws from."""
    return default_generator if generator is None else generator


def in_memory_order(other: Tensor, self: Tensor) -> Tensor:
    """`other` with its dimensions in the order of the strides of `self`, the largest first."""
    if self.is_contiguous():
        return other
    strides = self.stride()
    return other.permute(sorted(range(self.dim()), key=lambda dim: -strides[dim]))


def fill(self: Tensor, element: dtype, draw: Draw) -> Tensor:
    """Have `draw` fill a row-major tensor of `element`; `self` gets its numbers in memory order.

    Complex tensors get two numbers for each element. Raises RuntimeError where elements of `self`
    share memory.
    """
    check_writable(self)
    if self.is_meta or self.numel() == 0:
        return self
    target = in_memory_order(self, self)
    if target.dtype is element and target.is_contiguous() and target.device == _CPU:
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


def _fill_from(
    self: Tensor, generator: Generator | None, name: str, first: float, second: float = 0.0
) -> Tensor:
    source = given_or_default(generator)
    return fill(self, _FLOAT64, lambda out: source.draw(name, out, first, second))  # type: ignore[arg-type]


def _require_real_floating(name: str, self: Tensor) -> None:
    if not self.is_floating_point():
        raise RuntimeError(f"{name}: expected a tensor of a floating dtype, got {self.dtype}")
    if self.dtype.name not in _DIGITS:
        raise refusal(name, self.dtype)


def _check_bounds(name: str, element: dtype, low: float, high: float) -> None:
    if not (element.is_floating_point or element.is_complex):
        raise refusal("check_uniform_bounds", element)
    real = element.to_real() if element.is_complex else element
    if real.name not in _LARGEST:
        raise refusal("check_uniform_bounds", element)
    largest = _LARGEST[real.name]
    for bound, value in (("from", low), ("to", high)):
        if not abs(value) <= largest:
            raise RuntimeError(f"{name}: {bound} is out of bounds for {real}, got {value}")
    if low > high:
        raise RuntimeError(f"{name}: expected from <= to, got from={low} and to={high}")
    if not high - low <= largest:
        raise RuntimeError(
            f"{name}: expected to - from to fit into {real}, got from={low} and to={high}"
        )


@op("uniform", inplace="preserve_format")
def uniform_(
    self: Tensor, low: float = 0.0, high: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Numbers spread evenly over [low, high).

    Raises NotImplementedError for bool and integers, RuntimeError for bounds out of order or out
    of the dtype's range.
    """
    if self.numel() or not self.is_complex():
        _check_bounds("uniform_", self.dtype, low, high)
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
    """Normal numbers; complex ones have normal parts, each with half of the variance.

    Raises NotImplementedError for bool and integers, RuntimeError for a negative deviation.
    """
    _check_normal(self.dtype, std, self.numel())
    if self.is_complex():
        std = std / math.sqrt(2)
    source, blocked = given_or_default(generator), self.is_contiguous()
    is_half = self.dtype.name in ("float16", "bfloat16", "complex32")
    return fill(
        self,
        _computed(self.dtype),
        lambda out: source.normal(out, mean, std, blocked, not is_half),
    )


def _check_normal(element: dtype, std: float, count: int) -> None:
    """Raise for what `normal_` refuses, which takes any dtype without elements."""
    if not std >= 0:
        raise RuntimeError(f"normal_: expected std >= 0, got {std}")
    if count and not (element.is_complex or element.name in _DIGITS):
        raise refusal("normal_kernel_cpu", element)


@op("exponential", inplace="preserve_format")
def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Exponential numbers of rate `lambd`. Raises RuntimeError where it is not positive."""
    if self.numel():
        _require_real_floating("exponential_", self)
    if not lambd > 0:
        raise RuntimeError(f"exponential_: expected lambd > 0, got {lambd}")
    return _fill_from(self, generator, "exponential", lambd)


@op("cauchy", inplace="preserve_format")
def cauchy_(
    self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Cauchy numbers around `median`. Raises RuntimeError where sigma is not positive."""
    _require_real_floating("cauchy_", self)
    if not sigma > 0:
        raise RuntimeError(f"cauchy_: expected sigma > 0, got {sigma}")
    return _fill_from(self, generator, "cauchy", median, sigma)


@op("log_normal", inplace="preserve_format")
def log_normal_(
    self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Generator | None = None
) -> Tensor:
    """Numbers whose logarithms are normal. Raises RuntimeError where std is not positive."""
    if not std > 0:
        raise RuntimeError(f"log_normal_: expected std > 0, got {std}")
    check_writable(self)
    if self.numel() and self.dtype.name not in _DIGITS:
        raise refusal("log_normal_cpu", self.dtype)
    return _fill_from(self, generator, "log_normal", mean, std)


@op("geometric", inplace="preserve_format")
def geometric_(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Trials up to the first success. Raises RuntimeError for p outside of (0, 1)."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_: expected p in (0, 1), got {p}")
    _require_number("geometric_cpu", self, boolean=False)
    return _fill_from(self, generator, "geometric", p)


def _require_number(kernel: str, self: Tensor, *, boolean: bool) -> None:
    """Refuse memory written twice; and dtypes, except for tensors without elements."""
    check_writable(self)
    element = self.dtype
    if self.numel() == 0:
        return
    if element.is_complex or element.name in _SIGNED or element.name.startswith("float8"):
        raise refusal(kernel, element)
    if element.kind == "bool" and not boolean:
        raise refusal(kernel, element)


@op("bernoulli_.float")
def bernoulli_(self: Tensor, p: float = 0.5, *, generator: Generator | None = None) -> Tensor:
    """1 with probability p, else 0. Raises RuntimeError for p outside of [0, 1]."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_: expected p in [0, 1], got {p}")
    _require_number("bernoulli_scalar_cpu_", self, boolean=True)
    return _fill_from(self, generator, "bernoulli", p)


def _check_probabilities(p: Tensor) -> None:
    """Raise for tensors that hold anything but probabilities."""
    if not p.is_floating_point():
        raise refusal("bernoulli_tensor_cpu_p_", p.dtype)
    if not p.is_meta and not bool(p.ge(0).logical_and(p.le(1)).all()):
        raise RuntimeError("bernoulli_: expected all of p in [0, 1]")


@op("bernoulli_.Tensor")
def bernoulli_tensor_(self: Tensor, p: Tensor, *, generator: Generator | None = None) -> Tensor:
    """1 with the probability of the same place of `p`, which is broadcast, else 0.

    Raises RuntimeError for probabilities outside of [0, 1].
    """
    probabilities = p.expand(self.shape)
    _require_number("bernoulli_tensor_cpu_self_", self, boolean=True)
    _check_probabilities(p)
    if self.is_meta or self.numel() == 0:
        return self
    name = "bernoulli" if p.dtype is _FLOAT64 else "bernoulli_float"
    ordered = in_memory_order(probabilities, self).to(_FLOAT64).contiguous()
    source = given_or_default(generator)
    return fill(self, _FLOAT64, lambda out: source.draw(name, out, ordered))  # type: ignore[arg-type]


# Integers.


def _largest_integer(element: dtype) -> int:
    """The largest number up to which a dtype holds all integers."""
    if element.kind == "bool":
        return 1
    if element.is_floating_point:
        return 1 << _DIGITS[element.name]
    signed = element.kind == "signed"
    return (1 << (8 * element.itemsize - signed)) - 1


def _fill_integers(
    self: Tensor, generator: Generator | None, span: int, base: int, *, wide: bool
) -> Tensor:
    source = given_or_default(generator)
    return fill(self, _INT64, lambda out: source.integers(out, span, base, wide))


@op("random", inplace="preserve_format")
def random_(self: Tensor, *, generator: Generator | None = None) -> Tensor:
    """Integers from 0 to the largest the dtype holds; for floating dtypes, holds with all before.

    Raises NotImplementedError for complex numbers and wide unsigned integers.
    """
    _require_number("random_kernel_cpu", self, boolean=True)
    if self.numel() == 0:
        return self
    wide = self.dtype.name in ("int64", "float64")
    return _fill_integers(self, generator, _largest_integer(self.dtype) + 1, 0, wide=wide)


@op("random.to", inplace="preserve_format")
def random_to_(self: Tensor, to: int, *, generator: Generator | None = None) -> Tensor:
    """Integers from [0, to)."""
    return random_from_(self, 0, to, generator=generator)


@op("random.from", inplace="preserve_format")
def random_from_(
    self: Tensor, start: int, to: int | None, *, generator: Generator | None = None
) -> Tensor:
    """Integers from [start, to); without `to`, up to the largest the dtype holds.

    Raises RuntimeError where there are none, or where the dtype does not hold them.
    """
    element = self.dtype
    check_writable(self)
    if to is None and start == -_INT64_LIMIT:
        if self.numel() and element.name not in ("int64", "float64", "float32", "bfloat16"):
            exception = RuntimeError if element.kind == "signed" else NotImplementedError
            exception = RuntimeError if element.name == "uint8" else exception
            raise exception(f"random_: expected int64 or a wide floating dtype, got {element}")
        return _fill_integers(self, generator, 0, 0, wide=True)
    if to is not None and start >= to:
        raise RuntimeError(f"random_: expected from < to, got from={start} and to={to}")
    if element.is_complex:
        raise RuntimeError(f"random_: expected a real dtype, got {element}")
    if element.is_floating_point and element.name not in _DIGITS:
        raise refusal("random_from_to", element)
    if to is None:
        to = min(_largest_integer(element) + 1, _INT64_LIMIT)
    _check_integers(element, start, to - 1)
    if element.is_floating_point:
        start, to = _representable(element, start, to)
    span = to - start
    return _fill_integers(self, generator, span, start, wide=span >= _WIDE_RANGE)


def _check_integers(element: dtype, first: int, last: int) -> None:
    if element.is_floating_point:
        largest = int(_LARGEST[element.name])
        least = -largest
    else:
        largest = _largest_integer(element)
        least = -largest - 1 if element.kind == "signed" else 0
    for name, value in (("from", first), ("to - 1", last)):
        if not least <= value <= largest:
            raise RuntimeError(f"random_: {name} is out of bounds for {element}, got {value}")


def _representable(element: dtype, start: int, to: int) -> tuple[int, int]:
    """Bounds moved inwards to integers from which rounding leads out no more."""
    digits = _DIGITS[element.name]

    def rounded(value: int) -> int:
        return int(ops.aten.scalar_tensor(value, dtype=element).item())

    above = rounded(start + 1)
    if above < start:
        start = above + (1 << (abs(start + 1).bit_length() - digits))
    below = rounded(to - 1)
    if below >= to:
        to = below - (1 << ((to - 1).bit_length() - digits))
    return start, to

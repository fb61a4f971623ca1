"""Random numbers written into tensors, and what all operators that draw them have in common.

Numbers are drawn for the elements in the order they have in memory, as torch does. On the CPU all
of them are torch's, bit for bit. Elsewhere they come from `prims.uniform` and `prims.normal`, which
are the CPU's where a device has no kernels of its own. Distributions that are not made of these are
drawn on the CPU and copied.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence

from aten._core.base.device import device
from aten._core.base.dtypes import DTYPES, dtype
from aten._core.random.generator import Generator
from aten._core.tensor.making import has_data
from aten._core.tensor.memory import check_writable
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.requirements import refusal
from aten.registry import ops

_CPU = device("cpu")
_FLOAT32, _FLOAT64 = DTYPES["float32"], DTYPES["float64"]
# Bits of a significand: up to 2^bits all integers can be told apart.
_DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
_LARGEST = {
    "float16": 65504.0,
    "bfloat16": 3.3895313892515355e38,
    "float32": 3.4028234663852886e38,
    "float64": sys.float_info.max,
}
_INT64_LIMIT = 1 << 63
_WIDE_UNSIGNED = ("uint16", "uint32", "uint64")
# From this range on integers are drawn from 64 bits.
_WIDE_RANGE = 1 << 28


def in_memory_order(other: Tensor, self: Tensor) -> Tensor:
    """`other` with its dimensions in the order of the strides of `self`, the largest first."""
    if self.is_contiguous():
        return other
    strides = self.stride()
    return other.permute(sorted(range(self.dim()), key=lambda dim: -strides[dim]))


def _uniform_in_order(
    self: Tensor, low: float, high: float, element: dtype, generator: Generator | None
) -> Tensor:
    """Numbers from [low, high) for the elements of `self`, in its order, without gaps."""
    strides = self.stride()
    order = list(range(self.dim()))
    if not self.is_contiguous():
        order.sort(key=lambda dim: -strides[dim])
    sizes = [self.shape[dim] for dim in order]
    drawn = ops.prims.uniform(
        sizes,
        low=low,
        high=high,
        dtype=element,
        device=self.device,
        stride=_row_major_strides(sizes),
        generator=generator,
    )
    inverse = sorted(range(len(order)), key=lambda place: order[place])
    return drawn.permute(inverse)  # type: ignore[no-any-return]


def _row_major_strides(sizes: Sequence[int]) -> list[int]:
    return [math.prod(max(size, 1) for size in sizes[place + 1 :]) for place in range(len(sizes))]


def _unit(self: Tensor, generator: Generator | None, element: dtype = _FLOAT64) -> Tensor:
    """For each element of `self` a number from [0, 1)."""
    return _uniform_in_order(self, 0.0, 1.0, element, generator)


def on_host(self: Tensor, draw: Callable[[Tensor], Tensor]) -> Tensor:
    """What `draw` writes to a tensor like `self` on the CPU, on the device of `self`."""
    if not has_data(self) or self.numel() == 0:
        return ops.aten.empty_like(self)
    return draw(ops.aten.empty_like(self, device=_CPU)).to(self.device)


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


def check_uniform(self: Tensor, low: float, high: float) -> None:
    """Raises NotImplementedError or RuntimeError for what `uniform_` refuses."""
    if self.numel() or not self.is_complex():
        _check_bounds("uniform_", self.dtype, low, high)


@op(exact_out=True)
def uniform(
    self: Tensor, low: float = 0.0, high: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Numbers spread evenly over [low, high).

    Raises NotImplementedError for bool and integers, RuntimeError for bounds out of order or out
    of the dtype's range.
    """
    check_uniform(self, low, high)
    return _uniform_in_order(self, low, high, self.dtype, generator)


def check_normal(element: dtype, std: float, count: int) -> None:
    """Raise for what `normal_` refuses, which takes any dtype without elements."""
    if not std >= 0:
        raise RuntimeError(f"normal_: expected std >= 0, got {std}")
    if count and not (element.is_complex or element.name in _DIGITS):
        raise refusal("normal_kernel_cpu", element)


@op
def normal_functional(
    self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Normal numbers; complex ones have normal parts, each with half of the variance.

    Raises NotImplementedError for bool and integers, RuntimeError for a negative deviation.
    """
    check_normal(self.dtype, std, self.numel())
    if not self.is_contiguous():
        # Their numbers are of another sequence than those of row-major tensors.
        return on_host(self, lambda made: ops.aten.normal_(made, mean, std, generator=generator))
    return ops.prims.normal(  # type: ignore[no-any-return]
        self.shape,
        mean=mean,
        std=std,
        dtype=self.dtype,
        device=self.device,
        requires_grad=False,
        generator=generator,
    )


@op
def normal_(
    self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    check_normal(self.dtype, std, self.numel())
    check_writable(self)
    return self.copy_(ops.aten.normal_functional(self, mean, std, generator=generator))


def check_exponential(self: Tensor, lambd: float) -> None:
    """Raises RuntimeError or NotImplementedError for what `exponential_` refuses."""
    if self.numel():
        _require_real_floating("exponential_", self)
    if not lambd > 0:
        raise RuntimeError(f"exponential_: expected lambd > 0, got {lambd}")


@op(exact_out=True)
def exponential(self: Tensor, lambd: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Exponential numbers of rate `lambd`. Raises RuntimeError where it is not positive."""
    check_exponential(self, lambd)
    return (_unit(self, generator).neg().log1p() * (-1 / lambd)).to(self.dtype)


def check_cauchy(self: Tensor, sigma: float) -> None:
    """Raises RuntimeError or NotImplementedError for what `cauchy_` refuses."""
    _require_real_floating("cauchy_", self)
    if not sigma > 0:
        raise RuntimeError(f"cauchy_: expected sigma > 0, got {sigma}")


@op(exact_out=True)
def cauchy(
    self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Cauchy numbers around `median`. Raises RuntimeError where sigma is not positive."""
    check_cauchy(self, sigma)
    angle = (_unit(self, generator) - 0.5) * math.pi
    return (angle.tan() * sigma + median).to(self.dtype)


def check_log_normal(self: Tensor, std: float) -> None:
    """Raises RuntimeError or NotImplementedError for what `log_normal_` refuses."""
    if not std > 0:
        raise RuntimeError(f"log_normal_: expected std > 0, got {std}")
    check_writable(self)
    if self.numel() and self.dtype.name not in _DIGITS:
        raise refusal("log_normal_cpu", self.dtype)


@op(exact_out=True)
def log_normal(
    self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Generator | None = None
) -> Tensor:
    """Numbers whose logarithms are normal. Raises RuntimeError where std is not positive."""
    check_log_normal(self, std)
    return on_host(self, lambda made: ops.aten.log_normal_(made, mean, std, generator=generator))


def check_geometric(self: Tensor, p: float) -> None:
    """Raises RuntimeError or NotImplementedError for what `geometric_` refuses."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_: expected p in (0, 1), got {p}")
    _require_number("geometric_cpu", self, boolean=False)


@op(exact_out=True)
def geometric(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Trials up to the first success. Raises RuntimeError for p outside of (0, 1)."""
    check_geometric(self, p)
    return (_unit(self, generator).log() / math.log(1 - p)).ceil().to(self.dtype)


def _require_number(kernel: str, self: Tensor, *, boolean: bool) -> None:
    """Refuse memory written twice; and dtypes, except for tensors without elements."""
    check_writable(self)
    element = self.dtype
    if self.numel() == 0:
        return
    if element.is_complex or element.name in _WIDE_UNSIGNED or element.name.startswith("float8"):
        raise refusal(kernel, element)
    if element.kind == "bool" and not boolean:
        raise refusal(kernel, element)


def check_bernoulli(self: Tensor, p: float) -> None:
    """Raises RuntimeError or NotImplementedError for what `bernoulli_` refuses."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_: expected p in [0, 1], got {p}")
    _require_number("bernoulli_scalar_cpu_", self, boolean=True)


@op("bernoulli_.float")
def bernoulli_(self: Tensor, p: float = 0.5, *, generator: Generator | None = None) -> Tensor:
    """1 with probability p, else 0. Raises RuntimeError for p outside of [0, 1]."""
    check_bernoulli(self, p)
    return self.copy_(_unit(self, generator) < p)


def checked_probabilities(self: Tensor, p: Tensor) -> Tensor:
    """`p` in the shape of `self`. Raises for dtypes that are refused, and no probabilities."""
    probabilities = p.expand(self.shape)
    _require_number("bernoulli_tensor_cpu_self_", self, boolean=True)
    if not p.is_floating_point():
        raise refusal("bernoulli_tensor_cpu_p_", p.dtype)
    within = p.ge(0).logical_and(p.le(1)).all()
    ops.aten._assert_async.msg(within, "bernoulli_: expected all of p in [0, 1]")
    return probabilities


@op("bernoulli_.Tensor")
def bernoulli_tensor_(self: Tensor, p: Tensor, *, generator: Generator | None = None) -> Tensor:
    """1 with the probability of the same place of `p`, which is broadcast, else 0.

    Raises RuntimeError for probabilities outside of [0, 1].
    """
    probabilities = checked_probabilities(self, p).to(_FLOAT64)
    drawn = _unit(self, generator, _FLOAT64 if p.dtype is _FLOAT64 else _FLOAT32)
    return self.copy_(drawn.to(_FLOAT64) < probabilities)


# Integers.


def _largest_integer(element: dtype) -> int:
    """The largest number up to which a dtype holds all integers."""
    if element.kind == "bool":
        return 1
    if element.is_floating_point:
        return 1 << _DIGITS[element.name]
    signed = element.kind == "signed"
    return (1 << (8 * element.itemsize - signed)) - 1


def checked_whole_range(self: Tensor) -> tuple[int, int, bool]:
    """As `checked_range`, for `random_` without bounds."""
    _require_number("random_kernel_cpu", self, boolean=True)
    if self.numel() == 0:
        return 1, 0, False
    return _largest_integer(self.dtype) + 1, 0, self.dtype.name in ("int64", "float64")


@op(exact_out=True)
def random(self: Tensor, *, generator: Generator | None = None) -> Tensor:
    """Integers from 0 to the largest the dtype holds; for floating dtypes, holds with all before.

    Raises NotImplementedError for complex numbers and wide unsigned integers.
    """
    checked_whole_range(self)
    return on_host(self, lambda made: ops.aten.random_(made, generator=generator))


@op("random.to", exact_out=True)
def random_to(self: Tensor, to: int, *, generator: Generator | None = None) -> Tensor:
    """Integers from [0, to)."""
    checked_range(self, 0, to)
    return on_host(self, lambda made: ops.aten.random_.to(made, to, generator=generator))


@op("random.from", exact_out=True)
def random_from(
    self: Tensor, start: int, to: int | None, *, generator: Generator | None = None
) -> Tensor:
    """Integers from [start, to); without `to`, up to the largest the dtype holds.

    Raises RuntimeError where there are none, or where the dtype does not hold them.
    """
    checked_range(self, start, to)
    draw = getattr(ops.aten.random_, "from")
    return on_host(self, lambda made: draw(made, start, to, generator=generator))


def checked_range(self: Tensor, start: int, to: int | None) -> tuple[int, int, bool]:
    """How many integers are drawn from, 0 for all; the first; whether from 64 bits each.

    Raises RuntimeError or NotImplementedError for what `random_` refuses.
    """
    element = self.dtype
    check_writable(self)
    if to is None and start == -_INT64_LIMIT:
        if self.numel() and element.name not in ("int64", "float64", "float32", "bfloat16"):
            exception = RuntimeError if element.kind == "signed" else NotImplementedError
            exception = RuntimeError if element.name == "uint8" else exception
            raise exception(f"random_: expected int64 or a wide floating dtype, got {element}")
        return 0, 0, True
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
    return span, start, span >= _WIDE_RANGE


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

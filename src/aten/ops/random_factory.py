"""Factories of random numbers: an empty tensor, filled in place."""

from __future__ import annotations

from typing import Any

from aten._core.device import device, layout
from aten._core.dtypes import DTYPES, dtype
from aten._core.generator import Generator
from aten._core.tensor import Tensor
from aten.ops.definition import op
from aten.ops.random import fill, given_or_default, normal_, random_from_, uniform_
from aten.ops.requirements import refusal
from aten.registry import ops

_INT64 = DTYPES["int64"]


@op("rand")
@op("rand.generator")
def rand(size: Any, *, generator: Generator | None = None, **options: Any) -> Tensor:
    """Numbers spread evenly over [0, 1)."""
    return uniform_(ops.aten.empty.memory_format(size, **options), generator=generator)


@op("rand_like")
@op("rand_like.generator")
def rand_like(self: Tensor, *, generator: Generator | None = None, **options: Any) -> Tensor:
    """As `rand`, of the sizes, dtype, device and order of `self`."""
    return uniform_(ops.aten.empty_like(self, **options), generator=generator)


@op("randn")
@op("randn.generator")
def randn(size: Any, *, generator: Generator | None = None, **options: Any) -> Tensor:
    """Normal numbers of mean 0 and deviation 1."""
    return normal_(ops.aten.empty.memory_format(size, **options), generator=generator)


@op("randn_like")
@op("randn_like.generator")
def randn_like(self: Tensor, *, generator: Generator | None = None, **options: Any) -> Tensor:
    """As `randn`, of the sizes, dtype, device and order of `self`."""
    return normal_(ops.aten.empty_like(self, **options), generator=generator)


@op("normal.float_float")
def normal_of_size(
    mean: float, std: float, size: Any, *, generator: Generator | None = None, **options: Any
) -> Tensor:
    """Normal numbers around `mean`."""
    return normal_(ops.aten.empty.memory_format(size, **options), mean, std, generator=generator)


@op("randint")
@op("randint.generator")
def randint(high: int, size: Any, *, generator: Generator | None = None, **options: Any) -> Tensor:
    """Integers from [0, high)."""
    return randint_low(0, high, size, generator=generator, **options)


@op("randint.low")
@op("randint.low_generator")
def randint_low(
    low: int, high: int, size: Any, *, generator: Generator | None = None, **options: Any
) -> Tensor:
    """Integers from [low, high), int64 unless asked otherwise."""
    if options.get("dtype") is None:
        options["dtype"] = _INT64
    made = ops.aten.empty.memory_format(size, **options)
    return random_from_(made, low, high, generator=generator)


@op("randint_like")
@op("randint_like.generator")
@op("randint_like.Tensor")
@op("randint_like.Tensor_generator")
def randint_like(
    self: Tensor, high: Any, *, generator: Generator | None = None, **options: Any
) -> Tensor:
    """As `randint`, of the sizes, dtype, device and order of `self`."""
    return randint_like_low(self, 0, int(high), generator=generator, **options)


@op("randint_like.low_dtype")
@op("randint_like.low_generator_dtype")
def randint_like_low(
    self: Tensor, low: int, high: int, *, generator: Generator | None = None, **options: Any
) -> Tensor:
    """As `randint.low`, of the sizes, dtype, device and order of `self`."""
    made = ops.aten.empty_like(self, **options)
    return random_from_(made, low, high, generator=generator)


@op("randperm")
@op("randperm.generator")
def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    dtype: dtype | None = None,
    layout: layout | None = None,
    device: device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    """The numbers from 0 to n, without it, in random order.

    Raises RuntimeError where the dtype does not hold them, NotImplementedError for dtypes there is
    no order of.
    """
    made: Tensor = ops.aten.empty.memory_format(
        (n,), dtype=dtype or _INT64, layout=layout, device=device, pin_memory=pin_memory
    )
    _check_count(made.dtype, n)
    return fill(made, _INT64, given_or_default(generator).shuffle)


def _check_count(element: dtype, count: int) -> None:
    if element.name == "bfloat16":  # torch looks at the other types only
        return
    digits = {"float16": 11, "float32": 24, "float64": 53}.get(element.name)
    if digits is not None:
        largest = (1 << digits) + 1
    elif element.name in ("uint8", "int8", "int16", "int32", "int64"):
        largest = (1 << (8 * element.itemsize - (element.kind == "signed"))) - 1
    else:
        raise refusal("randperm", element)
    if count > largest:
        raise RuntimeError(f"randperm: {element} holds no more than n={largest}, got n={count}")

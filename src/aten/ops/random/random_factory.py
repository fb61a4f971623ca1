"""Factories of random numbers: an empty tensor, filled in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten._core.base.device import device, layout
from aten._core.base.dtypes import DTYPES, dtype
from aten._core.random.generator import Generator
from aten._core.tensor.making import has_data
from aten._core.tensor.tensor import Tensor
from aten.ops.definition import op
from aten.ops.requirements import refusal
from aten.registry import ops

_INT64 = DTYPES["int64"]


@op("rand")
@op("rand.generator")
def rand(
    size: Any,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    **options: Any,
) -> Tensor:
    """Numbers spread evenly over [0, 1)."""
    return _filled(size, out, options, lambda made: ops.aten.uniform_(made, generator=generator))


def _filled(
    size: Any, out: Tensor | None, options: dict[str, Any], fill: Callable[[Tensor], Tensor]
) -> Tensor:
    """`fill` of a new tensor; or of `out` itself, for numbers follow its order in memory."""
    if out is None:
        return fill(ops.aten.empty.memory_format(size, **options))
    if out.shape == tuple(size):
        return fill(out)
    before = out.shape, out.stride(), out.storage_offset()
    # What is refused whatever the sizes are is refused without any.
    fill(ops.aten.empty.memory_format((0,), dtype=out.dtype, device=out.device))
    ops.aten.resize_(out, size)
    try:
        return fill(out)
    except BaseException:
        ops.aten.as_strided_.default(out, *before)
        raise


@op("rand_like")
@op("rand_like.generator")
def rand_like(self: Tensor, *, generator: Generator | None = None, **options: Any) -> Tensor:
    """As `rand`, of the sizes, dtype, device and order of `self`."""
    return ops.aten.uniform_(ops.aten.empty_like(self, **options), generator=generator)


@op("randn")
@op("randn.generator")
def randn(
    size: Any,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    **options: Any,
) -> Tensor:
    """Normal numbers of mean 0 and deviation 1."""
    return _filled(size, out, options, lambda made: ops.aten.normal_(made, generator=generator))


@op("randn_like")
@op("randn_like.generator")
def randn_like(self: Tensor, *, generator: Generator | None = None, **options: Any) -> Tensor:
    """As `randn`, of the sizes, dtype, device and order of `self`."""
    return ops.aten.normal_(ops.aten.empty_like(self, **options), generator=generator)


@op("normal.float_float")
def normal_of_size(
    mean: float,
    std: float,
    size: Any,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    **options: Any,
) -> Tensor:
    """Normal numbers around `mean`."""

    def fill(made: Tensor) -> Tensor:
        return ops.aten.normal_(made, mean, std, generator=generator)

    return _filled(size, out, options, fill)


@op("randint")
@op("randint.generator")
def randint(
    high: int,
    size: Any,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    **options: Any,
) -> Tensor:
    """Integers from [0, high)."""
    return _filled_with_integers(size, out, options, 0, high, generator)


@op("randint.low")
@op("randint.low_generator")
def randint_low(
    low: int,
    high: int,
    size: Any,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    **options: Any,
) -> Tensor:
    """Integers from [low, high), int64 unless asked otherwise."""
    return _filled_with_integers(size, out, options, low, high, generator)


def _filled_with_integers(
    size: Any,
    out: Tensor | None,
    options: dict[str, Any],
    low: int,
    high: int,
    generator: Generator | None,
) -> Tensor:
    element = options.get("dtype")
    options = {**options, "dtype": _INT64 if element is None else element}
    return _filled(size, out, options, lambda made: _integers(made, low, high, generator))


def _integers(made: Tensor, low: int, high: int, generator: Generator | None) -> Tensor:
    """`made` with integers from [low, high)."""
    return getattr(ops.aten.random_, "from")(made, low, high, generator=generator)  # type: ignore[no-any-return]


@op("randint_like")
@op("randint_like.generator")
@op("randint_like.Tensor")
@op("randint_like.Tensor_generator")
def randint_like(
    self: Tensor, high: Any, *, generator: Generator | None = None, **options: Any
) -> Tensor:
    """As `randint`, of the sizes, dtype, device and order of `self`."""
    return _integers(ops.aten.empty_like(self, **options), 0, int(high), generator)


@op("randint_like.low_dtype")
@op("randint_like.low_generator_dtype")
def randint_like_low(
    self: Tensor, low: int, high: int, *, generator: Generator | None = None, **options: Any
) -> Tensor:
    """As `randint.low`, of the sizes, dtype, device and order of `self`."""
    return _integers(ops.aten.empty_like(self, **options), low, high, generator)


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
    options: dict[str, Any] = {"layout": layout, "device": device, "pin_memory": pin_memory}
    made = empty_permutation(n, dtype, options)
    if not has_data(made):
        return made
    return made.copy_(ops.aten.randperm.generator(n, generator=generator, dtype=made.dtype))


def empty_permutation(n: int, dtype: dtype | None, options: dict[str, Any]) -> Tensor:
    """Uninitialized. Raises for dtypes that do not hold numbers below n, or have no order."""
    made: Tensor = ops.aten.empty.memory_format((n,), dtype=dtype or _INT64, **options)
    _check_count(made.dtype, n)
    return made


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

"""Factories of evenly spaced numbers; kernels/filling/factories.pyx has those of equal numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from aten._core.base.device import device, layout
from aten._core.base.dtypes import DTYPES, dtype, get_default_dtype
from aten._core.tensor.making import has_data
from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.filling import sequences
from aten.ops.definition import op
from aten.ops.requirements import refusal, require_ordinary
from aten.ops.shape.rearranging import triangle_mask
from aten.prims import Number
from aten.registry import ops

_INT64, _FLOAT64 = DTYPES["int64"], DTYPES["float64"]
# Types whose loops are compiled; sequences of other types are converted from these.
_COMPUTED = frozenset(DTYPES[name] for name in ("int32", "int64", "float32", "float64"))


def _plain(number: Any) -> Any:
    return number.item() if isinstance(number, Tensor) else number


def _bound(number: Number | Tensor) -> Number:
    """A number of the tensor's kind, whatever it is where nobody knows."""
    if isinstance(number, Tensor) and not has_data(number):
        return 0j if number.is_complex() else 0.0
    return _plain(number)  # type: ignore[no-any-return]


@op("arange")
def arange(end: Any, **options: Any) -> Tensor:
    """The numbers from 0 up to `end`, without it."""
    return arange_start_step(0, end, 1, **options)


@op("arange.start")
def arange_start(start: Any, end: Any, **options: Any) -> Tensor:
    """The numbers start, start + 1, … below `end`."""
    return arange_start_step(start, end, 1, **options)


@op("arange.start_step")
def arange_start_step(
    start: Any,
    end: Any,
    step: Any = 1,
    *,
    dtype: dtype | None = None,
    layout: layout | None = None,
    device: device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    """The numbers start, start + step, … short of `end`: int64 where all are integers.

    Raises RuntimeError for a step of zero or of the wrong sign, and for ranges without end.
    """
    if not (type(start) is type(end) is type(step) is int):
        start, end, step = _real_bounds(start, end, step)
    if dtype is None:
        whole = isinstance(start, int) and isinstance(end, int) and isinstance(step, int)
        dtype = _INT64 if whole else get_default_dtype()
    _require_ordered("arange_cpu", dtype)
    count = _range_length(start, end, step, dtype)
    if device is not None or layout is not None or pin_memory:
        elsewhere = _empty_elsewhere(count, dtype, layout, device, pin_memory)
        if elsewhere is not None:
            return elsewhere
    if not dtype.is_floating_point:
        start, step = int(start), int(step)
    computed = _computed_type(dtype)
    return _converted(sequences.sequence(count, start, step, computed), dtype, device)


def _require_ordered(kernel: str, element: dtype) -> None:
    require_ordinary(kernel, element)
    if element.is_complex or element.kind == "bool":
        raise refusal(kernel, element)


def _real_bounds(*bounds: Any) -> tuple[Any, ...]:
    plain = tuple(_plain(bound) for bound in bounds)
    if any(isinstance(bound, complex) for bound in plain):
        raise RuntimeError(
            "arange: start, end and step must be real, complex numbers are unordered"
        )
    return plain


def _computed_type(element: dtype) -> dtype:
    if element in _COMPUTED:
        return element
    return _FLOAT64 if element.is_floating_point else _INT64


def _empty_elsewhere(
    count: int, element: dtype, order: layout | None, place: device | None, pinned: bool | None
) -> Tensor | None:
    """What has no memory to write to; raises for layouts and memory that cannot be had."""
    if place is None or place.type == "cpu":
        place = None
    made: Tensor = ops.aten.empty.memory_format(
        (count,) if place is not None and place.type == "meta" else (0,),
        dtype=element,
        layout=order,
        device=place,
        pin_memory=pinned,
    )
    return made if made.is_meta else None


def _converted(made: Tensor, element: dtype, place: device | None) -> Tensor:
    if made.dtype is element and (place is None or place.type == "cpu"):
        return made
    return ops.aten._to_copy(made, dtype=element, device=place)


def _range_length(start: Any, end: Any, step: Any, element: dtype) -> int:
    if not math.isfinite(start) or not math.isfinite(end):
        raise RuntimeError(f"arange: unsupported range: {start} -> {end}")
    given = (start, end, step)
    if element.name == "int64":
        start, end, step = int(start), int(end), int(step)
        if step == 0 != given[2]:
            raise ValueError(f"arange: the step {given[2]} is 0 as an integer")
    if step == 0 or step != step:
        raise RuntimeError("arange: step must be nonzero")
    if (step > 0 and end < start) or (step < 0 and end > start):
        raise RuntimeError(
            "arange: upper bound and lower bound inconsistent with step sign: "
            f"start {start}, end {end}, step {step}"
        )
    if element.name == "int64":
        return -((start - end) // step)  # type: ignore[no-any-return]
    count = math.ceil((float(given[1]) - float(given[0])) / float(given[2]))
    if count >= 1 << 63:
        raise RuntimeError(f"arange: invalid size, possible overflow: {count} elements")
    return count


@op("linspace")
def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    dtype: dtype | None = None,
    layout: layout | None = None,
    device: device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    """`steps` evenly spaced numbers from `start` to `end`, both included.

    Computed from both ends to the middle. Raises RuntimeError for a negative number of steps.
    """
    if steps < 0:
        raise RuntimeError(f"linspace: number of steps must be non-negative, got {steps}")
    is_complex = isinstance(start, complex) or isinstance(end, complex)
    if dtype is None:
        dtype = get_default_dtype().to_complex() if is_complex else get_default_dtype()
    if is_complex and not dtype.is_complex:
        raise RuntimeError(f"linspace: complex start or end, but the dtype is {dtype}")
    require_ordinary("linspace_cpu", dtype)
    if dtype.name in ("bool", "complex32"):
        raise refusal("linspace_cpu", dtype)
    elsewhere = _empty_elsewhere(steps, dtype, layout, device, pin_memory)
    if elsewhere is not None:
        return elsewhere
    if dtype.is_complex:
        return _converted(_complex_between(start, end, steps, dtype), dtype, device)
    if dtype.is_floating_point:
        start, end = float(start), float(end)
    else:
        start, end = int(start), int(end)
    return _converted(_between(start, end, steps, dtype), dtype, device)


def _between(start: Any, end: Any, steps: int, element: dtype) -> Tensor:
    computed = element if element.name == "float32" else _FLOAT64
    # One number alone is the first.
    last = start if steps == 1 else end
    return sequences.sequence_between(
        steps, start, last, (last - start) / max(steps - 1, 1), computed
    )


def _complex_between(start: Any, end: Any, steps: int, element: dtype) -> Tensor:
    """Real and imaginary parts, each evenly spaced, side by side."""
    start, end = complex(start), complex(end)
    real = _between(start.real, end.real, steps, element.to_real())
    imaginary = _between(start.imag, end.imag, steps, element.to_real())
    return ops.aten.stack([real, imaginary], 1).view(element).squeeze(-1)


@op("linspace.Tensor_Tensor")
@op("linspace.Tensor_Scalar")
@op("linspace.Scalar_Tensor")
def linspace_between_tensors(
    start: Number | Tensor, end: Number | Tensor, steps: int, **options: Any
) -> Tensor:
    """`linspace` between 0-d tensors. Raises RuntimeError for tensors with dimensions."""
    _require_numbers("linspace", start=start, end=end)
    return linspace(_bound(start), _bound(end), steps, **options)


def _require_numbers(operator: str, **bounds: Number | Tensor) -> None:
    for name, bound in bounds.items():
        if isinstance(bound, Tensor) and bound.dim() != 0:
            raise RuntimeError(
                f"{operator}: start and end must be numbers or 0-d tensors, but {name} has "
                f"{bound.dim()} dimensions"
            )


@op
def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    dtype: dtype | None = None,
    layout: layout | None = None,
    device: device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    """`base` to the powers of evenly spaced exponents; whole numbers are cut off to be so.

    Raises RuntimeError for a negative number of steps.
    """
    if steps < 0:
        raise RuntimeError(f"logspace: steps must not be negative, got {steps}")
    if dtype is None:
        is_complex = isinstance(start, complex) or isinstance(end, complex)
        dtype = get_default_dtype().to_complex() if is_complex else get_default_dtype()
    require_ordinary("logspace_cpu", dtype)
    if dtype.name in ("bool", "complex32"):
        raise refusal("logspace_cpu", dtype)
    options: dict[str, Any] = {"layout": layout, "device": device, "pin_memory": pin_memory}
    if dtype.is_floating_point or dtype.is_complex:
        computed = dtype if dtype.itemsize > 2 else DTYPES["float32"]
        exponents = linspace(start, end, steps, dtype=computed, **options)
    else:
        exponents = linspace(int(start), int(end), steps, dtype=_FLOAT64, **options)
    powers = ops.aten.pow.Scalar(base, exponents)
    return ops.aten._to_copy(powers, dtype=dtype) if powers.dtype is not dtype else powers


@op("logspace.Tensor_Tensor")
@op("logspace.Tensor_Scalar")
@op("logspace.Scalar_Tensor")
def logspace_between_tensors(
    start: Number | Tensor, end: Number | Tensor, steps: int, base: float = 10.0, **options: Any
) -> Tensor:
    """`logspace` between 0-d tensors. Raises RuntimeError for tensors with dimensions."""
    _require_numbers("logspace", start=start, end=end)
    return logspace(_bound(start), _bound(end), steps, base, **options)


@op("range")
@op("range.step")
def range_to(
    start: Any, end: Any, step: Any = 1, *, dtype: dtype | None = None, **options: Any
) -> Tensor:
    """The numbers start, start + step, … up to `end`, which is included where it is met."""
    start, end, step = _real_bounds(start, end, step)
    dtype = dtype or get_default_dtype()
    _require_ordered("range_cpu", dtype)
    bounded = math.isfinite(start) and math.isfinite(end) and step == step
    if not bounded or step == 0 or (end - start) / step < 0:
        raise RuntimeError(f"range: no steps of {step} lead from {start} to {end}")
    count = math.floor((end - start) / step) + 1
    made = arange_start_step(0, count, 1, dtype=_FLOAT64, **options)
    return ops.aten._to_copy(made * step + start, dtype=dtype)


@op
def empty_permuted(size: Sequence[int], physical_layout: Sequence[int], **options: Any) -> Tensor:
    """An uninitialized tensor whose dimensions lie in memory in the order `physical_layout`.

    Raises RuntimeError where that is no order of all dimensions.
    """
    if sorted(physical_layout) != list(range(len(size))):
        raise RuntimeError(
            f"empty_permuted: physical_layout must name each of {len(size)} dimensions once, from "
            f"the front, got {list(physical_layout)}"
        )
    made = ops.aten.empty.memory_format([size[dim] for dim in physical_layout], **options)
    return made.permute([list(physical_layout).index(dim) for dim in range(len(size))])


@op
def tril_indices(row: int, col: int, offset: int = 0, **options: Any) -> Tensor:
    """Rows and columns of the elements on and below a diagonal, as two rows, in row-major order."""
    return _triangle_indices("tril", row, col, offset, **options)


@op
def triu_indices(row: int, col: int, offset: int = 0, **options: Any) -> Tensor:
    """Rows and columns of the elements on and above a diagonal, as two rows, in row-major order."""
    return _triangle_indices("triu", row, col, offset, **options)


def _triangle_indices(
    name: str,
    rows: int,
    columns: int,
    offset: int,
    *,
    dtype: dtype | None = None,
    layout: layout | None = None,
    device: device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    if rows < 0 or columns < 0:
        raise RuntimeError(
            f"{name}_indices: row and col must not be negative, got {rows}, {columns}"
        )
    if layout is not None and layout.name != "strided":
        raise RuntimeError(f"{name}_indices: only strided tensors can be made, not {layout}")
    dtype = dtype or _INT64
    if dtype.name not in ("int32", "int64"):
        raise refusal(f"{name}_indices", dtype)
    mask = triangle_mask(name, rows, columns, offset, ops.aten.empty.memory_format((0,)))
    places = ops.aten.nonzero(mask).t().contiguous()
    return ops.aten._to_copy(places, dtype=dtype, device=device)

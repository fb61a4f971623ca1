"""Factories of evenly spaced numbers; those of equal numbers are compiled (_core/factories.pyx)."""

from __future__ import annotations

import math
from typing import Any

from aten._core import factories
from aten._core.device import device, layout
from aten._core.dtypes import DTYPES, dtype, get_default_dtype
from aten._core.tensor import Tensor
from aten.ops.definition import op
from aten.prims import Number
from aten.registry import ops

# Types whose loops are compiled; sequences of other types are converted from these.
_COMPUTED = {"int32": "int32", "int64": "int64", "float32": "float32", "float64": "float64"}


def _plain(number: Any) -> Any:
    return number.item() if isinstance(number, Tensor) else number


@op("arange")
def arange(end: Number, **options: Any) -> Tensor:
    """The numbers from 0 up to `end`, without it."""
    return arange_start_step(0, end, 1, **options)


@op("arange.start")
def arange_start(start: Number, end: Number, **options: Any) -> Tensor:
    """The numbers start, start + 1, … below `end`."""
    return arange_start_step(start, end, 1, **options)


@op("arange.start_step")
def arange_start_step(
    start: Any, end: Any, step: Any = 1, *, dtype: dtype | None = None, **options: Any
) -> Tensor:
    """The numbers start, start + step, … short of `end`: int64 where all are integers.

    Raises RuntimeError for a step of zero or of the wrong sign, and for ranges without end.
    """
    start, end, step = _plain(start), _plain(end), _plain(step)
    if any(isinstance(number, complex) for number in (start, end, step)):
        raise RuntimeError(
            "arange: complex numbers have no order, start, end and step must be real"
        )
    if dtype is None:
        whole = all(isinstance(number, int) for number in (start, end, step))
        dtype = DTYPES["int64"] if whole else get_default_dtype()
    if dtype.is_complex or dtype.kind == "bool":
        raise NotImplementedError(f'"arange" not implemented for {dtype.scalar_type_name!r}')
    count = _range_length(start, end, step, dtype)
    if not dtype.is_floating_point:
        start, step = int(start), int(step)
    return _sequence(count, dtype, options, lambda out: factories.fill_sequence(out, start, step))


def _range_length(start: Any, end: Any, step: Any, element: dtype) -> int:
    if not math.isfinite(start) or not math.isfinite(end):
        raise RuntimeError(f"arange: unsupported range: {start} -> {end}")
    given = (start, end, step)
    if not element.is_floating_point:
        start, end, step = int(start), int(end), int(step)
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


def _sequence(count: int, element: dtype, options: dict[str, Any], fill: Any) -> Tensor:
    """`count` elements written by `fill` on the CPU, as the dtype and on the device asked for."""
    place = options.get("device")
    if place is not None and place.type == "meta":
        return ops.aten.empty((count,), dtype=element, **options)  # type: ignore[no-any-return]
    computed = _COMPUTED.get(element.name, "float64" if element.is_floating_point else "int64")
    options = {**options, "device": device("cpu")}
    out: Tensor = ops.aten.empty((count,), dtype=DTYPES[computed], **options)
    fill(out)
    if out.dtype is element and (place is None or place.type == "cpu"):
        return out
    return ops.aten._to_copy(out, dtype=element, device=place)  # type: ignore[no-any-return]


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
    options = {"layout": layout, "device": device, "pin_memory": pin_memory}
    if isinstance(start, complex) or isinstance(end, complex):
        dtype = get_default_dtype().to_complex() if dtype is None else dtype
        if not dtype.is_complex:
            raise RuntimeError(f"linspace: complex start or end, but the dtype is {dtype}")
    dtype = get_default_dtype() if dtype is None else dtype
    if dtype.is_complex or dtype.kind == "bool":
        raise NotImplementedError(f'"linspace" not implemented for {dtype.scalar_type_name!r}')
    if not dtype.is_floating_point:
        start, end = int(start), int(end)
    if steps == 1:
        return ops.aten.full((1,), start, dtype=dtype, **options)  # type: ignore[no-any-return]
    computed = DTYPES["float64" if dtype.name != "float32" else "float32"]
    step = (end - start) / max(steps - 1, 1)
    if computed.name == dtype.name:
        return _sequence(
            steps, dtype, options, lambda out: factories.fill_between(out, start, end, step)
        )
    return _between_converted(steps, dtype, options, (start, end, step))


def _between_converted(
    steps: int, element: dtype, options: dict[str, Any], ends: tuple[Any, Any, Any]
) -> Tensor:
    made = _sequence(
        steps, DTYPES["float64"], options, lambda out: factories.fill_between(out, *ends)
    )
    return ops.aten._to_copy(made, dtype=element)  # type: ignore[no-any-return]


@op("linspace.Tensor_Tensor")
@op("linspace.Tensor_Scalar")
@op("linspace.Scalar_Tensor")
def linspace_between_tensors(
    start: Number | Tensor, end: Number | Tensor, steps: int, **options: Any
) -> Tensor:
    """`linspace` between 0-d tensors. Raises RuntimeError for tensors with dimensions."""
    for name, bound in (("start", start), ("end", end)):
        if isinstance(bound, Tensor) and bound.dim() != 0:
            raise RuntimeError(
                "linspace only supports 0-dimensional start and end tensors, but got "
                f"{name} with {bound.dim()} dimension(s)."
            )
    return linspace(_plain(start), _plain(end), steps, **options)

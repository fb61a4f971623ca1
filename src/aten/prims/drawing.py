"""Structural primitives: random numbers.

A device without kernels of its own has the CPU's: they are drawn there and copied, so that the same
seed brings the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aten._core.base.device import device
from aten._core.base.dtypes import dtype
from aten._core.random.generator import Generator
from aten._core.tensor.tensor import Tensor
from aten.prims.prim import Number
from aten.prims.structural import Described, StructuralPrim
from aten.registry import ops

_CPU = device("cpu")


def _numpy_generator() -> Any:
    import numpy

    return numpy.random.default_rng()


def _uniform_result(shape: Sequence[int], *, dtype: dtype, **options: Any) -> Described:
    return dtype, tuple(shape)


def _uniform_of_cpu(
    shape: Sequence[int],
    *,
    low: Number,
    high: Number,
    dtype: dtype,
    device: device,
    stride: Sequence[int],
    generator: Generator | None = None,
) -> Tensor:
    drawn = ops.prims.uniform(
        shape,
        low=low,
        high=high,
        dtype=dtype,
        device=_CPU,
        stride=stride,
        generator=generator,
    )
    return drawn.to(device)  # type: ignore[no-any-return]


def _normal_of_cpu(
    shape: Sequence[int],
    *,
    mean: Number,
    std: Number,
    dtype: dtype,
    device: device,
    requires_grad: bool,
    generator: Generator | None = None,
) -> Tensor:
    drawn = ops.prims.normal(
        shape,
        mean=mean,
        std=std,
        dtype=dtype,
        device=_CPU,
        requires_grad=requires_grad,
        generator=generator,
    )
    return drawn.to(device)  # type: ignore[no-any-return]


uniform = StructuralPrim(
    "uniform(SymInt[] shape, *, Scalar low, Scalar high, ScalarType dtype, Device device, "
    "SymInt[] stride, Generator? generator=None) -> Tensor",
    result=_uniform_result,
    reference=lambda shape, low, high, **options: _numpy_generator().uniform(low, high, shape),
    expansion=_uniform_of_cpu,
    doc="Numbers spread evenly over [low, high), in memory as `stride` says.",
)
normal = StructuralPrim(
    "normal(SymInt[] shape, *, Scalar mean, Scalar std, ScalarType dtype, Device device, "
    "bool requires_grad, Generator? generator=None) -> Tensor",
    result=_uniform_result,
    reference=lambda shape, mean, std, **options: _numpy_generator().normal(mean, std, shape),
    expansion=_normal_of_cpu,
    doc="Normal numbers, row-major in memory; complex ones have normal parts, each with half of "
    "the variance.",
)

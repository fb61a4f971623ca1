"""Primitives as calls of Core ATen operators, for devices that have kernels of these.

An operator that is not core is decomposed to primitives, and each of them becomes the call of a
core operator that the device has a kernel for. Where it has none, the error names it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from aten import registry
from aten._core.base.dtypes import dtype
from aten._core.tensor.tensor import Tensor
from aten._generated.table import OPERATORS, PACKETS
from aten.backends.cpu.operators import primitives
from aten.prims import Prim

_FOLDS = ("amax", "amin")
# Structural primitives, and the core operators that the functions of the CPU make them of.
_STRUCTURAL = {
    "cat": ("cat",),
    "rev": ("flip",),
    "gather": ("gather",),
    "scatter": ("scatter.src", "scatter_add", "scatter_reduce.two"),
    "nonzero": ("nonzero",),
    "dot_general": ("bmm",),
    "conv_general": ("convolution",),
    "fft_r2c": ("_fft_r2c",),
    "fft_c2r": ("_fft_c2r",),
    "pad": ("full", "copy"),
}

Kernel = Callable[..., Any]


def kernels_by_operators(direct: frozenset[str]) -> dict[str, Kernel]:
    """Kernels of primitives that call those of the operators in `direct`, by qualified name.

    Primitives without such an operator are left out.
    """
    made: dict[str, Kernel] = {}
    for name, core in elementwise_operators().items():
        if f"aten::{core}" in direct:
            made[f"prims::{name}"] = registry.operator(f"aten::{core}")
    if {"aten::div.Tensor", "aten::div.Tensor_mode"} <= direct:
        made["prims::div"] = _quotient
    for name in _FOLDS:
        if f"aten::{name}" in direct:
            made[f"prims::{name}"] = _fold(registry.operator(f"aten::{name}"))
    if "aten::sum.dim_IntList" in direct:
        made["prims::sum"] = _sum
    if "aten::prod.dim_int" in direct:
        made["prims::prod"] = _product
    if "aten::_to_copy" in direct:
        made["prims::convert_element_type"] = _converted
    for name, needed in _STRUCTURAL.items():
        if all(f"aten::{one}" in direct for one in needed):
            made[f"prims::{name}"] = getattr(primitives, name)
    return made


@cache
def elementwise_operators() -> dict[str, str]:
    """For primitives of elements the core overload of their name that takes as many tensors, and
    needs nothing else."""
    found = {}
    for prim in Prim.table.values():
        arguments = registry.operator(f"prims::{prim.name}")._schema.arguments
        if prim.kind != "elementwise" or any(str(one.type) != "Tensor" for one in arguments):
            continue
        for key in PACKETS.get(prim.name, ()):
            if _is_core(key) and _takes_tensors(key, len(arguments)):
                found[prim.name] = key
    return found


def _is_core(key: str) -> bool:
    variant, tags = OPERATORS[key][2], OPERATORS[key][5].get("tags", ())
    assert isinstance(tags, tuple)
    return variant == "functional" and "core" in tags


def _takes_tensors(key: str, count: int) -> bool:
    arguments = registry.operator(f"aten::{key}")._schema.arguments
    needed = [str(one.type) for one in arguments if not one.has_default]
    return needed == ["Tensor"] * count


def scalar_tensor(s: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """The primitive of this name."""
    operator = registry.operator("aten::scalar_tensor")
    return operator(s, dtype=dtype, device=device)  # type: ignore[no-any-return]


def broadcast_in_dim(
    a: Tensor, shape: Sequence[int], broadcast_dimensions: Sequence[int]
) -> Tensor:
    """The primitive of this name, as views."""
    for dim in range(len(shape)):
        if dim not in broadcast_dimensions:
            a = registry.operator("aten::unsqueeze")(a, dim)
    return registry.operator("aten::expand")(a, shape)  # type: ignore[no-any-return]


def copy_to(a: Tensor, b: Tensor) -> Tensor:
    """The primitive of this name."""
    return registry.operator("aten::copy_")(a, b)  # type: ignore[no-any-return]


def _quotient(left: Tensor, right: Tensor) -> Tensor:
    """The primitive `div`: of integers, the quotient toward zero."""
    if left.dtype.kind in ("signed", "unsigned"):
        rounded = registry.operator("aten::div.Tensor_mode")
        return rounded(left, right, rounding_mode="trunc")  # type: ignore[no-any-return]
    return registry.operator("aten::div.Tensor")(left, right)  # type: ignore[no-any-return]


def _fold(operator: Any) -> Kernel:
    def kernel(inp: Tensor, dims: Sequence[int] | None, *, output_dtype: Any = None) -> Tensor:
        if dims is not None and len(dims) == 0:
            return inp.clone()
        return operator(inp, tuple(dims or range(inp.dim())))  # type: ignore[no-any-return]

    return kernel


def _sum(inp: Tensor, dims: Sequence[int] | None, *, output_dtype: Any = None) -> Tensor:
    if dims is not None and len(dims) == 0:
        return inp.clone()
    every = tuple(range(inp.dim())) if dims is None else tuple(dims)
    operator = registry.operator("aten::sum.dim_IntList")
    return operator(inp, every, dtype=inp.dtype)  # type: ignore[no-any-return]


def _product(inp: Tensor, dims: Sequence[int] | None, *, output_dtype: Any = None) -> Tensor:
    every = range(inp.dim()) if dims is None else dims
    operator = registry.operator("aten::prod.dim_int")
    for dim in sorted(every, reverse=True):
        inp = operator(inp, dim, dtype=inp.dtype)
    return inp


def _converted(a: Tensor, dtype: dtype) -> Tensor:
    return registry.operator("aten::_to_copy")(a, dtype=dtype)  # type: ignore[no-any-return]

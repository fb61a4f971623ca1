"""Operators of this library alone as ones of ATen, which programs in files may call."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from aten._core.dispatch.dispatcher import OpOverload
from aten._core.tensor.tensor import Tensor
from aten.export.data_sizes import is_sized_by_data
from aten.ops.indexing.indexing import MASK_TYPES
from aten.registry import find_operator, operator, ops
from aten.transforms.decompositions import Decompose, core_kernels, decomposition_of
from aten.transforms.trees import tensors_in


def _fma(self: Tensor, other: Tensor, addend: Tensor) -> Any:
    """Rounded twice: no operator of ATen rounds once."""
    return ops.aten.add(ops.aten.mul(self, other), addend)


_NAMED_APART: dict[str, Callable[..., Any]] = {"prims::fma": _fma}


@cache
def common_form(op: OpOverload) -> Callable[..., Any] | None:
    """What to call in the place of an operator that is not ATen's; None where it stays.

    Primitives are the operators that compute them, or ones of the same name and arguments; what
    layers call in one piece is taken apart.
    """
    if op.namespace == "fused":
        return decomposition_of(op)
    if op.namespace != "prims":
        return None
    name = op.qualified_name
    if name in _NAMED_APART or name in core_kernels():
        return _NAMED_APART.get(name) or core_kernels()[name]
    like = find_operator(f"aten::{op.name}")
    if like is None:
        return None
    asked = [(one.name, str(one.type)) for one in op._schema.arguments]
    given = [(one.name, str(one.type)) for one in like._schema.arguments]
    return like if asked == given else None


# What they are made of has no name in ATen; torch's core programs have them whole.
_WHOLE = (
    *("linalg_", "_linalg_", "cholesky", "lu_", "geqrf", "orgqr", "ormqr", "triangular_"),
    *("cummax", "cummin", "cumprod", "copysign", "median", "nanmedian", "kthvalue", "mode"),
    "nll_loss",
)


class DecomposeForFiles(Decompose):
    """Takes operators apart to a set, but for those that `core_form` has a form of, and those that
    look at data to know how large a result is."""

    def call(self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        whole = op.qualified_name in _CORE_FORMS or op.name.startswith(_WHOLE)
        if (self.to == "core" and whole) or _picks_by_mask(op, args, kwargs):
            return op(*args, **kwargs)
        if is_sized_by_data(op, args, kwargs):
            return op(*args, **kwargs)
        return super().call(op, args, kwargs)


def _picks_by_mask(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether data choose which elements an operator reads or writes."""
    place = next(
        (place for place, one in enumerate(op._schema.arguments) if one.name == "indices"), None
    )
    if place is None:
        return False
    given = args[place] if place < len(args) else kwargs.get("indices")
    return any(one.dtype.name in MASK_TYPES for one in tensors_in(given))


Call = tuple[OpOverload, tuple[Any, ...], dict[str, Any]]


def core_form(
    op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
) -> Call | None:
    """A call as the call of a core operator that gives the same, where there is one: of factories,
    which modes see as they are, and of resampling, whose core operators are composites here."""
    form = _CORE_FORMS.get(op.qualified_name)
    if form is None:
        return None
    given = {one.name: one.default for one in op._schema.arguments if one.has_default}
    given.update(zip((one.name for one in op._schema.arguments), args, strict=False))
    return form(op, {**given, **kwargs}, result)


def _arange(op: OpOverload, given: dict[str, Any], result: Tensor) -> Call:
    positions = (given.get("start", 0), given["end"], given.get("step", 1))
    return operator("aten::arange.start_step"), positions, _options(result)


def _full(value: float) -> Callable[[OpOverload, dict[str, Any], Tensor], Call]:
    def form(op: OpOverload, given: dict[str, Any], result: Tensor) -> Call:
        filled = given.get("fill_value", value)
        if op.name.endswith("_like"):
            chosen = {"memory_format": given.get("memory_format")} | _options(result)
            return operator("aten::full_like"), (given["self"], filled), chosen
        return operator("aten::full"), (given["size"], filled), _options(result)

    return form


def _empty(op: OpOverload, given: dict[str, Any], result: Tensor) -> Call:
    place = (list(result.shape), list(result.stride()))
    return operator("aten::empty_strided"), place, _options(result)


def _options(result: Tensor) -> dict[str, Any]:
    return {"dtype": result.dtype, "device": result.device, "pin_memory": False}


def _resampled(op: OpOverload, given: dict[str, Any], result: Tensor) -> Call:
    factors = [value for name, value in given.items() if name.startswith("scales")]
    scaled = None not in factors
    corners = [given["align_corners"]] if "align_corners" in given else []
    size = None if scaled else given["output_size"]
    args = (given["self"], size, *corners, factors if scaled else None)
    return operator(f"aten::{op.name}.vec"), args, {}


_CORE_FORMS: dict[str, Callable[[OpOverload, dict[str, Any], Any], Call]] = {
    "aten::arange": _arange,
    "aten::arange.start": _arange,
    "aten::empty_like": _empty,
    "aten::new_empty": _empty,
    **{f"aten::{name}": _full(0) for name in ("zeros", "zeros_like", "new_zeros", "new_full")},
    **{f"aten::{name}": _full(1) for name in ("ones", "ones_like", "new_ones")},
    "aten::upsample_nearest2d": _resampled,
    "aten::upsample_bilinear2d": _resampled,
}

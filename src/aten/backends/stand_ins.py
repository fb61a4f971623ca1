"""Operators whose ordinary case is compiled, named by `native:`, and else a Python function."""

from __future__ import annotations

from aten._core import derived_views, joining, rearranging
from aten._core.dispatcher import OpOverload, PythonKernel
from aten._core.stand_in import StandIn
from aten.ops.definition import load_function
from aten.registry import operator

# The operators of compiled views, where they have other names.
_OPERATORS_OF_VIEWS = {
    "select": "select.int",
    "slice": "slice.Tensor",
    "transpose": "transpose.int",
}
NAMES = frozenset({*derived_views.NAMES, *rearranging.NAMES, *joining.NAMES})


def stand_in_for(op: OpOverload) -> StandIn | None:
    """The kernel for `op`; None where nothing is compiled for it, or not for this variant."""
    native = str(op.entry.options.get("native", ""))
    is_functional = op.entry.variant == "functional"
    if native in derived_views.NAMES and is_functional:
        views = [
            operator(f"aten::{_OPERATORS_OF_VIEWS.get(view, view)}")
            for view in derived_views.VIEWS[native]
        ]
        return derived_views.DerivedViewKernel(native, views, _function_of(op))
    if native in rearranging.NAMES and is_functional:
        return rearranging.RearrangeKernel(native, (), _function_of(op))
    if native in joining.NAMES:
        copy = operator("aten::copy_")
        return joining.JoinKernel(native, (copy,), _function_of(op), not is_functional)
    return None


def _function_of(op: OpOverload) -> PythonKernel:
    return PythonKernel(load_function(op.entry.function))

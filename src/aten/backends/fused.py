"""The operators of `aten.ops.reductions.fused`, with kernels wherever reductions have them."""

from __future__ import annotations

from aten import registry
from aten._core.base.keys import DispatchKey
from aten.backends import structured
from aten.backends.decomposition import decomposing_kernel
from aten.ops.definition import place_of
from aten.ops.reductions.fused import FUSED


def load() -> None:
    """Define `fused::…`."""
    for schema, function in FUSED.items():
        op = registry.define("fused", schema, kind="fused")
        structured.define_by(op, function, place_of(function))
        structured.install_loops_reduction(op)
        definition = structured.definition_of(op)
        op.register(DispatchKey.Structured, decomposing_kernel(op, definition), definition.place)

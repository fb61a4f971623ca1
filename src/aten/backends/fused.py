"""The operators of the namespace `fused`, with kernels wherever loops have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten import registry
from aten._core.base.keys import DispatchKey
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.dispatch.shielding import ShieldedKernel
from aten.backends import structured
from aten.backends.decomposition import decomposing_kernel
from aten.ops.definition import place_of
from aten.ops.networks.gates import GATES, SEQUENCES
from aten.ops.reductions.fused import FUSED


def load() -> None:
    """Define `fused::…`."""
    for schema, fold in FUSED.items():
        _define(schema, fold, "fused", structured.install_loops_reduction)
    for schema, pointwise in GATES.items():
        _define(schema, pointwise, "pointwise", structured.install_loops_pointwise)
    for schema, sequence in SEQUENCES.items():
        op = registry.define("fused", schema, kind="fused")
        key = DispatchKey.CompositeExplicitAutograd
        op.register(key, ShieldedKernel(sequence), place_of(sequence))


def _define(
    schema: str,
    function: Callable[..., Any],
    kind: str,
    install: Callable[[OpOverload], None],
) -> None:
    op = registry.define("fused", schema, kind=kind)
    if kind == "pointwise":
        op.entry.options["promotion"] = "default"
    structured.define_by(op, function, place_of(function))
    install(op)
    definition = structured.definition_of(op)
    op.register(DispatchKey.Structured, decomposing_kernel(op, definition), definition.place)

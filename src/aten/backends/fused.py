"""The operators of the namespace `fused`, with kernels wherever loops have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten import registry
from aten._core.base.keys import DispatchKey
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.dispatch.shielding import ShieldedKernel
from aten.backends import structured
from aten.backends.cpu.kernels.windows.convolution_calls import ConvolutionKernel
from aten.backends.cpu.operators import conv, recurrent
from aten.backends.decomposition import decomposing_kernel
from aten.ops.definition import place_of
from aten.ops.networks.gates import GATES, SEQUENCES
from aten.ops.reductions.fused import FUSED
from aten.ops.windows.epilogues import EPILOGUES


def load() -> None:
    """Define `fused::…`."""
    for schema, fold in FUSED.items():
        _define(schema, fold, "fused", structured.install_loops_reduction)
    for schema, pointwise in GATES.items():
        _define(schema, pointwise, "pointwise", structured.install_loops_pointwise)
    for schema, composition in {**SEQUENCES, **EPILOGUES}.items():
        op = registry.define("fused", schema, kind="fused")
        key = DispatchKey.CompositeExplicitAutograd
        op.register(key, ShieldedKernel(composition), place_of(composition))
        if op.name == "convolution_epilogue":
            convolution = ShieldedKernel(conv.convolution_epilogue)
            place = place_of(conv.convolution_epilogue)
            op.register(DispatchKey.CPU, ConvolutionKernel(convolution, True), place)
        if op.name == "lstm_sequence":
            sequence = ShieldedKernel(recurrent.lstm_sequence)
            op.register(DispatchKey.CPU, sequence, place_of(recurrent.lstm_sequence))


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

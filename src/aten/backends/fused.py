"""The operators of the namespace `fused`, with kernels wherever loops have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten import registry
from aten._core.base.keys import DispatchKey
from aten._core.dispatch.dispatcher import Kernel, OpOverload
from aten._core.dispatch.shielding import ShieldedKernel
from aten.backends import structured
from aten.backends.cpu.kernels.indexing.checking import CheckedIndexKernel
from aten.backends.cpu.kernels.matrix.strips import StripsKernel
from aten.backends.cpu.kernels.windows.convolution_calls import ConvolutionKernel
from aten.backends.cpu.kernels.windows.expanding import (
    ExpandedConvolutionKernel,
    InvertedResidualKernel,
)
from aten.backends.cpu.kernels.windows.strip_convolutions import StripsConvolutionKernel
from aten.backends.cpu.operators import embedding, recurrent
from aten.backends.cpu.operators.windows import conv, pool
from aten.backends.decomposition import decomposing_kernel
from aten.ops.definition import place_of
from aten.ops.indexing.checked import FUSED_CHECKS
from aten.ops.indexing.embedding import FUSED_BAGS
from aten.ops.linear_algebra.strips import STRIPS
from aten.ops.networks.gates import GATES, SEQUENCES
from aten.ops.pointwise.exponents import EXPONENTS
from aten.ops.reductions.fused import FUSED
from aten.ops.windows.epilogues import EPILOGUES
from aten.ops.windows.pool import FUSED_POOLS

# The CPU's own functions, and what serves ordinary calls before one is asked.
_OF_CPU: dict[str, Callable[..., Any]] = {
    "convolution_epilogue": conv.convolution_epilogue,
    "embedding_bags": embedding.embedding_bags,
    "lstm_blocks_sequence": recurrent.lstm_blocks_sequence,
    "lstm_sequence": recurrent.lstm_sequence,
    "max_pool2d": pool.largest_of_windows,
}
_KERNELS: dict[str, Callable[[Kernel], Kernel]] = {
    "checked_index": CheckedIndexKernel,
    "convolution_epilogue": lambda otherwise: ConvolutionKernel(otherwise, True),
    "expanded_convolution": ExpandedConvolutionKernel,
    "inverted_residual": InvertedResidualKernel,
    "strips_convolution": StripsConvolutionKernel,
    "strips_product": StripsKernel,
}


def load() -> None:
    """Define `fused::…`."""
    for schema, fold in FUSED.items():
        _define(schema, fold, "fused", structured.install_loops_reduction)
    for schema, pointwise in GATES.items():
        _define(schema, pointwise, "pointwise", structured.install_loops_pointwise)
    for schema, pointwise in EXPONENTS.items():
        _define(schema, pointwise, "pointwise", structured.install_loops_pointwise, "same")
    for schema, composition in {
        **SEQUENCES,
        **STRIPS,
        **EPILOGUES,
        **FUSED_POOLS,
        **FUSED_BAGS,
        **FUSED_CHECKS,
    }.items():
        op = registry.define("fused", schema, kind="fused")
        key = DispatchKey.CompositeExplicitAutograd
        op.register(key, ShieldedKernel(composition), place_of(composition))
        _install_for_cpu(op, composition)
        op.adopt(kernel for kernels in op.registrations.kernels.values() for kernel in kernels)


def _install_for_cpu(op: OpOverload, composition: Callable[..., Any]) -> None:
    """The compiled kernel of an operator that has one, over the function that knows everything."""
    if op.name not in _OF_CPU and op.name not in _KERNELS:
        return
    function = _OF_CPU.get(op.name, composition)
    kernel: Kernel = ShieldedKernel(function)
    if op.name in _KERNELS:
        kernel = _KERNELS[op.name](kernel)
    op.register(DispatchKey.CPU, kernel, place_of(function))


def _define(
    schema: str,
    function: Callable[..., Any],
    kind: str,
    install: Callable[[OpOverload], None],
    promotion: str = "default",
) -> None:
    op = registry.define("fused", schema, kind=kind)
    if kind == "pointwise":
        op.entry.options["promotion"] = promotion
    structured.define_by(op, function, place_of(function))
    install(op)
    definition = structured.definition_of(op)
    op.register(DispatchKey.Structured, decomposing_kernel(op, definition), definition.place)

"""Compiled kernels that serve an operator's ordinary cases and leave the others to another kernel.

The table names them by `fast_path:`, and what they stand for or forward to; they serve an entry's
own variant, and some all variants.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from aten._core.dispatch.dispatcher import Kernel, OpOverload
from aten._core.dispatch.fast_path import FastPath
from aten._core.dispatch.forwarding import ForwardingKernel
from aten._core.views import derived_views
from aten.backends.cpu.kernels.filling import drawing, sequences
from aten.backends.cpu.kernels.folding import channel_norms
from aten.backends.cpu.kernels.fourier import spectra
from aten.backends.cpu.kernels.indexing import binning, elements, scattering, searching
from aten.backends.cpu.kernels.indexing.bags import BagsKernel
from aten.backends.cpu.kernels.indexing.weighing import CrossEntropyKernel
from aten.backends.cpu.kernels.matrix import small_matrices, small_spectra
from aten.backends.cpu.kernels.matrix.composite_products import LinearKernel, MatmulKernel
from aten.backends.cpu.kernels.matrix.cross_products import CrossKernel
from aten.backends.cpu.kernels.moving import joining, rearranging
from aten.backends.cpu.kernels.moving.block_diagonals import BlockDiagonalKernel
from aten.backends.cpu.kernels.moving.conversion import (
    ConvertedCopyKernel,
    ConvertKernel,
    CopyKernel,
    ReorderKernel,
)
from aten.backends.cpu.kernels.pointwise import divisors, polynomials
from aten.backends.cpu.kernels.windows import (
    named_convolutions,
    pooling_calls,
    resampling_calls,
    sampling_calls,
)
from aten.backends.cpu.kernels.windows.convolution_calls import ConvolutionKernel
from aten.backends.cpu.operators.lapack import address_of
from aten.registry import operator

Maker = Callable[[OpOverload, str, tuple[str, ...], Kernel], FastPath]


def has_fast_path(op: OpOverload) -> bool:
    """Whether the operator's table row names a fast path for this variant."""
    if op.entry.base == op.qualified_name.partition("::")[2]:
        return not op.entry.options.keys().isdisjoint(("fast_path", "forwards"))
    native, _ = _named(op)
    in_place = op.entry.variant == "inplace"
    return native in joining.NAMES or (in_place and native in scattering.NAMES)


def is_derived_view(op: OpOverload) -> bool:
    """Whether that kernel looks at metadata only, so that it serves every backend."""
    return _named(op)[0] in derived_views.NAMES


def with_fast_path(op: OpOverload, otherwise: Kernel) -> Kernel:
    """The compiled kernel in front of `otherwise`; that itself where the table names none."""
    if not has_fast_path(op):
        return otherwise
    forwards: Any = op.entry.options.get("forwards")
    if forwards is not None:
        target, sources, absent, first = forwards
        return ForwardingKernel(operator(f"aten::{target}"), sources, absent, first, otherwise)
    native, replaced = _named(op)
    return _MAKERS[native](op, native, replaced, otherwise)


def _named(op: OpOverload) -> tuple[str, tuple[str, ...]]:
    """The compiled kernel and the operators that the table says it stands for."""
    named: Any = op.entry.options.get("fast_path", ("", ()))
    native, replaced = named
    return native, replaced


def _matmul(op: OpOverload, native: str, replaced: tuple[str, ...], otherwise: Kernel) -> FastPath:
    products = tuple(operator(f"aten::{name}") for name in ("mm", "mv", "dot"))
    return MatmulKernel(products, replaced, operator, otherwise)


def _linear(op: OpOverload, native: str, replaced: tuple[str, ...], otherwise: Kernel) -> FastPath:
    return LinearKernel(replaced, operator, otherwise)


def _cross_entropy(
    op: OpOverload, native: str, replaced: tuple[str, ...], otherwise: Kernel
) -> FastPath:
    return CrossEntropyKernel(operator("aten::_log_softmax"), replaced, operator, otherwise)


def _bags(op: OpOverload, native: str, replaced: tuple[str, ...], otherwise: Kernel) -> FastPath:
    return BagsKernel(replaced, operator, otherwise)


def _convolution(
    op: OpOverload, native: str, replaced: tuple[str, ...], otherwise: Kernel
) -> FastPath:
    return ConvolutionKernel(otherwise, False)


def _copy(op: OpOverload, native: str, replaced: tuple[str, ...], otherwise: Kernel) -> FastPath:
    return CopyKernel(otherwise)


def _reorder(op: OpOverload, native: str, replaced: tuple[str, ...], otherwise: Kernel) -> FastPath:
    return ReorderKernel(operator("aten::clone"), otherwise)


def _convert(op: OpOverload, native: str, replaced: tuple[str, ...], otherwise: Kernel) -> FastPath:
    names = [argument.name for argument in op._schema.arguments]
    positions = (names.index("dtype"), names.index("copy"))
    return ConvertKernel(operator("aten::_to_copy"), positions, otherwise)


def _converted_copy(
    op: OpOverload, native: str, replaced: tuple[str, ...], otherwise: Kernel
) -> FastPath:
    return ConvertedCopyKernel(operator("aten::copy_"), replaced, operator, otherwise)


def _derived_view(
    op: OpOverload, native: str, replaced: tuple[str, ...], otherwise: Kernel
) -> FastPath:
    many = any(map(_gives_views, (op, *(operator(f"aten::{name}") for name in replaced))))
    return derived_views.DerivedViewKernel(native, replaced, operator, otherwise, many)


def _gives_views(op: OpOverload) -> bool:
    """Whether one call gives several views, which are written to by nobody then."""
    given = op._schema.returns[0]
    is_list = str(given.type).endswith("[]")
    return is_list and given.annotation is not None and op.entry.kind == "explicit"


def _join(op: OpOverload, native: str, replaced: tuple[str, ...], otherwise: Kernel) -> FastPath:
    writes = op.entry.variant != "functional"
    copy = operator("aten::copy_")
    return joining.JoinKernel(native, copy, replaced, operator, otherwise, writes)


def _scatter(op: OpOverload, native: str, replaced: tuple[str, ...], otherwise: Kernel) -> FastPath:
    in_place = op.entry.variant == "inplace"
    return scattering.ScatterKernel(native, in_place, replaced, operator, otherwise)


def _small_spectra(
    op: OpOverload, native: str, replaced: tuple[str, ...], otherwise: Kernel
) -> FastPath:
    return small_spectra.SmallSpectrumKernel(native, address_of, replaced, operator, otherwise)


def _pool(op: OpOverload, native: str, replaced: tuple[str, ...], otherwise: Kernel) -> FastPath:
    # Only who pools needs what is behind it.
    from aten.backends.cpu.operators.windows.pool import prepared

    arguments = len(op._schema.arguments)
    return pooling_calls.PoolKernel(native, prepared, arguments, replaced, operator, otherwise)


def _resize(op: OpOverload, native: str, replaced: tuple[str, ...], otherwise: Kernel) -> FastPath:
    # Only who resizes needs what is behind it.
    from aten.backends.cpu.operators.windows.upsample import prepared

    arguments = len(op._schema.arguments)
    return resampling_calls.ResizeKernel(native, prepared, arguments, replaced, operator, otherwise)


def _resize_by_factors(
    op: OpOverload, native: str, replaced: tuple[str, ...], otherwise: Kernel
) -> FastPath:
    rank = int(op.name.removesuffix("_aa")[-2])
    target = operator(f"aten::{op.name}")
    return resampling_calls.SizeKernel(target, rank, replaced, operator, otherwise)


def _grid_sampler(
    op: OpOverload, native: str, replaced: tuple[str, ...], otherwise: Kernel
) -> FastPath:
    planes, volumes = (operator(f"aten::{name}") for name in sampling_calls.NAMES)
    return sampling_calls.SamplerKernel(planes, volumes, replaced, operator, otherwise)


def _polynomial(
    op: OpOverload, native: str, replaced: tuple[str, ...], otherwise: Kernel
) -> FastPath:
    # Only who asks for a polynomial needs what is behind it.
    from aten.ops.pointwise.orthogonal import HERMITE_LIMITS, MOST_STEPS

    hermite = (HERMITE_LIMITS["float32"], HERMITE_LIMITS["float64"])
    limits = hermite if native.startswith("hermite") else (math.inf, math.inf)
    return polynomials.PolynomialKernel(native, limits, MOST_STEPS, replaced, operator, otherwise)


def _of_kind(kind: Callable[..., FastPath]) -> Maker:
    """For kernels that need nothing but their name."""

    def make(op: OpOverload, native: str, replaced: tuple[str, ...], otherwise: Kernel) -> FastPath:
        return kind(native, replaced, operator, otherwise)

    return make


_MAKERS: dict[str, Maker] = {
    "matmul": _matmul,
    "linear": _linear,
    "cross_entropy": _cross_entropy,
    "bags": _bags,
    "convolution": _convolution,
    "copy": _copy,
    "reorder": _reorder,
    "convert": _convert,
    "converted_copy": _converted_copy,
    **dict.fromkeys(derived_views.NAMES, _derived_view),
    **dict.fromkeys(joining.NAMES, _join),
    **dict.fromkeys(scattering.NAMES, _scatter),
    **dict.fromkeys(small_spectra.NAMES, _small_spectra),
    **{name: _of_kind(kind) for name, kind in channel_norms.KINDS.items()},
    **dict.fromkeys(named_convolutions.NAMES, _of_kind(named_convolutions.NamedConvolutionKernel)),
    **dict.fromkeys(pooling_calls.KINDS, _pool),
    **dict.fromkeys(resampling_calls.NAMES, _resize),
    "resize_by_factors": _resize_by_factors,
    "grid_sampler": _grid_sampler,
    **dict.fromkeys(polynomials.NAMES, _polynomial),
    **dict.fromkeys(sampling_calls.NAMES, _of_kind(sampling_calls.SampleKernel)),
    **dict.fromkeys(rearranging.NAMES, _of_kind(rearranging.RearrangeKernel)),
    **dict.fromkeys(sequences.NAMES, _of_kind(sequences.SequenceKernel)),
    **dict.fromkeys(sequences.TRIANGLES, _of_kind(sequences.TriangleKernel)),
    **dict.fromkeys(sequences.BETWEEN, _of_kind(sequences.BetweenKernel)),
    "block_diag": _of_kind(BlockDiagonalKernel),
    "cross": _of_kind(CrossKernel),
    **{name: _of_kind(kind) for name, kind in binning.KINDS.items()},
    **dict.fromkeys(searching.NAMES, _of_kind(searching.SearchKernel)),
    **dict.fromkeys(divisors.NAMES, _of_kind(divisors.DivisorKernel)),
    **dict.fromkeys(drawing.NAMES, _of_kind(drawing.DrawKernel)),
    **dict.fromkeys(elements.NAMES, _of_kind(elements.ElementKernel)),
    **dict.fromkeys(small_matrices.NAMES, _of_kind(small_matrices.SmallMatrixKernel)),
    **dict.fromkeys(spectra.NAMES, _of_kind(spectra.SpectrumKernel)),
}

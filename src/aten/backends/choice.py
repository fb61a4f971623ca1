"""Compiled kernels that serve an operator's ordinary cases and leave the others to another kernel.

The table names them by `native:`; they serve an entry's own variant, and some all variants.
"""

from __future__ import annotations

from collections.abc import Callable

from aten._core.dispatch.dispatcher import Kernel, OpOverload
from aten._core.views import derived_views
from aten.backends.cpu.kernels.filling import drawing, sequences
from aten.backends.cpu.kernels.fourier import spectra
from aten.backends.cpu.kernels.indexing import elements
from aten.backends.cpu.kernels.matrix import small_matrices, small_spectra
from aten.backends.cpu.kernels.matrix.composite_products import LinearKernel, MatmulKernel
from aten.backends.cpu.kernels.moving import joining, rearranging
from aten.backends.cpu.kernels.moving.conversion import (
    ConvertedCopyKernel,
    ConvertKernel,
    CopyKernel,
    ReorderKernel,
)
from aten.backends.cpu.kernels.windows.convolution_calls import ConvolutionKernel
from aten.backends.cpu.operators.lapack import address_of
from aten.registry import operator


def is_choice(native: str) -> bool:
    """Whether a compiled kernel of this name leaves some cases to another."""
    return native in _MAKERS


def is_made_for(op: OpOverload) -> bool:
    """Whether the operator's table row names such a kernel for this variant."""
    native = op.entry.options.get("native", "")
    is_own = op.entry.base == op.qualified_name.partition("::")[2]
    return native in joining.NAMES or (is_own and is_choice(native))


def is_derived_view(op: OpOverload) -> bool:
    """Whether that kernel looks at metadata only, so that it serves every backend."""
    return op.entry.options.get("native") in derived_views.NAMES


def or_compiled(op: OpOverload, otherwise: Kernel) -> Kernel:
    """The compiled kernel in front of `otherwise`; that itself where the table names none."""
    if not is_made_for(op):
        return otherwise
    return _MAKERS[op.entry.options["native"]](op, otherwise)


def _replaced(op: OpOverload) -> tuple[str, ...]:
    """The operators that the table says the compiled kernel stands for, besides its own."""
    names = op.entry.options.get("stands_for", ())
    assert isinstance(names, tuple)
    return names


def _matmul(op: OpOverload, otherwise: Kernel) -> Kernel:
    products = tuple(operator(f"aten::{name}") for name in ("mm", "mv", "dot"))
    return MatmulKernel(products, _replaced(op), operator, otherwise)


def _linear(op: OpOverload, otherwise: Kernel) -> Kernel:
    return LinearKernel(_replaced(op), operator, otherwise)


def _convolution(op: OpOverload, otherwise: Kernel) -> Kernel:
    return ConvolutionKernel(otherwise, False)


def _copy(op: OpOverload, otherwise: Kernel) -> Kernel:
    return CopyKernel(otherwise)


def _reorder(op: OpOverload, otherwise: Kernel) -> Kernel:
    return ReorderKernel(operator("aten::clone"), otherwise)


def _convert(op: OpOverload, otherwise: Kernel) -> Kernel:
    names = [argument.name for argument in op._schema.arguments]
    positions = (names.index("dtype"), names.index("copy"))
    return ConvertKernel(operator("aten::_to_copy"), positions, otherwise)


def _converted_copy(op: OpOverload, otherwise: Kernel) -> Kernel:
    return ConvertedCopyKernel(operator("aten::copy_"), _replaced(op), operator, otherwise)


def _derived_view(op: OpOverload, otherwise: Kernel) -> Kernel:
    native = op.entry.options["native"]
    replaced = _replaced(op)
    many = any(map(_gives_views, (op, *(operator(f"aten::{name}") for name in replaced))))
    return derived_views.DerivedViewKernel(native, replaced, operator, otherwise, many)


def _gives_views(op: OpOverload) -> bool:
    """Whether one call gives several views, which are written to by nobody then."""
    given = op._schema.returns[0]
    is_list = str(given.type).endswith("[]")
    return is_list and given.annotation is not None and op.entry.kind == "explicit"


def _rearrange(op: OpOverload, otherwise: Kernel) -> Kernel:
    native = op.entry.options["native"]
    return rearranging.RearrangeKernel(native, _replaced(op), operator, otherwise)


def _sequence(op: OpOverload, otherwise: Kernel) -> Kernel:
    native = op.entry.options["native"]
    return sequences.SequenceKernel(native, _replaced(op), operator, otherwise)


def _draw(op: OpOverload, otherwise: Kernel) -> Kernel:
    return drawing.DrawKernel(op.entry.options["native"], _replaced(op), operator, otherwise)


def _join(op: OpOverload, otherwise: Kernel) -> Kernel:
    copy = operator("aten::copy_")
    writes = op.entry.variant != "functional"
    native = op.entry.options["native"]
    return joining.JoinKernel(native, copy, _replaced(op), operator, otherwise, writes)


def _move_elements(op: OpOverload, otherwise: Kernel) -> Kernel:
    return elements.ElementKernel(op.entry.options["native"], _replaced(op), operator, otherwise)


def _spectrum(op: OpOverload, otherwise: Kernel) -> Kernel:
    return spectra.SpectrumKernel(op.entry.options["native"], _replaced(op), operator, otherwise)


def _small_matrices(op: OpOverload, otherwise: Kernel) -> Kernel:
    native = op.entry.options["native"]
    if not _replaced(op):
        return small_matrices.SmallMatrixKernel(native, otherwise)
    return small_matrices.SmallMatrixStandIn(native, _replaced(op), operator, otherwise)


def _small_spectra(op: OpOverload, otherwise: Kernel) -> Kernel:
    native = op.entry.options["native"]
    if not _replaced(op):
        return small_spectra.SpectrumOfSmall(native, address_of, otherwise)
    return small_spectra.SpectrumStandIn(native, address_of, _replaced(op), operator, otherwise)


_MAKERS: dict[str, Callable[[OpOverload, Kernel], Kernel]] = {
    "matmul": _matmul,
    "linear": _linear,
    "convolution": _convolution,
    "copy": _copy,
    "reorder": _reorder,
    "convert": _convert,
    "converted_copy": _converted_copy,
    **dict.fromkeys(derived_views.NAMES, _derived_view),
    **dict.fromkeys(rearranging.NAMES, _rearrange),
    **dict.fromkeys(joining.NAMES, _join),
    **dict.fromkeys(sequences.NAMES, _sequence),
    **dict.fromkeys(drawing.NAMES, _draw),
    **dict.fromkeys(elements.NAMES, _move_elements),
    **dict.fromkeys(small_matrices.NAMES, _small_matrices),
    **dict.fromkeys(small_spectra.NAMES, _small_spectra),
    **dict.fromkeys(spectra.NAMES, _spectrum),
}

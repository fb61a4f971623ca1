"""Compiled kernels that serve an operator's ordinary cases and leave the others to another kernel.

The table names them by `native:`; they serve the functional variant.
"""

from __future__ import annotations

from collections.abc import Callable

from aten._core.conversion import ConvertedCopyKernel, ConvertKernel, CopyKernel, ReorderKernel
from aten._core.dispatcher import Kernel, OpOverload
from aten._core.products import MatmulKernel
from aten.registry import operator


def is_choice(native: str) -> bool:
    """Whether a compiled kernel of this name leaves some cases to another."""
    return native in _MAKERS


def is_made_for(op: OpOverload) -> bool:
    """Whether the operator's table row names such a kernel for this variant."""
    return op.entry.variant == "functional" and is_choice(op.entry.options.get("native", ""))


def or_compiled(op: OpOverload, otherwise: Kernel) -> Kernel:
    """The compiled kernel in front of `otherwise`; that itself where the table names none."""
    if not is_made_for(op):
        return otherwise
    return _MAKERS[op.entry.options["native"]](op, otherwise)


def _matmul(op: OpOverload, otherwise: Kernel) -> Kernel:
    return MatmulKernel(
        operator("aten::mm"), operator("aten::mv"), operator("aten::dot"), otherwise
    )


def _copy(op: OpOverload, otherwise: Kernel) -> Kernel:
    return CopyKernel(otherwise)


def _reorder(op: OpOverload, otherwise: Kernel) -> Kernel:
    return ReorderKernel(operator("aten::clone"), otherwise)


def _convert(op: OpOverload, otherwise: Kernel) -> Kernel:
    names = [argument.name for argument in op._schema.arguments]
    positions = (names.index("dtype"), names.index("copy"))
    return ConvertKernel(operator("aten::_to_copy"), positions, otherwise)


def _converted_copy(op: OpOverload, otherwise: Kernel) -> Kernel:
    return ConvertedCopyKernel(operator("aten::copy_"), otherwise)


_MAKERS: dict[str, Callable[[OpOverload, Kernel], Kernel]] = {
    "matmul": _matmul,
    "copy": _copy,
    "reorder": _reorder,
    "convert": _convert,
    "converted_copy": _converted_copy,
}

"""Operators defined by others, and those with a kernel for each device: what serves them where.

Matrix products have compiled kernels, for the CPU and for metadata alone, that the table names by
`native:`. The libraries that kernels call are named here: they are opened when first needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aten._core.base.keys import DispatchKey
from aten._core.dispatch.dispatcher import OpOverload
from aten.backends import composite
from aten.backends.cpu.kernels.matrix.products import FORMS, ProductKernel
from aten.backends.cpu.operators.lapack import set_lapack_opener

if TYPE_CHECKING:
    import ctypes

_PLACE = "aten/backends/cpu/kernels/matrix/products.pyx"


def install_explicit(op: OpOverload) -> None:
    """Operators defined by others; matrix products have a compiled kernel for all variants."""
    if op.entry.options.get("native") not in FORMS:
        composite.install_explicit(op)
        return
    composite.install_definition(op)
    for key, executes in ((DispatchKey.CPU, True), (DispatchKey.Meta, False)):
        form = str(op.entry.options["native"])
        op.register(key, ProductKernel(op, form, executes), f"{_PLACE}:{form}")


def install_kernel(op: OpOverload) -> None:
    """Operators that need a kernel for each device."""
    composite.install_kernel(op)


def _open_lapack() -> ctypes.CDLL:
    from aten.backends.cpu.openblas import library

    return library()


set_lapack_opener(_open_lapack)

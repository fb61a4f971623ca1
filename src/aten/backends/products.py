"""Compiled kernels of the matrix products, for the CPU and for metadata alone.

The table names them by `native:`; other operators of these kinds are Python functions, some with a
compiled part for their ordinary calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from aten._core.dispatcher import OpOverload
from aten._core.gemm import set_library_opener
from aten._core.keys import DispatchKey
from aten._core.products import FORMS, ProductKernel
from aten.backends import composite
from aten.ops.lapack import set_lapack_opener

if TYPE_CHECKING:
    import ctypes

_PLACE = "aten/_core/products.pyx"


def install_extern(op: OpOverload) -> None:
    """Library calls: a compiled kernel for all variants, or the operator's function."""
    form = op.entry.options.get("native")
    if form not in FORMS:
        composite.install_explicit(op)
        return
    for key, executes in ((DispatchKey.CPU, True), (DispatchKey.Meta, False)):
        op.register(key, ProductKernel(op, str(form), executes), f"{_PLACE}:{form}")


def _open_library() -> Mapping[str, int]:
    from aten.backends.cpu.openblas import product_addresses

    return product_addresses()


def _open_lapack() -> ctypes.CDLL:
    from aten.backends.cpu.openblas import library

    return library()


set_library_opener(_open_library)
set_lapack_opener(_open_lapack)

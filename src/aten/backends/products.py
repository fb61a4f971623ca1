"""Compiled kernels of the matrix products, for the CPU and for metadata alone.

The table names them by `native:`; other operators of these kinds are Python functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from aten._core.dispatcher import OpOverload, PythonKernel
from aten._core.gemm import set_library_opener
from aten._core.keys import DispatchKey
from aten._core.products import ProductKernel
from aten.backends import choice, composite
from aten.ops.definition import load_function, place_of
from aten.ops.lapack import set_lapack_opener

if TYPE_CHECKING:
    import ctypes

_PLACE = "aten/_core/products.pyx"


def install_extern(op: OpOverload) -> None:
    """Library calls: a compiled kernel for all variants, or the operator's function."""
    form = op.entry.options.get("native")
    if not form or choice.is_choice(str(form)):
        composite.install_explicit(op)
        return
    for key, executes in ((DispatchKey.CPU, True), (DispatchKey.Meta, False)):
        op.register(key, ProductKernel(op, str(form), executes), f"{_PLACE}:{form}")


def install_composite(op: OpOverload) -> None:
    """Operators that call others: ordinary cases of some in compiled code, else functions."""
    if not choice.is_made_for(op):
        composite.install_composite(op)
        return
    function = load_function(op.entry.function)
    kernel = choice.or_compiled(op, PythonKernel(function))
    op.register(DispatchKey.CompositeImplicitAutograd, kernel, place_of(function))


def _open_library() -> Mapping[str, int]:
    from aten.backends.cpu.openblas import product_addresses

    return product_addresses()


def _open_lapack() -> ctypes.CDLL:
    from aten.backends.cpu.openblas import library

    return library()


set_library_opener(_open_library)
set_lapack_opener(_open_lapack)

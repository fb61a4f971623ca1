"""Kernels that are Python functions: composites, factories, library calls; and compiled views."""

from __future__ import annotations

from aten._core import views
from aten._core.dispatcher import OpOverload, PythonKernel
from aten._core.keys import DispatchKey
from aten.ops.definition import load_function, place_of


def install_composite(op: OpOverload) -> None:
    """Operators that call others: they run under every key, autograd included."""
    _install(op, DispatchKey.CompositeImplicitAutograd)


def install_explicit(op: OpOverload) -> None:
    """Operators with one function for all backends."""
    _install(op, DispatchKey.CompositeExplicitAutograd)


def install_view(op: OpOverload) -> None:
    """Views: a compiled kernel for all backends, which look at metadata only."""
    native = op.entry.options.get("native")
    if native:
        kernel = views.ViewKernel(op, str(native))
        op.register(DispatchKey.CompositeExplicitAutograd, kernel, kernel.place)
        return
    install_composite(op)


def _install(op: OpOverload, key: DispatchKey) -> None:
    if not op.entry.function:
        return
    function = load_function(op.entry.function)
    place = place_of(function)
    if op.entry.variant == "functional" or op.entry.base == op.qualified_name.partition("::")[2]:
        op.register(key, PythonKernel(function), place)
    elif op.entry.variant == "out":
        op.register(key, PythonKernel(_writing_out(op.entry.base)), place)
    else:
        op.register(key, PythonKernel(_in_place(op.entry.base)), place)

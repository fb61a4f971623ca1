"""Operands converted in autocast regions: the kernels of the key AutocastCPU."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any
from weakref import ref

from aten._core.base.dtypes import DTYPES, dtype, promote_types
from aten._core.base.keys import (
    DispatchKey,
    DispatchKeySet,
    ExcludeDispatchKeyGuard,
    gradient_modes,
)
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.dispatch.python_kernel import PythonKernel
from aten._core.tensor.tensor import Tensor
from aten.registry import ops

KEYS = DispatchKeySet(DispatchKey.__members__["AutocastCPU"])
HALVES = (DTYPES["bfloat16"], DTYPES["float16"])


class _Cache(threading.local):
    """What parameters were converted to in this thread's region."""

    def __init__(self) -> None:
        self.enabled = True
        # By the identity of a leaf: it, and the conversion.
        self.kept: dict[int, tuple[Any, Tensor]] = {}


cache = _Cache()


def converted(value: Any, to: Callable[[Tensor], dtype | None]) -> Any:
    """`value` with the tensors that take part in the types that `to` says."""
    if isinstance(value, Tensor):
        if not _takes_part(value):
            return value
        wanted = to(value)
        return value if wanted is None or value.dtype is wanted else _cached(value, wanted)
    if isinstance(value, (list, tuple)) and any(isinstance(one, Tensor) for one in value):
        return [converted(one, to) for one in value]
    return value


def _takes_part(tensor: Tensor) -> bool:
    return tensor.is_cpu and tensor.is_floating_point() and tensor.dtype is not DTYPES["float64"]


def _cached(tensor: Tensor, wanted: dtype) -> Tensor:
    keeps = (
        cache.enabled
        and wanted in HALVES
        and tensor.dtype is DTYPES["float32"]
        and tensor.requires_grad
        and tensor.is_leaf
        and not tensor._is_view()
        and gradient_modes()[0]
    )
    if not keeps:
        return ops.aten.to.dtype(tensor, wanted)
    known = cache.kept.get(id(tensor))
    if known is not None and known[0]() is tensor and known[1].dtype is wanted:
        return known[1]
    made = ops.aten.to.dtype(tensor, wanted)
    cache.kept[id(tensor)] = (ref(tensor), made)
    return made


def conversion(wanted: Callable[[], dtype]) -> PythonKernel:
    """The kernel of an operator whose operands are converted to what `wanted` gives."""

    def run(op: OpOverload, *args: Any, **kwargs: Any) -> Any:
        element = wanted()
        return _call(op, args, kwargs, lambda one: element)

    return PythonKernel(run, with_op=True)


def promotion(least: Callable[[], dtype]) -> PythonKernel:
    """The kernel of an operator whose operands get their widest type, and `least` at the least."""

    def run(op: OpOverload, *args: Any, **kwargs: Any) -> Any:
        widest = least()
        for value in (*args, *kwargs.values()):
            for one in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(one, Tensor) and _takes_part(one):
                    widest = promote_types(widest, one.dtype)
        return _call(op, args, kwargs, lambda one: widest)

    return PythonKernel(run, with_op=True)


def _call(op: OpOverload, args: Any, kwargs: Any, to: Callable[[Tensor], dtype | None]) -> Any:
    with ExcludeDispatchKeyGuard(KEYS):
        given = [converted(one, to) for one in args]
        return op(*given, **{name: converted(one, to) for name, one in kwargs.items()})

"""Structural primitives over the loops of a backend that has no kernels of its own for them.

A loop backend that generates code gets a kernel for each primitive that has steps (`LOWERED`). The
CPU has faster ones, and is asked for these in tests alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten import registry
from aten._core.base.keys import DispatchKey
from aten._core.dispatch.dispatcher import OpOverload
from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.folding.plan import Plan, PlanKernel
from aten.backends.plans import plan_steps
from aten.backends.structured import LoopBackend, loop_backends
from aten.loops.structural import LOWERED, Steps, Window, dimension
from aten.prims import StructuralPrim
from aten.registry import ops

_NAMESPACE = "loops"
_WITH_KERNELS = (DispatchKey.CPU, DispatchKey.Meta)
_PLACE = "aten/loops/structural.py"
# Primitives and backends whose plans have an operator.
_given: set[tuple[str, LoopBackend]] = set()


class StructuralLoops:
    """What the kernel of a structural primitive asks of a backend: steps over its own loops."""

    def __init__(self, backend: LoopBackend, lowering: Callable[..., Steps]) -> None:
        self.backend = backend
        self.lowering = lowering

    def plan(self, kernel: PlanKernel, arguments: list[Any]) -> Plan:
        """How to run the primitive on tensors like these."""
        steps, inputs = lowered(self.lowering, kernel.op, arguments)
        backend = self.backend
        return plan_steps(
            steps,
            inputs,
            generate=backend.generate if backend.executes else None,
            device_type=backend.device_type,
            prepared=backend.prepared,
        )


def lowered(
    lowering: Callable[..., Steps], op: OpOverload, arguments: Sequence[Any]
) -> tuple[Steps, int]:
    """The steps of a primitive on these arguments, and how many tensors it has.

    Raises RuntimeError where these do not go together.
    """
    windows: list[Window] = []
    params: dict[str, Any] = {}
    for argument, value in zip(op._schema.arguments, arguments, strict=True):
        listed = value if isinstance(value, (list, tuple)) else (value,)
        tensors = [one for one in listed if isinstance(one, Tensor)]
        if not tensors:
            params[argument.name] = value
        for one in tensors:
            windows.append(Window(len(windows), one.dtype, tuple(one.shape), one.stride()))
    StructuralPrim.table[lowering.__name__].result(*arguments)
    steps = lowering(*windows, **params)
    steps.require_inside(windows)
    return steps, len(windows)


def check_indices(name: str, a: Tensor, index: Tensor, dim: int) -> None:
    """Raises IndexError where an index is none of the places along `dim` of `a`."""
    dim = dimension(name, dim, a.dim())
    size = a.shape[dim] if a.dim() else 1
    if not index.numel():
        return
    least, most = (int(one) for one in ops.aten.aminmax(index))
    if least < 0 or most >= size:
        wrong = least if least < 0 else most
        raise IndexError(f"prims.{name}: index {wrong} is out of bounds for dimension of {size}")


def install(op: OpOverload, name: str) -> None:
    """Give every loop backend that is not the CPU a kernel of this primitive."""
    for backend in loop_backends():
        if backend.key not in _WITH_KERNELS and name in LOWERED:
            op.register(backend.key, kernel_over_loops(name, backend), f"{_PLACE}: {name}")


def kernel_over_loops(name: str, backend: LoopBackend) -> Callable[..., Any]:
    """The kernel of a primitive that has steps, over the loops of `backend`."""
    if name == "cat":
        return _joined
    inner = _operator_over_loops(name, backend)
    if name not in ("gather", "scatter"):
        return inner

    def checked(a: Tensor, index: Tensor, *others: Any) -> Tensor:
        dim = others[0] if name == "gather" else others[1]
        check_indices(name, a, index, dim)
        made: Tensor = inner(a, index, *others)
        return made

    return checked


def _operator_over_loops(name: str, backend: LoopBackend) -> OpOverload:
    """An operator whose kernel runs the steps: plans are kept by the tensors they are for."""
    op = registry.find_operator(f"{_NAMESPACE}::{name}")
    if op is None:
        schema = str(registry.operator(f"prims::{name}")._schema)
        op = registry.define(_NAMESPACE, schema.partition("::")[2])
    if (name, backend) in _given:
        return op
    _given.add((name, backend))
    count = len(op._schema.arguments)
    op.register(backend.key, PlanKernel(op, StructuralLoops(backend, LOWERED[name]), count))
    return op


def _joined(tensors: Sequence[Tensor], dim: int) -> Tensor:
    """`prims::cat` by copies: how many tensors there are is no part of a kernel."""
    sizes = list(tensors[0].shape)
    sizes[dim] = sum(one.shape[dim] for one in tensors)
    made: Tensor = ops.aten.empty.memory_format(
        sizes, dtype=tensors[0].dtype, device=tensors[0].device
    )
    begin = 0
    for one in tensors:
        ops.aten.copy_(made.narrow(dim, begin, one.shape[dim]), one)
        begin += one.shape[dim]
    return made

"""The dispatcher's public side: keys, the thread's key sets, rows, traces and checks.

`table("add.Tensor")` prints which kernel serves which key of an operator, and why; `trace_dispatch`
prints the same for every call in a `with` block.
"""

from __future__ import annotations

from aten import config
from aten._core.base.keys import BACKENDS, change_tracing, runtime_keys
from aten._core.base.keys import DispatchKey as DispatchKey
from aten._core.base.keys import DispatchKeySet as DispatchKeySet
from aten._core.base.keys import ExcludeDispatchKeyGuard as ExcludeDispatchKeyGuard
from aten._core.base.keys import IncludeDispatchKeyGuard as IncludeDispatchKeyGuard
from aten._core.base.keys import parse_dispatch_key as parse_dispatch_key
from aten._core.base.keys import thread_excluded as thread_excluded
from aten._core.base.keys import thread_included as thread_included
from aten._core.dispatch import registrations
from aten._core.dispatch.dispatcher import FallthroughKernel as FallthroughKernel
from aten._core.dispatch.dispatcher import Kernel as Kernel
from aten._core.dispatch.dispatcher import OpOverload as OpOverload
from aten._core.dispatch.packets import OpOverloadPacket as OpOverloadPacket
from aten._core.dispatch.python_kernel import PythonKernel as PythonKernel
from aten._core.dispatch.python_kernel import register_fallback as register_fallback
from aten._core.dispatch.registrations import code_generators as code_generators
from aten._core.dispatch.registrations import set_code_generator as set_code_generator
from aten._core.dispatch.tracing import trace_dispatch as trace_dispatch
from aten.registry import materialized, operator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

if config.SHOW_DISPATCH_TRACE.get():
    change_tracing(1, every_thread=True)


def table(op: str | OpOverload) -> str:
    """The operator's row as text: keys, their kernel, where it was registered, and why that one.

    Keys without a kernel, and keys that are skipped by default, are left out.

    Raises:
        LookupError: there is no operator of this name.

    Example:

        >>> print(aten.dispatch.table("add.Tensor").splitlines()[0])
        aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
    """
    op = operator(op) if isinstance(op, str) else op
    served: dict[tuple[str, Kernel, str], list[DispatchKey]] = {}
    for key in runtime_keys():
        kernel, reason = op.registrations.resolve(key)
        if kernel is not None and reason != registrations.SKIPPED:
            served.setdefault((key.functionality, kernel, reason), []).append(key)
    rows: list[tuple[str, ...]] = [
        (_names(keys), kernel.describe(), kernel.provenance or "", reason)
        for (_, kernel, reason), keys in served.items()
    ]
    return "\n".join([f"{op.namespace}::{op.schema_text}", *_aligned(rows)])


def _names(keys: list[DispatchKey]) -> str:
    """Names of keys of one functionality, in short where most backends are among them."""
    backends = {key.backend for key in keys}
    others = [name for name, _ in BACKENDS if name not in backends]
    if len(keys) == 1 or len(others) > len(keys):
        return ", ".join(key.name for key in keys)
    which = f"all but {', '.join(others)}" if others else "all backends"
    return f"{keys[0].functionality} ({which})"


def _aligned(rows: list[tuple[str, ...]]) -> Iterable[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        yield "  " + "  ".join(cells).rstrip()


def dump_registrations(op: str | OpOverload) -> str:
    """All that was registered for the operator, overridden kernels included, in key order.

    Raises:
        LookupError: there is no operator of this name.
    """
    op = operator(op) if isinstance(op, str) else op
    lines = [f"{op.namespace}::{op.schema_text}"]
    kernels = op.registrations.kernels
    for key in sorted(kernels, key=int):
        for position, kernel in enumerate(reversed(kernels[key])):
            overridden = "  (overridden)" if position else ""
            lines.append(f"  {key.name}  {kernel.describe()}  {kernel.provenance}{overridden}")
    return "\n".join(lines)


def check_invariants() -> None:
    """Checks what must hold between registrations and rows of all operators made so far.

    Raises:
        AssertionError: with one line for each violation.
    """
    problems = [problem for op in materialized() for problem in _problems_of(op)]
    if problems:
        raise AssertionError("\n".join(problems))


def _problems_of(op: OpOverload) -> Iterable[str]:
    name = op.qualified_name
    if op._schema.name.without_namespace != name.partition("::")[2]:
        yield f"{name}: the schema is of {op._schema.name}"
    if op.registrations is not registrations.registrations_of(name):
        yield f"{name}: its registrations are not those kept under its name"
    for key, kernel in op.row_contents().items():
        if op.registrations.resolve(key)[0] is not kernel:
            yield f"{name}: the row's kernel for {key.name} is out of date"
    for key, kernels in op.registrations.kernels.items():
        if not kernels:
            yield f"{name}: an empty list of kernels is kept for {key.name}"
        if any(not kernel.provenance for kernel in kernels):
            yield f"{name}: a kernel for {key.name} does not know where it was registered"

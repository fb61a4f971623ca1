"""What a program would take, without computing it: operations, bytes and memory by operator.

The program runs on fake tensors. Weights are counted, and their data is never looked at.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable
from math import prod
from typing import Any

from aten._core.dispatch.dispatcher import OpOverload
from aten._core.tensor.tensor import Tensor
from aten.backends.modes import DispatchMode
from aten.graph.ir import TensorMeta, concrete
from aten.graph.program import ExportedProgram
from aten.profiler.details import details_of_call
from aten.profiler.flops import flops_of
from aten.profiler.units import format_amount, format_bytes
from aten.registry import ops
from aten.transforms.fake_tensors import FakeTensorMode
from aten.transforms.trees import tensors_in


class PlannedOperator:
    """All calls of one operator.

    Attributes:
        name: qualified, as "aten::mm".
        calls: how many.
        flops: floating-point operations, by the profiler's formulas; 0 where there is none.
        read, written: bytes of the operands and of results in memory of their own.
        peak: the most bytes of tensors, weights included, while one of the calls ran.
    """

    __slots__ = ("calls", "flops", "name", "peak", "read", "written")

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls = self.flops = self.read = self.written = self.peak = 0


class Plan:
    """What a program would take.

    Attributes:
        parameters: elements of the weights; `weight_bytes` their bytes.
        operators: by name, in order of first use.

    Example:

        >>> plan = aten.profiler.plan_program(aten.export.load("digits_cnn.pt2"), 2)
        >>> plan.operators["aten::convolution"].calls
        2
    """

    def __init__(self, parameters: int, weight_bytes: int) -> None:
        self.parameters = parameters
        self.weight_bytes = weight_bytes
        self.operators: dict[str, PlannedOperator] = {}

    @property
    def flops(self) -> int:
        return sum(one.flops for one in self.operators.values())

    @property
    def read(self) -> int:
        return sum(one.read for one in self.operators.values())

    @property
    def written(self) -> int:
        return sum(one.written for one in self.operators.values())

    @property
    def peak(self) -> int:
        """The most bytes of tensors at once, weights included."""
        return max((one.peak for one in self.operators.values()), default=self.weight_bytes)

    def table(self) -> str:
        """A line for each operator, those with the most operations first, and the totals.

        Example:

            >>> plan = aten.profiler.plan_program(aten.export.load("digits_cnn.pt2"))
            >>> print(plan.table().splitlines()[0])
            weights    38,476 parameters, 150.30 KiB
        """
        rows = sorted(self.operators.values(), key=lambda one: (-one.flops, -one.read, one.name))
        lines = [_line("operator", "calls", "FLOPs", "read", "written", "peak memory")]
        lines += [
            _line(
                one.name,
                str(one.calls),
                format_amount(one.flops, "").rstrip(),
                *map(format_bytes, (one.read, one.written, one.peak)),
            )
            for one in rows
        ]
        calls = str(sum(one.calls for one in rows))
        totals = map(format_bytes, (self.read, self.written, self.peak))
        lines.append(_line("all", calls, format_amount(self.flops, "").rstrip(), *totals))
        weights = f"weights    {self.parameters:,} parameters, {format_bytes(self.weight_bytes)}"
        return "\n".join([weights, *lines])


def _line(name: str, *cells: str) -> str:
    return f"{name:44}" + "".join(f"{cell:>13}" for cell in cells)


class _Planner(DispatchMode):
    """Notes what each call would take; `alive` counts the bytes of tensors that are held."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.alive = plan.weight_bytes
        # Tensors that show a storage, by its identity.
        self.shown: dict[int, int] = {}

    def call(self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        results = op(*args, **kwargs)
        operands = {id(one): one for one in tensors_in((args, kwargs))}
        storages = {id(one.untyped_storage()) for one in operands.values()}
        fresh = [one for one in tensors_in(results) if id(one.untyped_storage()) not in storages]
        written = [one for one in tensors_in(results) if id(one) in operands]
        noted = self.plan.operators.setdefault(
            op.qualified_name, PlannedOperator(op.qualified_name)
        )
        for one in tensors_in(results):
            self.hold(one)
        noted.calls += 1
        noted.peak = max(noted.peak, self.alive)
        if not fresh and not written:
            return results
        noted.flops += flops_of(op, details_of_call(op, args, kwargs, results)) or 0
        noted.read += sum(one.nbytes for one in operands.values())
        noted.written += sum(one.nbytes for one in (*fresh, *written))
        return results

    def hold(self, tensor: Tensor) -> None:
        """Count a tensor's storage as long as a tensor shows it."""
        storage = tensor.untyped_storage()
        key, nbytes = id(storage), storage.nbytes()
        if key not in self.shown:
            self.alive += nbytes
        self.shown[key] = self.shown.get(key, 0) + 1
        weakref.finalize(tensor, self.release, key, nbytes)

    def release(self, key: int, nbytes: int) -> None:
        self.shown[key] -= 1
        if self.shown[key] == 0:
            del self.shown[key]
            self.alive -= nbytes


def plan_of(
    function: Callable[..., Any], *inputs: Tensor, weights: tuple[Tensor, ...] = ()
) -> Plan:
    """What a call of `function` would take.

    The inputs and `weights` are fake tensors, or tensors that are taken for their sizes; weights
    are what the function holds besides.

    Example:

        >>> with aten.transforms.FakeTensorMode():
        ...     weight = aten.empty(1 << 16, 1 << 16)
        ...     x = aten.empty(8, 1 << 16)
        >>> plan = aten.profiler.plan_of(lambda x: x @ weight, x, weights=(weight,))
        >>> plan.flops == 2 * 8 * 2**32, plan.parameters
        (True, 4294967296)
    """
    storages = {id(one.untyped_storage()): one.untyped_storage().nbytes() for one in weights}
    plan = Plan(sum(prod(one.shape) for one in weights), sum(storages.values()))
    mode, planner = FakeTensorMode(), _Planner(plan)
    given = [mode.from_tensor(one) for one in inputs]
    planner.alive += sum({id(one): one.untyped_storage().nbytes() for one in given}.values())
    with mode, planner:
        function(*given)
    return plan


def plan_program(program: ExportedProgram, size: int | None = None) -> Plan:
    """What a call of an exported program would take.

    `size` is that of dynamic dimensions; without it they have the sizes they are run with in
    `aten run --random`.

    Raises:
        DataDependentOutputException: a step depends on values.

    Example:

        >>> plan = aten.profiler.plan_program(aten.export.load("digits_cnn.pt2"), 2)
        >>> plan.parameters, plan.flops
        (38476, 1356436)
    """
    mode = FakeTensorMode()
    shown = copy.copy(program)
    shown.state_dict = {name: mode.from_tensor(one) for name, one in program.state_dict.items()}
    shown.constants = {name: mode.from_tensor(one) for name, one in program.constants.items()}
    sizes = program.example_sizes(size)
    inputs: list[Any] = []
    with mode:
        for _, record in program.input_metadata:
            inputs.append(_input_like(record, sizes))
    weights = tuple(shown.state_dict.values())
    tensors = [one for one in inputs if isinstance(one, Tensor)]

    def run(*given: Tensor) -> Any:
        values = iter(given)
        return shown.flat_call([next(values) if isinstance(one, Tensor) else one for one in inputs])

    return plan_of(run, *tensors, weights=weights)


def _input_like(record: Any, sizes: dict[str, Any]) -> Any:
    if not isinstance(record, TensorMeta):
        return concrete(record, sizes)
    shape = [int(concrete(one, sizes)) for one in record.shape]
    return ops.aten.empty(shape, dtype=record.dtype, device=record.device)

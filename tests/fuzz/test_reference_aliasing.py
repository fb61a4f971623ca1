"""On a device of primitives, a functional operator's result has memory of its own.

Definitions return what they compute, be it an operand, a value spread over it, or one value twice.
On `reference` their operators give copies then, as everywhere: results share memory neither with
operands nor with each other, unless the schema says so, and operands keep their bits. Composites
may hand an operand on; they do where they do on the CPU.
"""

from __future__ import annotations

import random
import resource
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from operator_calls import Calls, operators
from tensor_bits import as_bits

import aten
from aten._generated.table import OPERATORS
from aten.backends.fast_paths import is_derived_view
from aten.conformance.calls import Chooser, ValidCalls


def kind_of(op: Any) -> str:
    return OPERATORS[op.qualified_name.partition("::")[2]][1]  # type: ignore[no-any-return]


# They show their operand's memory, or another's, though torch's schemas do not say so.
VIEWS = frozenset({"_unsafe_view", "set"})
# They keep running statistics in operands, of which torch's schemas are as silent.
WRITERS = frozenset({"batch_norm", "native_batch_norm", "_batch_norm_impl_index", "instance_norm"})

FUNCTIONAL = [
    op
    for op in operators()
    if op._schema.kind == "functional"
    and not any(returned.annotation for returned in op._schema.returns)
    and any(str(argument.type).startswith("Tensor") for argument in op._schema.arguments)
    and op.name not in VIEWS
    # They have a kernel for each device: there is nothing to run on this one.
    and kind_of(op) != "kernel"
]
KINDS = sorted({kind_of(op) for op in FUNCTIONAL})
TRIES = 60
SUCCESSES = 3
# Of a kind's operators, in percent: how many must have had a call that succeeded.
CALLED = {
    "pointwise": 95,
    "reduction": 80,
    "scan": 90,
    "factory": 60,
    "composite": 70,
    "copy": 70,
    "explicit": 50,
    "foreach": 80,
}


@pytest.fixture(autouse=True)
def _bounded_memory() -> Iterator[None]:
    """Requests of gigabytes are refused, on machines that would promise them, too."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (1 << 30), hard))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def mapped(value: Any, change: Callable[[aten.Tensor], Any]) -> Any:
    if isinstance(value, aten.Tensor):
        return change(value)
    if isinstance(value, (list, tuple)):
        return [mapped(one, change) for one in value]
    if isinstance(value, dict):
        return {name: mapped(one, change) for name, one in value.items()}
    return value


def tensors(values: Any) -> list[aten.Tensor]:
    found: list[aten.Tensor] = []
    mapped(values, found.append)
    return found


def bits(tensor: aten.Tensor) -> bytes:
    return as_bits(tensor.to("cpu")).tobytes()  # type: ignore[no-any-return]


def called(op: Any, arguments: Any) -> Any:
    """The results, or None where the call fails."""
    aten.manual_seed(0)
    try:
        return tensors(op(*arguments[0], **arguments[1]))
    except Exception:
        return None


def sharing(operands: list[aten.Tensor], results: list[aten.Tensor]) -> set[tuple[int, int]]:
    """Results, by number, with what was there before them and is in the same memory."""
    every = [*operands, *results]
    return {
        (place, other)
        for place, result in enumerate(results)
        for other, one in enumerate(every[: len(operands) + place])
        if result.numel() and result.untyped_storage() is one.untyped_storage()
    }


def _arguments(op: Any, number: int) -> Any:
    """Arguments of any kind, and in turn with them some that are told to go together."""
    source = random.Random(f"{op}{number}")
    if number % 2:
        return Calls(source).arguments(op)
    return ValidCalls(op, Chooser().choose(op, source), f"{op}{number}").arguments()


@pytest.mark.parametrize("kind", KINDS)
def test_results_have_memory_of_their_own(kind: str) -> None:
    ours = [op for op in FUNCTIONAL if kind_of(op) == kind]
    succeeded = dict.fromkeys(ours, 0)
    for op in ours:
        for number in range(TRIES):
            if succeeded[op] == SUCCESSES:
                break
            arguments = _arguments(op, number)
            if any(one.device.type != "cpu" for one in tensors(arguments)):
                continue
            far = mapped(arguments, lambda one: one.to("reference"))
            operands = tensors(far)
            before = [bits(one) for one in operands]
            results = called(op, far)
            if results is None:
                continue
            succeeded[op] += 1
            if op.name not in WRITERS:
                assert [bits(one) for one in operands] == before, (op, number)
            if any(one.device.type != "reference" for one in results):
                continue  # what takes tensors elsewhere
            found = sharing(operands, results)
            if kind != "composite" and not is_derived_view(op):
                assert not found, (op, number)
                continue
            near = called(op, arguments)
            if near is not None:
                assert found == sharing(tensors(arguments), near), (op, number)
    share = 100 * sum(count > 0 for count in succeeded.values()) / len(ours)
    assert share >= CALLED[kind], [op for op in ours if not succeeded[op]]


def reference(*values: Any, dtype: Any = None) -> aten.Tensor:
    return aten.tensor(*values, dtype=dtype).to("reference")


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.clone(),
        lambda x: x.to("reference", copy=True),
        lambda x: aten.nan_to_num(x),
        lambda x: aten.ops.aten._conj_physical(x),
        lambda x: aten.floor(x),
        lambda x: aten.fill(x, 3),
        lambda x: aten.index_put(x, (reference([0]),), x[1:]),
        lambda x: aten.index_put(x, (reference([0, 1]),), x),
        lambda x: aten.scatter_add(x, 0, reference([1, 0]), x),
    ],
)
def test_operators_without_work_to_do_copy(function: Callable[..., Any]) -> None:
    for dtype in (aten.int64, aten.float32):
        x = reference([1, 2], dtype=dtype)
        made = function(x)
        assert made is not x
        assert made.data_ptr() != x.data_ptr()
        assert made.device.type == "reference"
        made.fill_(9)
        assert x.to("cpu").tolist() == [1, 2]


def test_a_clone_has_the_order_it_is_asked_for() -> None:
    x = aten.ones(1, 2, 3, 4).to("reference")
    last = x.clone(memory_format=aten.channels_last)
    assert last.stride() == (24, 1, 8, 2)
    assert last.clone().stride() == last.stride()
    assert last.clone(memory_format=aten.contiguous_format).stride() == x.stride()

"""Whatever operator writes to a tensor: a copy that was put off does not see it, nor its source.

For every overload that writes to an argument, in-place or out=, operands of any layout are copied
lazily, storage by storage. The call is made on the copies, then on the sources. The other side
stays as it was, and what the call leaves is what it leaves in memory that nobody shares.
"""

from __future__ import annotations

import random
import resource
import warnings
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from guarded_calls import guarded
from operator_calls import Calls, operators
from tensor_bits import as_bits

import aten
from aten._core.memory import storage
from aten.conformance.calls import Chooser, ValidCalls

WRITING = [op for op in operators() if any(one.is_write for one in op._schema.arguments)]
TRIES = 24
SUCCESSES = 2
CHOOSER = Chooser()
# What their results have in memory is nobody's business.
UNINITIALIZED = ("empty", "new_empty", "resize", "set_", "_resize")


@pytest.fixture(autouse=True)
def _bounded_memory() -> Iterator[None]:
    """Requests of gigabytes are refused, on machines that would promise them, too."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (1 << 31), hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.fixture(autouse=True)
def _everything_is_shared() -> Iterator[None]:
    before = storage.set_least_shared(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    storage.set_least_shared(before)


def _mapped(value: Any, change: Callable[[aten.Tensor], Any]) -> Any:
    if isinstance(value, aten.Tensor):
        return change(value)
    if isinstance(value, (list, tuple)):
        return type(value)([_mapped(one, change) for one in value])
    if isinstance(value, dict):
        return {name: _mapped(one, change) for name, one in value.items()}
    return value


def _tensors(values: Any) -> list[aten.Tensor]:
    found: list[aten.Tensor] = []
    _mapped(values, found.append)
    return found


def _lazy_copy(arguments: Any) -> Any:
    """Windows like these on lazy copies of their storages."""
    memo: dict[int, Any] = {}

    def copied(tensor: aten.Tensor) -> Any:
        if tensor.numel() == 0:
            window = tensor.stride(), tensor.dtype, tensor.device
            return aten.empty_strided(tensor.shape, window[0], dtype=window[1], device=window[2])
        return deepcopy(tensor, memo)

    return _mapped(arguments, copied)


def _states(values: Any) -> list[Any]:
    """Geometry and elements."""
    return [(tuple(one.shape), one.stride(), one.dtype, _bytes(one)) for one in _tensors(values)]


def _storages(values: Any) -> list[bytes]:
    """All that is in memory, so that no write beside a window is missed."""
    return [_bytes(_whole(one)) for one in _tensors(values) if one.numel()]


def _whole(tensor: aten.Tensor) -> aten.Tensor:
    held = tensor.untyped_storage().nbytes() // tensor.itemsize
    return tensor.as_strided((held,), (1,), 0)


def _bytes(tensor: aten.Tensor) -> bytes:
    if tensor.device.type != "cpu" or tensor.numel() == 0:
        return b""
    return as_bits(tensor).tobytes()  # type: ignore[no-any-return]


def _call(op: Any, arguments: Any) -> Any:
    aten.manual_seed(0)
    positional, keywords = arguments
    try:
        return op(*positional, **keywords), None
    except Exception as error:
        return None, type(error)


def _shared(values: Any) -> list[bool]:
    return [storage.shares_block(one.untyped_storage()) for one in _tensors(values)]


def _arguments(op: Any, seed: str) -> Any:
    """Anything for one half of the seeds; for the other, what operators like this one take."""
    source = random.Random(seed)
    if source.random() < 0.5:
        return Calls(source).arguments(op)
    return ValidCalls(op, CHOOSER.choose(op, source), seed).arguments()


def _sides(op: Any, seed: str, source_is_written: bool) -> tuple[Any, Any]:
    """Arguments for a call, and others that show the same memory."""
    with guarded("end", 0xA5):  # what is left between elements is the same each time
        source = _arguments(op, seed)
    copy = _lazy_copy(source)
    return (source, copy) if source_is_written else (copy, source)


def _check(op: Any, seed: str, source_is_written: bool) -> bool:
    """Whether the call succeeded, and there was memory to share."""
    expected, _ = _sides(op, seed, source_is_written)
    written, other = _sides(op, seed, source_is_written)
    # To read bytes by way of NumPy ends the sharing: it is done on arguments of their own.
    _, alike = _sides(op, seed, source_is_written)
    before = _states(alike), _storages(alike)
    wanted, refusal = _call(op, expected)
    sharing = any(_shared(written))
    given, refused = _call(op, written)
    assert refused == refusal, f"{op} {seed}: {refused}, expected {refusal}"
    assert (_states(other), _storages(other)) == before, f"{op} {seed}: the other side has changed"
    if not op.name.startswith(UNINITIALIZED):
        assert _states(written) == _states(expected), f"{op} {seed}: operands"
        assert _states(given) == _states(wanted), f"{op} {seed}: results"
    return refused is None and sharing


@pytest.mark.parametrize("part", range(8))
def test_no_write_is_seen_on_the_other_side(part: int) -> None:
    tried = called = 0
    for op in WRITING[part::8]:
        tried += 1
        successes = 0
        for number in range(TRIES):
            successes += _check(op, f"{op} {number}", bool(number % 2))
            if successes == SUCCESSES:
                break
        called += successes > 0
    assert called > 0.8 * tried, f"{called} of {tried} operators were called"

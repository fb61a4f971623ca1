"""Arguments whose own code changes operands while a call reads them."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import aten
from aten import DispatchKey, registry


class Index:
    """An integer whose conversion does something first."""

    def __init__(self, action: Callable[[], Any], value: int) -> None:
        self._action = action
        self._value = value

    def __index__(self) -> int:
        self._action()
        return self._value


class Real:
    """The same as a float."""

    def __init__(self, action: Callable[[], Any], value: int) -> None:
        self._action = action
        self._value = value

    def __float__(self) -> float:
        self._action()
        return float(self._value)


def _shrinking() -> tuple[aten.Tensor, Callable[[], Any]]:
    tensor = aten.arange(100_000.0)
    return tensor, lambda: tensor.set_(aten.full((1,), 7.0))


READS: dict[str, Callable[[Any, Any], Any]] = {
    "x[I:]": lambda x, i: x[i:],
    "x[0:I]": lambda x, i: x[0:i],
    "x[::I]": lambda x, i: x[::i],
    "x[0:I, ...]": lambda x, i: x[0:i, ...],
    "x[None, I:]": lambda x, i: x[None, i:],
    "x[I:][...]": lambda x, i: x[..., i:],
}


@pytest.mark.parametrize("form", READS)
def test_a_bound_that_changes_the_tensor_gives_no_window_past_its_storage(form: str) -> None:
    tensor, shrink = _shrinking()
    view = READS[form](tensor, Index(shrink, 5))
    assert tensor.tolist() == [7.0]
    assert view.numel() <= 1
    assert view.storage_offset() + view.numel() <= 1
    assert view.untyped_storage() is tensor.untyped_storage()


def test_an_index_that_changes_the_tensor_is_judged_by_what_is_left() -> None:
    tensor, shrink = _shrinking()
    with pytest.raises(IndexError, match="out of bounds"):
        tensor[Index(shrink, 5)]
    tensor, shrink = _shrinking()
    with pytest.raises(IndexError):
        tensor[[0, Index(shrink, 5)]]
    tensor, shrink = _shrinking()
    with pytest.raises(IndexError):
        tensor[Index(shrink, 5), aten.tensor([0])]


def test_a_bound_beside_a_tensor_is_read_first() -> None:
    tensor = aten.arange(40.0).view(8, 5)
    index = Index(lambda: tensor.set_(aten.full((1, 1), 7.0)), 0)
    assert tensor[index:, aten.tensor([0])].tolist() == [[7.0]]


def test_writing_behind_a_bound_that_changes_the_tensor() -> None:
    tensor, shrink = _shrinking()
    tensor[Index(shrink, 5) :] = 3
    assert tensor.tolist() == [7.0]
    tensor, shrink = _shrinking()
    tensor[Index(shrink, 0) :] = 3
    assert tensor.tolist() == [3.0]


def test_a_value_that_changes_the_tensor_goes_where_the_index_pointed() -> None:
    class Value:
        ndim = 0

        def item(self) -> float:
            tensor.set_(aten.full((1,), 7.0))
            return 3.0

    tensor = aten.arange(10.0)
    before = aten.as_strided(tensor, (10,), (1,))
    tensor[4:6] = Value()
    assert tensor.tolist() == [7.0]
    assert before.tolist() == [0, 1, 2, 3, 3, 3, 6, 7, 8, 9]


# Lists


CHANGES: dict[str, Callable[[list[Any]], Any]] = {
    "grows": lambda members: members.extend([1] * 10_000),
    "shrinks": lambda members: members.clear(),
    "loses one": lambda members: members.pop(),
}


@pytest.mark.parametrize("kind", [Index, Real])
@pytest.mark.parametrize("change", CHANGES)
def test_a_member_that_changes_its_list(kind: Callable[..., Any], change: str) -> None:
    for dtype in (None, aten.int64, aten.float32, aten.float64, aten.bool):
        members: list[Any] = [1, 2, 3, 4]
        members[1] = kind(lambda members=members: CHANGES[change](members), 5)
        with pytest.raises(RuntimeError, match="changed its length"):
            aten.tensor(members, dtype=dtype)
    nested: list[Any] = [[1, 2], [3, 4]]
    nested[0][0] = kind(lambda: CHANGES[change](nested[0]), 5)
    with pytest.raises(RuntimeError, match="changed its length"):
        aten.tensor(nested)
    nested = [[1, 2], [3, 4], [5, 6]]
    nested[0][1] = kind(lambda: CHANGES[change](nested), 5)
    with pytest.raises(RuntimeError, match="changed its length"):
        aten.as_tensor(nested)


def test_a_member_that_changes_a_later_list() -> None:
    nested: list[Any] = [[1, 2], [3, 4]]
    nested[0][0] = Index(lambda: nested[1].append(5), 1)
    with pytest.raises(ValueError, match="expected sequence of length 2"):
        aten.tensor(nested)


class Numbers:
    """A sequence of some other type, which does something whenever it is read."""

    def __init__(self, action: Callable[[], Any], members: list[Any]) -> None:
        self._action = action
        self._members = members

    def __len__(self) -> int:
        return len(self._members)

    def __getitem__(self, position: int) -> Any:
        if position == 0:
            self._action()
        return self._members[position]


@pytest.mark.parametrize("dtype", [None, aten.float32])
@pytest.mark.parametrize("change", CHANGES)
def test_a_sequence_that_changes_the_list_it_stands_in(
    change: str, dtype: aten.dtype | None
) -> None:
    reads: list[int] = []

    def once_measured() -> None:
        reads.append(1)
        if len(reads) == 2:
            CHANGES[change](nested)

    nested: list[Any] = [[1, 2], [3, 4], [5, 6]]
    nested[0] = Numbers(once_measured, [1, 2])
    with pytest.raises(RuntimeError, match="changed its length"):
        aten.tensor(nested, dtype=dtype)
    assert len(reads) == 2


@pytest.mark.parametrize("change", CHANGES)
def test_a_member_that_changes_its_sequence_of_another_type(change: str) -> None:
    for dtype in (aten.int64, aten.float32):
        members: list[Any] = [1, 2, 3, 4]
        members[1] = Index(lambda members=members: CHANGES[change](members), 5)
        # What such a sequence holds is copied before its members are read.
        made = aten.tensor(Numbers(lambda: None, members), dtype=dtype)
        assert made.tolist() == [1, 5, 3, 4]


def test_sizes_of_a_called_type_whose_conversion_changes_their_list() -> None:
    for change in CHANGES.values():
        sizes: list[Any] = [2, 3, 4]
        sizes[0] = Index(lambda change=change, sizes=sizes: change(sizes), 2)
        assert aten.Tensor(size=sizes).shape == (2, 3, 4)


def test_an_index_list_whose_member_changes_it() -> None:
    tensor = aten.arange(10.0)
    members: list[Any] = [0, 1, 2]
    members[0] = Index(lambda: members.extend([3] * 1000), 0)
    # The list is copied before its members are read.
    assert tensor[members].tolist() == [0, 1, 2]
    assert len(members) == 1003


def test_a_list_that_holds_itself() -> None:
    members: list[Any] = [1]
    members.append(members)
    with pytest.raises((ValueError, TypeError)):
        aten.tensor(members)


def test_a_shape_that_lies() -> None:
    class Array:
        shape = (-3, 2)

        def __array__(self) -> None: ...

    with pytest.raises((RuntimeError, TypeError), match=r"negative dimension|Could not infer"):
        aten.tensor([Array()], dtype=aten.float32)


@pytest.mark.parametrize("number", [float("nan"), "5", None])
def test_an_item_that_is_no_number(number: Any) -> None:
    class Item:
        def item(self) -> Any:
            return number

    if isinstance(number, float):
        assert aten.tensor([Item()], dtype=aten.float32).isnan().all()
        return
    with pytest.raises(TypeError, match="must give a number"):
        aten.tensor([Item()], dtype=aten.float32)


def test_complex_members_of_types_without_imaginary_parts() -> None:
    for dtype in (aten.float8_e4m3fn, aten.float8_e5m2, aten.float16, aten.bfloat16, aten.float64):
        with pytest.raises((TypeError, RuntimeError)):
            aten.tensor([1j], dtype=dtype)


# Sizes and numbers on their way through the parser


def test_sizes_whose_conversion_changes_their_list() -> None:
    sizes: list[Any] = [2, 3, 4]
    sizes[0] = Index(sizes.clear, 2)
    assert aten.zeros(sizes).shape == (2, 3, 4)
    sizes = [2, 3]
    sizes[0] = Index(lambda: sizes.extend([5] * 100), 2)
    assert aten.zeros(sizes).shape == (2, 3)
    sizes = [2, 3, "4"]
    sizes[0] = Index(sizes.clear, 2)
    with pytest.raises(TypeError, match="found element of type str at pos 2"):
        aten.zeros(sizes)


def test_methods_of_tuples_are_not_asked() -> None:
    class Sizes(tuple[int, ...]):
        def __len__(self) -> int:
            return 40

        def __getitem__(self, place: Any) -> Any:
            raise AssertionError("asked")

        def __iter__(self) -> Iterator[Any]:
            return iter((2, 3))

    assert aten.zeros(Sizes((2, 3))).shape == (2, 3)
    assert aten.zeros(6).view(Sizes((2, 3))).shape == (2, 3)


def test_methods_of_numbers_are_not_asked() -> None:
    class Number(float):
        def __float__(self) -> float:
            raise AssertionError("asked")

    class Whole(int):
        def __int__(self) -> int:
            raise AssertionError("asked")

        __index__ = __int__

    assert aten.full((2,), Number(1.5)).tolist() == [1.5, 1.5]
    assert aten.full((2,), Whole(3)).tolist() == [3, 3]
    matrix = aten.ones(2, 2)
    assert aten.addmm(matrix, matrix, matrix, alpha=Number(2.0)).tolist() == [[5, 5], [5, 5]]


def test_an_operand_that_answers_as_a_number_is_read_before_sizes() -> None:
    taken = []

    class Alpha(aten.Tensor):
        def __float__(self) -> float:
            left.set_(aten.ones(1, 1))
            # What has been freed is somebody else's by now.
            taken.extend(aten.full((50, 60), 9.0) for _ in range(10))
            return 1.0

    left = aten.ones(50, 60)
    alpha = aten.tensor(1.0).as_subclass(Alpha)
    made = aten.addmm(aten.zeros(50, 3), left, aten.ones(60, 3), alpha=alpha)
    assert made.tolist() == [[60.0] * 3] * 50


# Outputs


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Callable[[], Any]]]:
    """What is appended to the list is done when a warning is shown."""
    actions: list[Callable[[], Any]] = []

    def show(*_: Any, **__: Any) -> None:
        for action in actions:
            action()

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", show)
        yield actions


CALLS: dict[str, Callable[..., Any]] = {
    "add": lambda x, y, out: aten.add(x, y, out=out),
    "mm": lambda x, y, out: aten.mm(x, y, out=out),
    "sum": lambda x, y, out: aten.sum(x, 0, out=out),
    "cat": lambda x, y, out: aten.cat((x, y), out=out),
    "sort": lambda x, y, out: aten.sort(x, out=(out, aten.empty(0, dtype=aten.int64))),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("changed", ["input", "output"])
def test_a_warning_whose_hook_changes_an_operand(
    name: str, changed: str, hook: list[Callable[[], Any]]
) -> None:
    left, right, out = aten.ones(400, 400), aten.ones(400, 400), aten.ones(3)
    target = left if changed == "input" else out
    hook.append(lambda: target.set_(aten.full((2, 2), 7.0)))
    with pytest.raises(RuntimeError, match="in the middle of the call"):
        CALLS[name](left, right, out)
    assert target.tolist() == [[7.0, 7.0], [7.0, 7.0]]
    assert out.storage_offset() + out.numel() <= out.untyped_storage().nbytes() // 4


def test_a_hook_that_leaves_tensors_alone_does_no_harm(hook: list[Callable[[], Any]]) -> None:
    hook.append(lambda: aten.ones(3).sum())
    out = aten.ones(3)
    aten.add(aten.ones(2, 2), 1, out=out)
    assert out.tolist() == [[2, 2], [2, 2]]


def test_an_output_that_has_to_be_resized_and_is_read() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tensor = aten.ones(1)
        with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
            aten.add(tensor, aten.arange(5.0), out=tensor)
        assert tensor.tolist() == [1]
        left = aten.ones(2, 3)
        aten.mm(left, aten.ones(3, 50), out=left)
        assert left.tolist() == [[3.0] * 50] * 2
        memory = aten.ones(12)
        left, out = memory[:6].view(2, 3), memory[6:7]
        aten.mm(left, aten.ones(3, 50), out=out)
        assert out.tolist() == [[3.0] * 50] * 2


FAILING = """
import resource, warnings
from pathlib import Path
import aten

warnings.simplefilter("ignore")
x = aten.ones(1 << 25, dtype=aten.bfloat16)[::2]
matrix = aten.ones(3, 1 << 25, dtype=aten.bfloat16)[:, ::2]
aten.dot(x[:4], x[:4], out=aten.empty(1, dtype=aten.bfloat16))
aten.mv(matrix[:, :4], x[:4], out=aten.empty(1, dtype=aten.bfloat16))
aten.memory.empty_cache()
pages = int(Path("/proc/self/statm").read_text().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (16 << 20),) * 2)
for call in (lambda out: aten.dot(x, x, out=out), lambda out: aten.mv(matrix, x, out=out)):
    out = aten.tensor([1, 2, 3, 4, 5], dtype=aten.bfloat16)
    try:
        call(out)
    except RuntimeError as error:
        assert "not enough memory" in str(error), error
    else:
        raise AssertionError("there was memory")
    assert out.tolist() == [1, 2, 3, 4, 5], out
"""


def test_a_product_without_memory_leaves_its_output_as_it_was() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FAILING], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


# The collector of garbage


COLLECTED = """
import gc
import aten

class Cycle:
    def __init__(self, action):
        self.itself, self.action = self, action
    def __del__(self):
        self.action()

{body}
"""
BODIES = {
    "tolist": """
x = aten.arange(2_000_000.0).view(200, 10_000)
Cycle(lambda: x.resize_(5_000_000))
gc.set_threshold(1)
found = x.tolist()
gc.set_threshold(0)
assert x.numel() == 5_000_000
assert [number for row in found for number in row] == [float(n) for n in range(2_000_000)]
""",
    "results": """
for _ in range(3):
    aten.arange(10_000.0) + 1    # from here on no list is made before sizes are read

def made():
    x = aten.arange(10_000.0)
    kept = [aten.empty(1) for _ in range(200)]   # no tensor is left for reuse
    Cycle(lambda: x.set_(aten.ones(1)))
    gc.set_threshold(1)
    found = x + 1
    gc.set_threshold(0)
    return found
assert made().tolist() == [n + 1.0 for n in range(10_000)]
""",
}


@pytest.mark.parametrize("body", BODIES)
def test_finalizers_that_change_operands(body: str) -> None:
    program = COLLECTED.format(body=BODIES[body])
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, "ATEN_MEMORY_CACHE_LIMIT": "0", "MALLOC_PERTURB_": "165"},
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


# Functions of our own get windows of their own


def _with_kernel(name: str, kernel: Callable[..., Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return registry.operator(name).register(DispatchKey.CPU, kernel)


def test_a_kernel_of_the_users_cannot_change_what_a_composite_reads() -> None:
    """`zeros` is called between the check of sizes and the loops that rely on it."""

    def zeros(*arguments: Any, **keywords: Any) -> aten.Tensor:
        gradient.set_(aten.ones(1, 1, 1, 1))
        return aten.full(arguments[0], 0.0)

    gradient = aten.ones(1, 1, 200, 200)
    handle = _with_kernel("aten::zeros", zeros)
    try:
        made = aten.ops.aten._adaptive_avg_pool2d_backward(gradient, aten.ones(1, 1, 200, 200))
    finally:
        handle.destroy()
    assert gradient.shape == (1, 1, 1, 1)
    assert (made == 1).all()


def test_a_composite_gives_the_very_tensor_that_nothing_had_to_be_done_to() -> None:
    tensor = aten.ones(2, 3)
    assert aten.dropout(tensor, 0.5, False) is tensor
    assert aten.ops.aten.contiguous(tensor) is tensor
    assert tensor.resolve_conj() is tensor
    assert aten.expand_copy(tensor, (2, 3)) is not tensor
    first, second = aten.broadcast_tensors(tensor, tensor)
    assert first.untyped_storage() is second.untyped_storage()


@pytest.mark.parametrize("change", ["resize", "set", "data"])
def test_memory_that_a_call_reads_outlives_a_change(change: str) -> None:
    """The kernel holds an address while code in the middle of the call lets go of the block."""
    program = READING.format(change=CHANGE_OF_MEMORY[change])
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, "ATEN_MEMORY_CACHE_LIMIT": "0", "MALLOC_PERTURB_": "165"},
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


READING = """
import threading, time
import aten
aten.set_num_threads(1)
x = aten.ones(1 << 22)
x.sum()
started = threading.Event()
def change():
    for _ in range(200):
        {change}
        time.sleep(0)
thread = threading.Thread(target=change)
thread.start()
while thread.is_alive():
    total = x.exp().sum().item()
    assert total > 0
thread.join()
"""
CHANGE_OF_MEMORY = {
    "resize": "x.resize_(x.numel() + 100_000)",
    "set": "x.set_(aten.ones(1 << 22))",
    "data": "x.data = aten.ones(1 << 22)",
}

"""Copies that are put off: who shares memory, who stops sharing it, and what threads see."""

from __future__ import annotations

import copy
import ctypes
import gc
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import aten
from aten import memory
from aten._core.memory import storage
from aten._core.tensor.construct import on_device
from aten.library import Library

COUNT = 1 << 16
BYTES = 4 * COUNT


def numbers(count: int = COUNT) -> aten.Tensor:
    return aten.arange(count, dtype=aten.float32)


def shared(tensor: aten.Tensor) -> bool:
    return storage.shares_block(tensor.untyped_storage())


def allocated() -> int:
    gc.collect()
    return memory.stats()["allocated_bytes"]


COPIES = {
    "clone": lambda x: x.clone(),
    "clone, row-major": lambda x: x.clone(memory_format=aten.contiguous_format),
    "to": lambda x: x.to(x.dtype, copy=True),
    "deepcopy": copy.deepcopy,
    "deepcopy of a view": lambda x: copy.deepcopy(x.view(-1, 4)).view(-1),
    "clone of a view": lambda x: x.view(4, -1).clone().view(-1),
    "clone, transposed": lambda x: x.view(4, -1).t().clone().t().reshape(-1),
    "clone of a clone": lambda x: x.clone().clone(),
}


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_takes_no_memory_until_somebody_writes(name):
    x = numbers()
    before = allocated()
    y = COPIES[name](x)
    assert shared(x)
    assert shared(y)
    assert allocated() == before
    assert y.eq(x).all()
    y[3] = 7.0
    assert not shared(y)
    assert allocated() == before + BYTES
    assert (x[3].item(), y[3].item()) == (3.0, 7.0)
    assert y[4:].eq(x[4:]).all()


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_is_not_set_to_what_it_is_a_copy_of(name):
    x = numbers()
    y = COPIES[name](x)
    assert not y.is_set_to(x)
    assert x.view(-1).is_set_to(x)
    assert shared(x)


WRITES = {
    "in place": lambda x: x.add_(1),
    "in place with itself": lambda x: x.mul_(x),
    "in place with a view of itself": lambda x: x.copy_(x.flip(0)),
    "element": lambda x: x.__setitem__(0, 5.0),
    "slice": lambda x: x.__setitem__(slice(1, 9), 5.0),
    "fill": lambda x: x.fill_(3),
    "zero": lambda x: x.zero_(),
    "by a view": lambda x: x.view(2, -1).t().add_(1),
    "by another dtype": lambda x: x.view(aten.int32).bitwise_not_(),
    "by index": lambda x: x.index_add_(0, aten.tensor([1, 1]), aten.ones(2)),
    "scattered": lambda x: x.scatter_(0, aten.tensor([2]), 5.0),
    "masked": lambda x: x.masked_fill_(x > 5, 0.0),
    "random": lambda x: x.uniform_(),
    "sorted": lambda x: aten.sort(
        x.flip(0), out=(x, aten.empty(0, dtype=aten.int64)), descending=True
    ),
    "out=": lambda x: aten.exp(x, out=x),
    "product": lambda x: x.view(256, -1).addmm_(aten.ones(256, 2), aten.ones(2, 256)),
    "NumPy": lambda x: x.numpy().__setitem__(0, 5.0),
    "DLPack": lambda x: aten.from_dlpack(x).fill_(2),
    "buffer": lambda x: memoryview(x.untyped_storage()).__setitem__(0, 5),
    "address": lambda x: ctypes.memset(x.data_ptr(), 1, 16),
    "storage": lambda x: ctypes.memset(x.untyped_storage().data_ptr(), 1, 16),
    "grown": lambda x: x.resize_(2 * COUNT).fill_(1),
}


@pytest.mark.parametrize("source_is_written", [False, True])
@pytest.mark.parametrize("name", WRITES)
def test_a_write_is_seen_on_one_side_only(name, source_is_written):
    if name in ("NumPy", "DLPack"):
        pytest.importorskip("numpy")
    source = numbers()
    expected = source.tolist()
    written, other = source, source.clone()
    if not source_is_written:
        written, other = other, written
    assert shared(written)
    WRITES[name](written)
    assert not shared(written)
    assert other.tolist() == expected
    assert written[:COUNT].tolist() != expected


def test_the_last_one_keeps_the_memory():
    x = numbers()
    y = x.clone()
    before = allocated()
    del x
    y.add_(1)
    assert allocated() == before
    assert y[0].item() == 1


def test_small_tensors_are_copied_at_once():
    x = numbers(16)
    y = x.clone()
    assert not shared(x)
    y.add_(1)
    assert x.tolist() == list(range(16))


def test_parts_of_a_storage_are_copied_at_once():
    x = numbers()
    y = x[:-1].clone()
    assert not shared(x)
    y.add_(1)
    assert x[0].item() == 0


def test_memory_that_others_know_is_copied_at_once():
    buffer = bytearray(BYTES)
    foreign = aten.frombuffer(buffer, dtype=aten.float32)
    copied = foreign.clone()
    assert not shared(foreign)
    buffer[3] = 0x40
    assert (foreign[0].item(), copied[0].item()) == (2.0, 0.0)

    x = numbers()
    with memoryview(x.untyped_storage()) as held:
        y = x.clone()
        assert not shared(x)
        held[3] = 0x40
        assert (x[0].item(), y[0].item()) == (2.0, 0.0)
    assert shared(x.clone())

    x = numbers()
    address = x.data_ptr()
    y = x.clone()
    ctypes.memset(address + 4, 0, 4)
    assert (x[1].item(), y[1].item()) == (0.0, 1.0)


def test_arrays_stay_with_the_tensor_they_came_from():
    pytest.importorskip("numpy")
    x = numbers()
    y = x.clone()
    array = y.numpy()
    z = y.clone()
    y.add_(1)
    array[0] = 9
    assert (x[0].item(), y[0].item(), z[0].item(), array[1]) == (0.0, 9.0, 0.0, 2.0)


def test_an_output_does_not_overlap_a_copy_of_an_operand():
    x = numbers()
    y = x.clone()
    aten.add(x[1:], 1, out=y[:-1])
    assert y[:-1].eq(x[1:] + 1).all()
    y = x.clone()
    y.add_(x)
    assert y.eq(x * 2).all()
    y = x.clone()
    aten.cat([x[1:], x[:1]], out=y)
    assert y[-1].item() == 0


def test_versions_are_counted_apart():
    x = numbers()
    x.add_(1)
    y = x.clone()
    assert (x._version, y._version) == (1, 0)
    y.add_(1)
    assert (x._version, y._version) == (1, 1)


def test_a_copy_is_pickled_and_copied_like_any_tensor():
    x = numbers()
    y = x.clone()
    again = pickle.loads(pickle.dumps(y))
    again.add_(1)
    assert x.eq(y).all()
    pair = copy.deepcopy([y, y.view(2, -1)])
    pair[0][0] = 5.0
    assert pair[1][0, 0].item() == 5
    assert y[0].item() == 0


def test_a_tensor_that_becomes_another():
    x = numbers()
    y = x.clone()
    x.data = y
    x.add_(1)
    assert y.eq(x).all()
    z = y.clone()
    y.set_(z)
    y.add_(1)
    assert z.eq(y).all()
    assert x.add(1).eq(y).all()


def test_failing_writes_leave_copies_alone():
    x = numbers()
    y = x.clone()
    with pytest.raises(RuntimeError):
        y.add_(aten.ones(3))
    with pytest.raises((RuntimeError, NotImplementedError)):
        y.bitwise_not_()
    assert x.eq(y).all()


def test_counters_of_copies():
    x = numbers()
    before = memory.stats()
    y = x.clone()
    z = x.clone()
    y.add_(1)
    z.add_(1)
    after = memory.stats()
    assert after["lazy_copies"] - before["lazy_copies"] == 2
    assert after["lazy_copies_made"] - before["lazy_copies_made"] == 2
    x.add_(1)  # nobody else is left
    assert memory.stats()["lazy_copies_made"] == after["lazy_copies_made"]


@pytest.fixture
def blocking():
    """An operator that is being called until it is told to end: (call, started, end)."""
    started, end = threading.Event(), threading.Event()
    library = Library("copy_on_write_test", "DEF")
    library.define("wait(Tensor x) -> Tensor")

    def wait(x: aten.Tensor) -> aten.Tensor:
        started.set()
        assert end.wait(60)
        return x

    library.impl("wait", wait, "CPU")
    yield aten.ops.copy_on_write_test.wait, started, end
    end.set()
    library._destroy()


def test_memory_stays_while_a_call_may_be_reading_it(blocking):
    call, started, end = blocking
    x, small = numbers(), aten.ones(1)
    reader = threading.Thread(target=call, args=(small,))
    reader.start()
    assert started.wait(60)
    y = x.clone()
    before = allocated()
    y.add_(1)  # moves y; the call might be reading where y was
    x.add_(2)  # so that x cannot have that memory for itself
    assert allocated() == before + 2 * BYTES
    end.set()
    reader.join()
    small.add(1)  # the end of a later call is the end of earlier ones
    assert allocated() == before + BYTES
    assert (x[0].item(), y[0].item()) == (2.0, 1.0)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.resize_(2 * x.numel()),
        lambda x: x.set_(aten.ones(1)),
        lambda x: setattr(x, "data", aten.ones(1)),
    ],
    ids=["resize_", "set_", "data"],
)
def test_memory_that_a_tensor_leaves_stays_while_a_call_may_be_reading_it(blocking, change):
    call, started, end = blocking
    x, small = numbers(), aten.ones(1)
    base = allocated()
    reader = threading.Thread(target=call, args=(small,))
    reader.start()
    assert started.wait(60)
    change(x)
    # The call might be reading where x was.
    assert allocated() >= base + x.nbytes
    end.set()
    reader.join()
    small.add(1)  # the end of a later call is the end of earlier ones
    assert allocated() < base + x.nbytes


def test_memory_goes_back_though_calls_overlap_without_end():
    """Two threads that take turns so that one is always in a call keep no blocks for ever."""
    stop = threading.Event()
    x = aten.ones(1 << 18)

    def busy() -> None:
        while not stop.is_set():
            x.sum()
            x + x

    threads = [threading.Thread(target=busy) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        start = memory.stats()["allocated_bytes"]
        for done in range(1, 3000):
            base = numbers()
            changed = base.clone()
            changed.add_(1)
            base.add_(1)
            held = memory.stats()["allocated_bytes"] - start
            if done > 100 and held < done * BYTES // 2:
                break
        del base, changed
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert held < done * BYTES // 2


def test_threads_that_copy_and_write_one_tensor():
    base = numbers()
    total = base.sum().item()

    def work(number: int) -> bool:
        right = True
        for turn in range(30):
            mine = base.clone()
            other = mine.clone()
            mine.add_(number + 1)
            right = right and bool(mine.sub(base).eq(number + 1).all())
            other[turn] = -1.0
            right = right and base.sum().item() == total
        return right

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))
    assert base.eq(numbers()).all()


def test_threads_that_write_parts_of_one_lazy_copy():
    """All begin to write at once: one moves the copy to memory of its own, the others follow."""
    for _ in range(20):
        base = aten.zeros(8, 1 << 15)
        copied = base.clone()
        barrier = threading.Barrier(8)

        def fill(row: int, copied: aten.Tensor = copied, barrier: threading.Barrier = barrier):
            barrier.wait()
            copied[row].add_(row + 1)

        threads = [threading.Thread(target=fill, args=(row,)) for row in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert base.eq(0).all()
        assert copied[:, 0].tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
        assert copied.eq(copied[:, :1]).all()


def test_a_reader_of_one_half_beside_a_writer_of_the_other():
    """The writer moves the tensor while a kernel reads, and then writes where it was."""
    half = 1 << 20
    x = aten.ones(2 * half)
    stop = threading.Event()
    sums = set()

    def read() -> None:
        while not stop.is_set():
            sums.add(x[:half].sum().item())
            sums.add((x[:half] * 1).sum().item())

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for _ in range(60):
            y = x.clone()
            x[half:].add_(1)
            y.zero_()
            del y
    finally:
        stop.set()
        reader.join()
    assert sums == {float(half)}
    assert x[half:].eq(61).all()


def test_memory_seen_on_the_device_it_is_on_is_no_export():
    source = numbers()
    seen = on_device(source, aten.device("cpu"))
    assert seen is source
    assert shared(seen.clone())

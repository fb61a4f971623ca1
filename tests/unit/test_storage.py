"""Storage and its allocator: blocks kept and bounded, counters, foreign memory, exhaustion."""

import array
import gc

import pytest

import aten
from aten import memory
from aten._core import storage
from aten._core.construct import empty_strided
from aten._core.tensor import tensor_from_buffer

MEBIBYTE = 1 << 20


@pytest.fixture(autouse=True)
def empty_cache():
    gc.collect()
    memory.empty_cache()
    limit = memory.stats()["cache_limit"]
    yield
    memory.set_cache_limit(limit)


def empty(count, device="cpu"):
    return empty_strided([count], None, aten.uint8, aten.device(device))


def test_a_freed_block_is_used_again():
    first = empty(10 * MEBIBYTE)
    address = first.data_ptr()
    del first
    before = memory.stats()["system_allocations"]
    again = empty(10 * MEBIBYTE - 5)
    assert again.data_ptr() == address
    assert memory.stats()["system_allocations"] == before


def test_blocks_are_aligned():
    assert all(empty(count).data_ptr() % 64 == 0 for count in (1, 63, 65, 4097, MEBIBYTE + 1))


@pytest.mark.parametrize("count", [1, 64, 65, 255, 257, 4095, 4097, 100_001, MEBIBYTE + 1])
def test_a_block_holds_what_was_asked_for_and_little_more(count):
    before = memory.stats()["allocated_bytes"]
    held = empty(count)
    taken = memory.stats()["allocated_bytes"] - before
    assert count <= taken <= max(count + 63, count * 1.26)
    assert held.untyped_storage().nbytes() == count


def test_counters_follow_what_is_held():
    start = memory.stats()["allocated_bytes"]
    memory.reset_peak()
    held = [empty(MEBIBYTE) for _ in range(3)]
    assert memory.stats()["allocated_bytes"] - start == 3 * MEBIBYTE
    held.clear()
    stats = memory.stats()
    assert stats["allocated_bytes"] == start
    assert stats["peak_bytes"] - start == 3 * MEBIBYTE
    assert stats["cached_bytes"] == 3 * MEBIBYTE
    memory.empty_cache()
    assert memory.stats()["cached_bytes"] == 0
    memory.reset_peak()
    assert memory.stats()["peak_bytes"] == start


def test_what_is_kept_is_bounded():
    memory.set_cache_limit(2 * MEBIBYTE)
    held = [empty(MEBIBYTE) for _ in range(4)]
    held.clear()
    assert memory.stats()["cached_bytes"] == 2 * MEBIBYTE
    memory.set_cache_limit(MEBIBYTE)
    assert memory.stats()["cached_bytes"] == 0
    with pytest.raises(ValueError, match="must not be negative, got -1"):
        memory.set_cache_limit(-1)


@pytest.mark.parametrize("count", [1 << 45, 1 << 50, (1 << 62)])
def test_out_of_memory_is_an_exception(count):
    before = memory.stats()["allocated_bytes"]
    with pytest.raises(RuntimeError, match=f"not enough memory: you tried to allocate {count}"):
        empty(count)
    assert memory.stats()["allocated_bytes"] == before


def test_meta_tensors_have_no_memory():
    before = memory.stats()["allocated_bytes"]
    huge = empty(1 << 50, "meta")
    assert huge.data_ptr() == 0
    assert huge.untyped_storage().nbytes() == 1 << 50
    assert memory.stats()["allocated_bytes"] == before


def test_views_share_and_keep_their_storage():
    base = aten.tensor([[1.0, 2.0], [3.0, 4.0]])
    view = base.t()
    assert view.untyped_storage().data_ptr() == base.untyped_storage().data_ptr()
    del base
    assert view.tolist() == [[1.0, 3.0], [2.0, 4.0]]


def test_foreign_memory_is_shared_and_kept():
    numbers = array.array("f", [1, 2, 3])
    tensor = tensor_from_buffer(numbers, aten.float32, [3])
    numbers[0] = 5
    assert tensor.tolist() == [5.0, 2.0, 3.0]
    with pytest.raises(BufferError):
        numbers.append(4)
    del tensor
    numbers.append(4)


def test_read_only_memory_is_refused():
    with pytest.raises(BufferError):
        storage.storage_from_buffer(b"abc")


def test_storages_are_not_made_by_hand():
    with pytest.raises(TypeError, match="Storage objects come from tensors"):
        storage.Storage()

"""Guarded blocks: wild accesses end the process, fills are seen, and memory works as ever."""

import os
import signal
import subprocess
import sys
from copy import deepcopy

import pytest

import aten
from aten import memory
from aten._core.memory import allocator, storage

MODES = ("end", "start")
# Within one page, one page, several, one more than fits a ring, and one that may be streamed.
SIZES = (1, 12, 100, 4096, 4097, 50_000, (1 << 25) + 3)


@pytest.fixture(params=MODES)
def guarded(request):
    before = allocator.set_guard(request.param, 0xA5)
    yield request.param
    allocator.set_guard(*before)


def _ended_by(code, **variables):
    """The signal that ends a process which runs `code` on a tensor `x` of `n` bytes."""
    program = f"""
import ctypes, gc, aten
from aten._core.memory import allocator
def read(address): return ctypes.string_at(address, 1)
def write(address): ctypes.memset(address, 1, 1)
def tensor(n): return aten.empty(n, dtype=aten.uint8)
{code}
"""
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode in (0, -signal.SIGSEGV, -signal.SIGABRT), run.stderr
    return -run.returncode, run.stderr


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("count", [1, 100, 4096, 50_000])
def test_an_access_beside_the_guarded_end_faults(mode, count):
    beside = f"x.data_ptr() + {count if mode == 'end' else -1}"
    inside = f"read(x.data_ptr()); write(x.data_ptr() + {count - 1})"
    code = f"x = tensor({count}); {inside}; "
    assert _ended_by(code, ATEN_MEMORY_GUARD=mode)[0] == 0
    for access in ("read", "write"):
        ended = _ended_by(f"{code}{access}({beside})", ATEN_MEMORY_GUARD=mode)
        assert ended[0] == signal.SIGSEGV


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("count", [1, 4097, (1 << 25) + 3])
def test_a_write_beside_the_other_end_is_found_when_the_block_is_freed(mode, count):
    beside = -1 if mode == "end" else count
    code = f"x = tensor({count}); write(x.data_ptr() + {beside}); del x"
    ended, text = _ended_by(code, ATEN_MEMORY_GUARD=mode)
    assert ended == signal.SIGABRT
    assert f"somebody wrote beside a block of {count} bytes" in text


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("count", [7, 50_000])
def test_freed_memory_faults(mode, count):
    code = f"x = tensor({count}); place = x.data_ptr(); del x; read(place)"
    assert _ended_by(code, ATEN_MEMORY_GUARD=mode)[0] == signal.SIGSEGV


@pytest.mark.parametrize("count", SIZES)
def test_memory_is_filled_and_aligned_to_what_its_elements_need(guarded, count):
    x = aten.empty(count, dtype=aten.uint8)
    assert bool((x == 0xA5).all())
    for dtype in (aten.float16, aten.float32, aten.float64, aten.complex128):
        assert aten.empty(count, dtype=dtype).data_ptr() % dtype.itemsize == 0
    assert aten.empty(1 << 23).data_ptr() % 64 == 0


@pytest.mark.parametrize("fill", [0, 0x3C, 0xFF])
def test_blocks_used_again_are_filled_again(guarded, fill):
    allocator.set_guard(guarded, fill)
    for _ in range(200):
        x = aten.empty(10, dtype=aten.uint8)
        assert x.tolist() == [fill] * 10
        x.fill_(7)


def test_blocks_of_either_kind_go_back_in_either_mode():
    before = memory.stats()["allocated_bytes"]
    ordinary = [aten.ones(5), aten.ones(1 << 20)]
    previous = allocator.set_guard("end", 1)
    ends = [aten.ones(5), aten.ones(1 << 20)]
    del ordinary
    allocator.set_guard("start", 2)
    starts = [aten.ones(5), aten.ones(1 << 20)]
    assert memory.stats()["allocated_bytes"] == before + 2 * (20 + (4 << 20))
    del ends
    allocator.set_guard(*previous)
    del starts
    assert memory.stats()["allocated_bytes"] == before


def test_more_blocks_than_the_system_has_mappings_for(guarded):
    held = [aten.full((2,), number) for number in range(30_000)]
    assert all(x.tolist() == [number] * 2 for number, x in enumerate(held))


def test_storages_grow_shrink_and_are_copied_on_write(guarded):
    x = aten.arange(20_000)
    y = x.clone()
    assert storage.shares_block(x.untyped_storage())
    y[3] = 0
    assert (x[3].item(), y[3].item()) == (3, 0)
    z = deepcopy(x)
    del x
    z.resize_(30_000)
    assert z[:20_000].tolist() == list(range(20_000))
    z.resize_(2)
    assert z.tolist() == [0, 1]


def test_a_child_process_has_guarded_memory_of_its_own(guarded):
    held = [aten.ones(100) for _ in range(100)]
    child = os.fork()
    if child == 0:
        right = all(float(x.sum()) == 100 for x in held)
        del held
        os._exit(0 if right and float(aten.ones(100).sum()) == 100 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_request_fails_once():
    x = aten.ones(3)
    x + x
    allocator.fail_after(2)
    kept = x + x
    assert allocator.fail_after(1) == 1
    with pytest.raises(RuntimeError, match="not enough memory"):
        x + x
    assert (x + x).tolist() == kept.tolist() == [2.0] * 3


@pytest.mark.parametrize(
    ("given", "told"), [(("middle", 0), "'middle'"), (("end", 256), "256"), (("end", -1), "-1")]
)
def test_what_is_no_mode_is_refused(given, told):
    with pytest.raises(ValueError, match=told):
        allocator.set_guard(*given)
    before = allocator.set_guard("", 0)
    assert allocator.set_guard(*before) == ("", 0)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_linear_algebra_of_zeros_reads_nothing_beside_its_matrices(dtype):
    # OpenBLAS reads one element too many of a complex vector that it scales by zero.
    code = f"""
for rows in (1, 2, 5, 9, 33):
    for columns in (1, 2, 5, 9, 33):
        for given in (aten.zeros, aten.eye):
            x = given(*((rows, columns) if given is aten.eye else ((rows, columns),)),
                      dtype=aten.{dtype})
            for one in (x, x.t().contiguous().conj().t(), x.expand(3, rows, columns)):
                for full in (False, True):
                    aten.linalg.svd(one, full)
                    aten.linalg.qr(one, "complete" if full else "reduced")
"""
    ended, text = _ended_by(code, ATEN_MEMORY_GUARD="end")
    assert ended == 0, text

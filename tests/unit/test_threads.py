"""Eight Python threads on the same operators, kernels, plans and allocator at once."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import aten

THREADS = 8

# What is done, by name: each gives a tensor from a matrix of rows × columns.
OPERATIONS = {
    "pointwise": lambda x: (x * 2 + 1).exp().tanh(),
    "reduction": lambda x: x.sum(1) + x.mean() + x.amax(0).sum(),
    "softmax": lambda x: x.softmax(-1),
    "product": lambda x: x @ x.t(),
    "views": lambda x: x[1:, ::2].t().reshape(-1)[None].expand(3, -1),
    "in place": lambda x: x.clone().add_(1).mul_(x),
    "joining": lambda x: aten.cat([x, x[:2]]),
    "indexing": lambda x: x[x > 0],
    "factory": lambda x: aten.arange(x.numel()).reshape(x.shape) + x,
}


def _matrix(rows: int, columns: int) -> aten.Tensor:
    return (aten.arange(rows * columns) % 7 - 3).to(aten.float32).reshape((rows, columns))


def test_many_threads_get_the_results_of_one():
    shapes = [(2, 3), (5, 8), (16, 16), (64, 33), (300, 70)]
    jobs = [(name, shape) for name in OPERATIONS for shape in shapes] * 6
    random.Random(0).shuffle(jobs)
    expected = {job: OPERATIONS[job[0]](_matrix(*job[1])).tolist() for job in set(jobs)}
    with ThreadPoolExecutor(THREADS) as pool:
        results = list(pool.map(lambda job: OPERATIONS[job[0]](_matrix(*job[1])).tolist(), jobs))
    assert all(result == expected[job] for job, result in zip(jobs, results, strict=True))


def test_threads_that_meet_at_a_kernel_nobody_has_compiled():
    """All ask at once for operators and element types that were not used before."""
    code = f"""
import threading
import aten
barrier = threading.Barrier({THREADS})
results = []
def work():
    x = aten.arange(6).reshape((2, 3))
    barrier.wait()
    mine = []
    for element in (aten.float64, aten.float32, aten.bfloat16):
        mine.append((x.to(element).sinh() + 1).softmax(-1).to(aten.float32).tolist())
        mine.append((x.to(element) @ x.to(element).t()).tolist())
    results.append(mine)
threads = [threading.Thread(target=work) for _ in range({THREADS})]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert results == [results[0]] * {THREADS}
print("done")
"""
    environment = {**os.environ, "ATEN_CACHE_DIR": "off"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=100,
        check=False,
    )  # fmt: skip
    assert done.stdout.split() == ["done"], done.stderr


def test_threads_that_write_to_parts_of_one_tensor():
    x = aten.zeros((THREADS, 1000))

    def fill(row: int) -> None:
        for _ in range(200):
            x[row].add_(1)

    threads = [threading.Thread(target=fill, args=(row,)) for row in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x.eq(200).all()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of forks beside threads
def test_a_child_of_busy_threads_computes():
    stop = threading.Event()

    def work() -> None:
        x = _matrix(300, 70)
        while not stop.is_set():
            x.softmax(-1)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            child = os.fork()
            if child == 0:
                os._exit(0 if _matrix(300, 70).softmax(-1).sum().item() > 299 else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()

"""The thread pool: the same bits for any number of threads, many callers, and forks."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import aten
from aten._core.threads import processors

LARGE = 1 << 20


@pytest.fixture
def threads():
    before = aten.get_num_threads()
    yield
    aten.set_num_threads(before)


def large():
    return aten.from_numpy(np.random.default_rng(0).standard_normal(LARGE).astype("f4"))


def bits(tensor):
    return np.asarray(tensor).tobytes()


@pytest.mark.parametrize(
    "operation",
    [
        lambda x: x + x,
        lambda x: x.sum(),
        lambda x: x.view(1024, 1024).sum(0),
        lambda x: aten.softmax(x.view(1024, 1024), 1),
    ],
    ids=["add", "sum", "sum of columns", "softmax"],
)
def test_bits_do_not_depend_on_the_number_of_threads(threads, operation):
    x = large()
    results = set()
    for count in (1, 2, 3, 8):
        aten.set_num_threads(count)
        results.add(bits(operation(x)))
    assert len(results) == 1


def test_callers_on_many_threads(threads):
    aten.set_num_threads(2)
    x = large()
    expected = bits(x + x)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: bits(x + x), range(64)))
    assert set(results) == {expected}


def run_python(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout.split()


FORK = """
import os, warnings
import numpy as np
import aten
from aten._core.threads import processors
warnings.simplefilter("ignore", DeprecationWarning)  # Python warns of forks beside threads
aten.set_num_threads(4)
x = aten.from_numpy(np.ones(1 << 20, dtype="f4"))
assert np.asarray(x + x).sum() == 1 << 21
for _ in range(5):
    child = os.fork()
    if child == 0:
        right = np.asarray(x + x).sum() == 1 << 21 and x.sum().item() == 1 << 20
        os._exit(0 if right else 1)
    assert np.asarray(x + x).sum() == 1 << 21
    assert os.waitpid(child, 0)[1] == 0
print("done")
"""


def test_a_forked_child_computes_on_threads_of_its_own():
    assert run_python(FORK) == ["done"]


def test_the_number_of_threads(threads):
    aten.set_num_threads(3)
    assert aten.get_num_threads() == 3
    with pytest.raises(RuntimeError, match="Expected positive number of threads, got 0"):
        aten.set_num_threads(0)


def test_the_environment_sets_the_number_of_threads():
    code = "import aten; print(aten.get_num_threads())"
    assert run_python(code, ATEN_NUM_THREADS="5") == ["5"]
    assert 1 <= int(run_python(code, ATEN_NUM_THREADS="")[0]) <= os.cpu_count()


def test_fewer_threads_than_before_are_used():
    """Workers that an earlier, larger number started stay out."""
    code = """
import time, numpy as np, aten
x = aten.from_numpy(np.ones(1 << 22, dtype="f4"))
aten.set_num_threads(4); x + x
aten.set_num_threads(1)
time.sleep(0.05)
wall, processor = time.perf_counter(), time.process_time()
for _ in range(20):
    x + x
print(time.process_time() - processor <= 1.2 * (time.perf_counter() - wall) + 0.01)
"""
    assert run_python(code) == ["True"]


def test_quotas_of_control_groups_are_kept(tmp_path):
    membership = tmp_path / "membership"
    membership.write_text("0::/outer/inner\n")
    assert processors.quota(tmp_path, membership) == 0
    (tmp_path / "outer/inner").mkdir(parents=True)
    (tmp_path / "outer/inner/cpu.max").write_text("max 100000\n")
    assert processors.quota(tmp_path, membership) == 0
    (tmp_path / "outer/cpu.max").write_text("250000 100000\n")
    assert processors.quota(tmp_path, membership) == 2
    (tmp_path / "outer/inner/cpu.max").write_text("50000 100000\n")
    assert processors.quota(tmp_path, membership) == 1


def test_quotas_of_older_control_groups_are_kept(tmp_path):
    membership = tmp_path / "membership"
    membership.write_text("4:memory:/box\n3:cpu,cpuacct:/box\n")
    (tmp_path / "cpu/box").mkdir(parents=True)
    (tmp_path / "cpu/box/cpu.cfs_period_us").write_text("100000\n")
    (tmp_path / "cpu/box/cpu.cfs_quota_us").write_text("-1\n")
    assert processors.quota(tmp_path, membership) == 0
    (tmp_path / "cpu/box/cpu.cfs_quota_us").write_text("300000\n")
    assert processors.quota(tmp_path, membership) == 3


def test_affinity_is_kept():
    one = min(os.sched_getaffinity(0))
    code = (
        f"import os; os.sched_setaffinity(0, {{{one}}}); import aten; print(aten.get_num_threads())"
    )
    assert run_python(code) == ["1"]


def test_functions_of_few_elements_are_shared_without_a_trace(threads):
    # Dear enough for several threads; the first calls only find that out.
    x = large()[:16001]
    results = set()
    for count in (1, 2, 5):
        aten.set_num_threads(count)
        results |= {bits(aten.lgamma(x)) for _ in range(12)}
        results |= {bits(aten.lgamma(x, out=aten.empty(16001))) for _ in range(12)}
    assert len(results) == 1

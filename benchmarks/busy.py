"""What a neighbour costs: `exp` while another process keeps one processor busy.

Each library is measured in a process of its own, quiet and then beside the busy one, which is bound
to one of the processors that the library may use. On 16K elements torch uses one thread, on 64K as
many as it may.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from timing import Result, show

SIZES = {"16K": 16384, "64K": 65536}
# Many times what a processor gives a process before it is another one's turn.
SECONDS = 2
# How much slower the median call may become.
MOST_SLOWDOWN = 3
_SPIN = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
print(flush=True)
while True:
    pass
"""
_TIMED = """
import json, statistics, sys, time
import {library} as lib
lib.set_num_threads({threads})
x = lib.randn({elements})
def median():
    times = []
    end = time.perf_counter() + {seconds}
    while (begun := time.perf_counter()) < end:
        lib.exp(x)
        times.append(time.perf_counter() - begun)
    return statistics.median(times)
median()
print(json.dumps(median()), flush=True)
sys.stdin.readline()
print(json.dumps(median()), flush=True)
"""


@contextmanager
def busy_process(processor: int) -> Iterator[None]:
    """A process that does nothing but occupy `processor`."""
    command = [sys.executable, "-c", _SPIN, str(processor)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()


def medians(library: str, elements: int) -> tuple[float, float]:
    """Seconds of a call alone, and beside a busy process."""
    processors = sorted(os.sched_getaffinity(0))
    code = _TIMED.format(
        library=library, threads=len(processors), elements=elements, seconds=SECONDS
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        quiet = json.loads(process.stdout.readline())
        with busy_process(processors[-1]):
            process.stdin.write("\n")
            process.stdin.flush()
            busy = json.loads(process.stdout.readline())
    return quiet, busy


def of_size(label: str, elements: int) -> list[Result]:
    """Both times, and the slowdown, which is bounded."""
    (quiet, busy), (torch_quiet, torch_busy) = (
        medians(library, elements) for library in ("aten", "torch")
    )
    name = f"exp, {label} elements"
    alone = Result(f"{name}, alone", "µs", 1e6 * quiet, 1e6 * torch_quiet)
    beside = Result(f"{name}, beside a busy process", "µs", 1e6 * busy, 1e6 * torch_busy)
    alone.ratio, beside.ratio = torch_quiet / quiet, torch_busy / busy
    slowdown = Result(f"{name}: slowdown by a busy process", "×", busy / quiet)
    slowdown.torch, slowdown.limit = torch_busy / torch_quiet, MOST_SLOWDOWN
    return [alone, beside, slowdown]


def run() -> list[Result]:
    return [result for label, elements in SIZES.items() for result in of_size(label, elements)]


if __name__ == "__main__":
    show(run())

"""What a neighbour costs: `exp` on 16K elements while another process keeps one processor busy.

Each library is measured in a process of its own, quiet and then beside the busy one, which is bound
to one of the processors that the library may use.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from timing import Result

ELEMENTS = 16384
CALLS = 1000
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
    for _ in range({calls}):
        begun = time.perf_counter()
        lib.exp(x)
        times.append(time.perf_counter() - begun)
    return statistics.median(times)
median()
print(json.dumps(median()), flush=True)
sys.stdin.readline()
median()
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


def medians(library: str) -> tuple[float, float]:
    """Seconds of a call alone, and beside a busy process."""
    processors = sorted(os.sched_getaffinity(0))
    code = _TIMED.format(library=library, threads=len(processors), elements=ELEMENTS, calls=CALLS)
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


def run() -> list[Result]:
    times = {library: medians(library) for library in ("aten", "torch")}
    slowdowns = {library: busy / quiet for library, (quiet, busy) in times.items()}
    results = [
        Result(f"exp, 16K elements, {label}", "µs", *(1e6 * times[lib][place] for lib in times))
        for place, label in enumerate(("alone", "beside a busy process"))
    ]
    for result in results:
        result.ratio = (result.torch or 0) / (result.aten or 1)
    slowdown = Result(
        "exp, 16K elements: slowdown by a busy process",
        "×",
        *slowdowns.values(),
        limit=MOST_SLOWDOWN,
    )
    return [*results, slowdown]


if __name__ == "__main__":
    from timing import show

    show(run())

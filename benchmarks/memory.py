"""Memory: the peak of a chain of large operators, and what many small tensors leave behind."""

from __future__ import annotations

import json
import subprocess
import sys

from timing import Result

# Peaks are taken from what a process holds after import, since libraries differ there, too.
_CHAIN = """
import json
import {library} as lib
def peak():
    # Of this program; getrusage() would begin with what the process held before it was started.
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))
lib.set_num_threads(2)
y = (lib.ones(4) * 2.0 + lib.ones(4)).exp().relu()
x = lib.ones(1 << 24)
before = peak()
for _ in range(25):
    x = x * 0.5
    x = x + 0.25
    x = lib.relu(x)
    x = lib.tanh(x)
print(json.dumps((peak() - before) / 2**20))
"""
_SMALL = """
import json, os
import {library} as lib
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
sizes = [1, 4, 10, 64, 100, 256]
def create(rounds):
    a = [lib.ones(size) for size in sizes]
    for _ in range(rounds):
        for one in a:
            one + one
create(20_000)
before = resident()
create({count} // len(sizes) + 1)
print(json.dumps(100 * (resident() / before - 1)))
"""
SMALL_TENSORS = 10_000_000


def in_process(code: str) -> float:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout))


def run() -> list[Result]:
    chain = Result("peak above the first 64 MB tensor, 100 operators", "MiB")
    chain.aten, chain.torch = (
        in_process(_CHAIN.format(library=library)) for library in ("aten", "torch")
    )
    # Peak against peak: what must not be more is ours.
    chain.ratio, chain.least_ratio = chain.torch / chain.aten, 1
    small = Result("growth of memory by 10^7 small tensors", "%", limit=1)
    small.aten = in_process(_SMALL.format(library="aten", count=SMALL_TENSORS))
    return [chain, small]

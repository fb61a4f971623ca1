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
# Steps after the first two, which make states and compile: their tensors stay, and are counted.
_STEP = """
import json
import {library} as lib
def peak():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))
lib.set_num_threads(2)
nn = lib.nn
{model}
def rehearsed(model, x):
    optimizer = lib.optim.Adam(model.parameters(), lr=1e-6)
    for _ in range({count}):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
# What a library loads and compiles once is not the step's: a small one has come before.
rehearsed(small, part)
before = peak()
rehearsed(model, x)
print(json.dumps((peak() - before) / 2**20))
"""
_MODELS = {
    "perceptron, 4096 × 1024": """
def made(width):
    return nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
small, part = made(8), lib.randn(4, 8)
model, x = made(1024), lib.randn(4096, 1024)
""",
    "convolutions, 64 images of 64²": """
def made(width):
    return nn.Sequential(
        nn.Conv2d(3, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1),
        nn.ReLU(), nn.MaxPool2d(2),
    )
small, part = made(4), lib.randn(2, 3, 8, 8)
model, x = made(32), lib.randn(64, 3, 64, 64)
""",
    "transformer, 16 × 256 tokens": """
def made(width):
    layer = nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
small, part = made(8), lib.randn(2, 4, 8)
model, x = made(256), lib.randn(16, 256, 256)
""",
}


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
    return [chain, small, *(_of_step(name, model) for name, model in _MODELS.items())]


def _of_step(name: str, model: str) -> Result:
    result = Result(f"peak of training steps: {name}", "MiB", least_ratio=1, headline=False)
    result.aten, result.torch = (
        in_process(_STEP.format(library=library, model=model, count=5))
        for library in ("aten", "torch")
    )
    result.ratio = result.torch / result.aten
    return result

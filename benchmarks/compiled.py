"""Programs that are compiled as a whole, beside torch's eager mode and beside torch.compile.

Each library compiles in a process of its own. First calls are of fresh processes with empty caches.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from typing import Any

from operands import Operand, normal
from timing import Case, Result, geometric_mean, measure

# What a library's name stands for: eager torch, or what its compiler makes.
BESIDE = ("eager", "compiled")
# Both libraries draw the same weights.
COMPILE = """
lib.manual_seed(0)
def beside(function):
    return lib.compile(function) if {compiled} or lib.__name__ == "aten" else function
"""
NORMALIZED = """
def program(x, weight, bias):
    hidden = lib.nn.functional.gelu(x * weight + bias)
    return (hidden - hidden.mean(-1, keepdim=True)) / hidden.std(-1, keepdim=True)
run = beside(program)
"""
GATED = """
def program(x, gate, scale):
    hidden = lib.nn.functional.silu(gate) * x + x
    return hidden * lib.rsqrt(hidden.square().mean(-1, keepdim=True) + 1e-6) * scale
run = beside(program)
"""
PERCEPTRON = """
nn = lib.nn
model = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.LayerNorm(512), nn.Linear(512, 64))
run = beside(model.eval())
"""
ENCODER = """
layer = lib.nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True)
run = beside(lib.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval())
"""
EMBEDDED = """
nn = lib.nn
class Embedded(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(30000, 768), nn.Embedding(512, 768)
        self.norm = nn.LayerNorm(768)
    def forward(self, ids, places):
        return self.norm(self.words(ids) + self.places(places))
run = beside(Embedded().eval())
"""
CONVOLUTIONS = """
nn = lib.nn
def block(inner, outer):
    return nn.Sequential(nn.Conv2d(inner, outer, 3, padding=1), nn.BatchNorm2d(outer), nn.SiLU())
run = beside(nn.Sequential(block(3, 32), block(32, 32), block(32, 64)).eval())
"""
STEP = """
nn = lib.nn
model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.LayerNorm(256), nn.Linear(256, 10))
loss = beside(lambda x, t: nn.functional.cross_entropy(model(x), t))
optimizer = lib.optim.SGD(model.parameters(), lr=1e-6)
def run(x, t):
    optimizer.zero_grad()
    loss(x, t).backward()
    optimizer.step()
"""
_ROWS = {"x": normal(4096, 1024), "weight": normal(1024), "bias": normal(1024)}
_LABELS = Operand((128,), "int64", "integers", 10)
PROGRAMS: dict[str, tuple[str, str, dict[str, Operand]]] = {
    "gelu, then rows normalized, 4096×1024": (NORMALIZED, "run(x, weight, bias)", _ROWS),
    "gated rows by their root mean square, 2048×2048": (
        GATED,
        "run(x, gate, scale)",
        {"x": normal(2048, 2048), "gate": normal(2048, 2048), "scale": normal(2048)},
    ),
    "perceptron with layer norm, batch 1": (PERCEPTRON, "run(x)", {"x": normal(1, 256)}),
    "perceptron with layer norm, batch 128": (PERCEPTRON, "run(x)", {"x": normal(128, 256)}),
    "two encoder layers, 2×64×256": (ENCODER, "run(x)", {"x": normal(2, 64, 256)}),
    "two embeddings and a layer norm, 512×768": (
        EMBEDDED,
        "run(ids, places)",
        {
            "ids": Operand((1, 512), "int64", "integers", 30000),
            "places": Operand((1, 512), "int64", "integers", 512),
        },
    ),
    "three convolutions with batch norms, 64²": (
        CONVOLUTIONS,
        "run(x)",
        {"x": normal(2, 3, 64, 64)},
    ),
    "training step of a perceptron, batch 128": (
        STEP,
        "run(x, t)",
        {"x": normal(128, 64), "t": _LABELS},
    ),
}


def cases() -> list[Case]:
    """Each program beside eager torch, and beside what torch compiles."""
    return [_case(name, way) for way in BESIDE for name in PROGRAMS]


def _case(name: str, way: str) -> Case:
    program, statement, operands = PROGRAMS[name]
    is_step = "optimizer" in program
    return Case(
        f"{name} (torch {way})",
        statement,
        operands,
        COMPILE.format(compiled=way == "compiled") + program,
        checked=not is_step,
        recorded=is_step,
        inference=not is_step,
        group=way,
        unit="ms",
        least_ratio=None,
    )


def run() -> list[Result]:
    return measured(cases())


def measured(chosen: list[Case]) -> list[Result]:
    """The cases, their means, and first calls."""
    results = measure(chosen)
    pairs = list(zip(chosen, results, strict=True))
    eager = [one for case, one in pairs if case.group == "eager"]
    compiled = [one for case, one in pairs if case.group == "compiled"]
    return [
        *results,
        geometric_mean("compiled: torch eager, mean", eager, 1.5),
        geometric_mean("compiled: torch.compile, mean", compiled, 1.0),
        first_call(),
    ]


def first_call() -> Result:
    """From the first call of a compiled program to its result, nothing being kept from before."""
    result = Result("first call of a compiled program", "s", least_ratio=20)
    times = {}
    for library in ("aten", "torch"):
        with tempfile.TemporaryDirectory() as kept:
            places = {"ATEN_CACHE_DIR": kept, "TORCHINDUCTOR_CACHE_DIR": kept}
            done = subprocess.run(
                [sys.executable, __file__, library],
                env={**os.environ, **places},
                capture_output=True,
                text=True,
                check=False,
            )
        if done.returncode:
            result.problem = (done.stderr.strip().splitlines() or ["no answer"])[-1]
            return result
        times[library] = float(done.stdout.split()[-1])
    result.aten, result.torch = times["aten"], times["torch"]
    result.ratio = times["torch"] / times["aten"]
    return result


def _first(library: str) -> None:
    import importlib
    import time

    lib = importlib.import_module(library)
    names: dict[str, Any] = {"lib": lib}
    exec(COMPILE.format(compiled=True) + NORMALIZED, names)
    operands = [lib.randn(4096, 1024), lib.randn(1024), lib.randn(1024)]
    start = time.perf_counter()
    names["run"](*operands).sum().item()
    print(time.perf_counter() - start)


if __name__ == "__main__":
    _first(sys.argv[1])

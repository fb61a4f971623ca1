"""How long `import` takes, in fresh processes, and what must not be imported with it."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile

from timing import Result

ROUNDS = 15
SLOW_TO_IMPORT = ("numpy", "llvmlite", "yaml", "torch", "aten.loops.math")
_TIMED = "from time import perf_counter as now; t = now(); import {}; print(now() - t)"
_IMPORTED = "import sys, aten; print(*(n for n in {!r} if n in sys.modules))"


def fresh_process(code: str) -> str:
    """What `code` prints in a process of its own, away from the source tree."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
        )
    return done.stdout.strip()


def run() -> list[Result]:
    result = Result("import", "ms", limit=60)
    if is_editable():
        result.problem = "aten is installed in editable mode, which checks for changes at import"
        return [result]
    imported = fresh_process(_IMPORTED.format(SLOW_TO_IMPORT))
    if imported:
        result.problem = f"import aten imports {imported}"
        return [result]
    pairs = [
        [1e3 * float(fresh_process(_TIMED.format(name))) for name in ("aten", "torch")]
        for _ in range(ROUNDS)
    ]
    result.aten, result.torch = (statistics.median(column) for column in zip(*pairs, strict=True))
    result.ratio = statistics.median(theirs / ours for ours, theirs in pairs)
    return [result]


def is_editable() -> bool:
    """Whether imports of the package go through an editable install's loader."""
    name = "sys.modules['aten'].__spec__.loader.__class__.__module__"
    return "editable" in fresh_process(f"import sys, aten; print({name})")

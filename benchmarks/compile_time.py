"""The first call of a kernel: compiled, and taken from the cache on disk.

Every pointwise operator of one or two tensors is called once for each of some element types on a
few elements, in a fresh process: first with an empty cache folder, then with that folder filled.
What a call costs beyond its kernel, which is next to nothing, is in the numbers.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from time import perf_counter

from timing import Result

DTYPES = ("float32", "float64", "bfloat16", "int64")


def first_calls() -> dict[str, float]:
    """Seconds of each first call, by operator and element type."""
    import aten
    from aten._generated.table import OPERATORS
    from aten.registry import operator

    seconds = {}
    for name, (_, kind, variant, _, function, _) in OPERATORS.items():
        if kind != "pointwise" or variant != "functional" or not function:
            continue
        op = operator(name)
        for element in DTYPES:
            operand = aten.tensor([1, 2, 3], dtype=getattr(aten, element))
            count = sum(str(argument.type) == "Tensor" for argument in op._schema.arguments)
            started = perf_counter()
            try:
                op(*[operand] * count)
            except (TypeError, RuntimeError, NotImplementedError):
                continue  # not for these operands
            seconds[f"{name} {element}"] = perf_counter() - started
    return seconds


def in_fresh_process(folder: str) -> list[float]:
    """Milliseconds of each first call with the cache at `folder`."""
    done = subprocess.run(
        [sys.executable, __file__],
        env={**os.environ, "ATEN_CACHE_DIR": folder},
        capture_output=True,
        text=True,
        check=True,
    )
    return [1e3 * seconds for seconds in json.loads(done.stdout).values()]


def run() -> list[Result]:
    with tempfile.TemporaryDirectory() as folder:
        cold = in_fresh_process(folder)
        cached = in_fresh_process(folder)
    results = [
        Result(f"cold kernel, median of {len(cold)}", "ms", limit=30),
        Result(f"kernel from the disk cache, median of {len(cached)}", "ms", limit=2),
    ]
    for result, times in zip(results, (cold, cached), strict=True):
        result.aten = statistics.median(times)
    return results


if __name__ == "__main__":
    print(json.dumps(first_calls()))
